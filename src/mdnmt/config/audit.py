"""What the audit of a paper holds its numbers against: config/audit/<paper>.yaml."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model

# A measure is `column/metric`. A cell is `table | row | column/metric`, of another paper `paper: table | row | ...`;
# `rows of T2` counts the rows of a table. A number is itself.
Cell = str | Decimal


Id = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9+.-]*$")]


class Sweep(Frozen):
    """A name for what a sweep, which needs no list, finds at these places."""

    id: Id
    sweep: Literal["average", "delta", "star", "total", "gain"]
    at: tuple[str, ...] | Literal["all"] = Field(description="cells that the sweep objects to; all: wherever it does")
    where: str = Field("", description="empty: the one cell")
    printed: str = Field("", description="empty: the number in the one cell")
    comment: str = Field("", description="how to read the outcome")
    ours: bool = Field(False, description="not among the inconsistencies that reading the papers had brought up")

    @model_validator(mode="after")
    def _several_cells_are_described(self) -> Self:
        if (self.at == "all" or len(self.at) != 1) and not (self.where and self.printed):
            raise ValueError("for several cells, say `where` and what is `printed`")
        return self


class Entry(Frozen):
    """What every check has."""

    id: Id
    where: str = Field(min_length=1, description="section, table or equation")
    printed: str = Field(min_length=1, description="what the paper says there, in our words")
    comment: str = Field("", description="how to read the outcome")
    ours: bool = Field(False, description="not among the inconsistencies that reading the papers had brought up")


class Difference(Entry):
    """Rows against rows: the first number, or all numbers, that a text says of them."""

    table: str
    rows: tuple[str, ...] = Field(min_length=1)
    against: tuple[str, ...] = Field(min_length=1)
    by: Literal["difference", "ratio"] = "difference"


class Stated(Difference):
    """A number in the text; it holds if one of the rows gives it against one of the others, once rounded."""

    kind: Literal["stated"]
    measures: tuple[str, ...] = Field(min_length=1, description="of several the mean is taken first")
    number: Decimal


class Range(Difference):
    """A range in the text; it holds if every row lies in it, in each measure."""

    kind: Literal["range"]
    measures: tuple[str, ...] = Field(min_length=1)
    low: Decimal | None = None
    high: Decimal | None = None


class GainList(Frozen):
    """Gains that a text lists over one row after the other."""

    table: str
    column: str
    rows: tuple[str, ...] = Field(min_length=1, description="the rows whose gain it may be")
    over: dict[str, dict[str, Decimal]] = Field(description="row -> metric -> gain")


class Gains(Entry):
    """Lists of gains: each number is looked at (sweep `gain`); here, whether those over a row come from one row."""

    kind: Literal["gains"]
    lists: tuple[GainList, ...]


class Order(Entry):
    """Every row of `better` is better than every row of `than`, in each measure."""

    kind: Literal["order"]
    table: str
    better: tuple[str, ...] = Field(min_length=1)
    than: tuple[str, ...] = Field(min_length=1)
    measures: tuple[str, ...] = Field(min_length=1)
    averaged: bool = Field(False, description="on the mean of the measures instead")
    smaller: bool = Field(False, description="less is better")


class Distance(Entry):
    """Pairs of numbers that should lie near each other (or apart)."""

    kind: Literal["distance"]
    pairs: tuple[tuple[Cell, Cell], ...] = Field(min_length=1)
    at_most: Decimal | None = None
    more_than: Decimal | None = None

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_most is None) == (self.more_than is None):
            raise ValueError("give either at_most or more_than")
        return self


class SameRow(Entry):
    """Rows of a table that also occur in another table, recognised by their numbers."""

    kind: Literal["same_row"]
    table: str
    measures: tuple[str, ...]
    other_table: str
    other_measures: tuple[str, ...]
    rows: dict[str, str] = Field(description="row -> the row of the other table that it should be")


class Names(Entry):
    """Tables that should have the same rows or columns."""

    kind: Literal["names"]
    tables: tuple[str, str]
    of: Literal["rows", "columns"]


class Reading(Frozen):
    """A model, as a way to read what a paper says of it."""

    label: str
    method: str = Field(description="a file of config/methods/")
    options: dict[str, Any] = Field({}, description="of its builder")
    domains: int | None = Field(None, gt=0, description="null: those of the entry")
    more: int = Field(0, description="parameters that our builder does not have")
    text: bool = Field(True, description="what the paper says; false: an explanation of the print")


class Sizes(Entry):
    """Counts of parameters, from our builders."""

    source_rows: int = Field(gt=0, description="of the source embedding")
    target_rows: int = Field(gt=0, description="of the target embedding, and of the output layer")
    joint: bool = Field(False, description="one vocabulary")


class Parameters(Sizes):
    """A printed number of parameters; it holds if what the paper says of the model has as many."""

    kind: Literal["parameters"]
    domains: int = Field(gt=0)
    cells: tuple[str, ...] = Field(min_length=1)
    readings: tuple[Reading, ...] = Field(min_length=1)


class SizeRatio(Sizes):
    """The ratio of the sizes of two models, for every number of domains k."""

    kind: Literal["size_ratio"]
    domains: tuple[int, ...] = Field(min_length=1)
    reading: Reading
    over: Reading
    times: Literal["k"] | Decimal


class Vocabulary(Sizes):
    """Printed numbers of parameters that one vocabulary should give."""

    kind: Literal["vocabulary"]
    domains: int = Field(gt=0)
    cells: dict[str, Reading] = Field(min_length=1)


class Peak(Entry):
    """The largest value of Song's impact factor alpha is H (Song et al. 2026, eq. 15)."""

    kind: Literal["peak"]
    high: float
    low: float
    lifted: bool = Field(False, description="the formula with L added, whose peak is H")


Check = Annotated[
    Stated | Range | Gains | Order | Distance | SameRow | Names | Parameters | SizeRatio | Vocabulary | Peak,
    Field(discriminator="kind"),
]


class Noted(Entry):
    """What cannot be computed from the printed numbers."""

    kind: Literal["ambiguity", "notation", "code", "source", "figure", "text"]
    why: str = Field(min_length=1, description="why it cannot be computed")


class AuditConfig(Frozen):
    """One file of config/audit/."""

    sweeps: tuple[Sweep, ...] = ()
    checks: tuple[Check, ...] = ()
    noted: tuple[Noted, ...] = ()

    @model_validator(mode="after")
    def _ids_differ(self) -> Self:
        ids = [entry.id for entry in (*self.sweeps, *self.checks, *self.noted)]
        twice = [name for name in ids if ids.count(name) > 1]
        if twice:
            raise ValueError(f"the id {twice[0]!r} occurs twice")
        return self


def load_audit(config_folder: Path, paper: str) -> AuditConfig:
    """Return config/audit/<paper>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    return load_model(find_named(config_folder / "audit", paper, "audit of the paper"), AuditConfig)
