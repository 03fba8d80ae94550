"""config/deviations.yaml: where a paper is silent or contradicts itself, our choice, and the key that flips it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import load_model
from mdnmt.workspace import config_file

SOURCES = {
    "paper": "stated in the paper",
    "code": "read in the authors' released code",
    "ours": "our decision",
}


class Deviation(Frozen):
    """One decision."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$", description="what pages and code call it")
    paper: str = Field(min_length=1, description="a file of config/papers/, or `all`")
    place: str = Field(min_length=1, description="section, table or figure of the paper")
    said: str = Field(min_length=1, description="what the paper says or leaves open")
    choice: str = Field(min_length=1, description="what we do")
    source: Literal["paper", "code", "ours"] = Field(description="where the choice comes from, see SOURCES")
    file: Literal["methods", "studies", "tasks"] | None = Field(description="folder of config/; null: no key")
    builder: str | None = Field(None, description="whose option a key of `architecture` is")
    key: str | None = Field(None, description="the key that flips the choice, with dots")
    default: Any = Field(None, description="its value where nobody sets it")
    in_paper: dict[str, tuple[Any, ...]] = Field(
        {}, description="key -> its values in the rows and tasks of that paper in the study `paper`, each once"
    )

    @model_validator(mode="after")
    def _key_and_file_together(self) -> Self:
        if (self.file is None) != (self.key is None):
            raise ValueError("file and key are given together, or neither")
        if (self.builder is not None) != (self.key is not None and self.key.startswith("architecture.")):
            raise ValueError("a builder is given for keys of `architecture`, and for no others")
        if self.key is not None and self.key not in self.in_paper:
            raise ValueError(f"in_paper lacks {self.key}; expected its values in the study `paper`")
        return self


class Deviations(Frozen):
    """All decisions, in the order of the file."""

    rows: tuple[Deviation, ...] = Field(min_length=1, description="one for each decision")

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        ids = [row.id for row in self.rows]
        twice = [name for name in ids if ids.count(name) > 1]
        if twice:
            raise ValueError(f"the id {twice[0]!r} occurs twice")
        return self


def load_deviations(config_folder: Path) -> tuple[Deviation, ...]:
    """Return the rows of config/deviations.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    return load_model(config_file(config_folder, "deviations.yaml"), Deviations).rows
