"""The checks in the audit of a paper: config/audit/<paper>.yaml."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model

# A measure is `column/metric`. A cell is `table | row | column/metric`, or `paper: table | row | column/metric` in
# another paper. `rows of T2` is the number of rows of a table. A plain number is that number.
Cell = str | Decimal


Id = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9+.-]*$", description="what docs/audit.md calls it")]


class Sweep(Frozen):
    """A name for what a sweep, which needs no list, finds at these places."""

    id: Id
    sweep: Literal["average", "delta", "star", "total", "gain"] = Field(description="which sweep found it")
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

    table: str = Field(description="as in config/published")
    rows: tuple[str, ...] = Field(min_length=1, description="of the left side")
    against: tuple[str, ...] = Field(min_length=1, description="rows of the right side")
    by: Literal["difference", "ratio"] = Field("difference", description="how a row is compared with another")


class Stated(Difference):
    """A number in the text; it holds if one of the rows gives it against one of the others, once rounded."""

    kind: Literal["stated"] = Field(description="a number in the text")
    measures: tuple[str, ...] = Field(min_length=1, description="of several the mean is taken first")
    number: Decimal = Field(description="as printed")


class Range(Difference):
    """A range in the text; it holds if every row lies in it, in each measure."""

    kind: Literal["range"] = Field(description="a range in the text")
    measures: tuple[str, ...] = Field(min_length=1, description="column/metric")
    low: Decimal | None = Field(None, description="as printed; null: no lower end")
    high: Decimal | None = Field(None, description="as printed; null: no upper end")


class GainList(Frozen):
    """Gains that a text lists over one row after the other."""

    table: str = Field(description="as in config/published")
    column: str = Field(description="of the table")
    rows: tuple[str, ...] = Field(min_length=1, description="the rows whose gain it may be")
    over: dict[str, dict[str, Decimal]] = Field(description="row -> metric -> gain")


class Gains(Entry):
    """Lists of gains: each number is looked at (sweep `gain`); here, whether those over a row come from one row."""

    kind: Literal["gains"] = Field(description="lists of gains in the text")
    lists: tuple[GainList, ...] = Field(description="as the text gives them")


class Order(Entry):
    """Every row of `better` is better than every row of `than`, in each measure."""

    kind: Literal["order"] = Field(description="which rows are better")
    table: str = Field(description="as in config/published")
    better: tuple[str, ...] = Field(min_length=1, description="rows")
    than: tuple[str, ...] = Field(min_length=1, description="rows")
    measures: tuple[str, ...] = Field(min_length=1, description="column/metric")
    averaged: bool = Field(False, description="on the mean of the measures instead")
    smaller: bool = Field(False, description="less is better")


class Distance(Entry):
    """Pairs of numbers that should lie near each other (or apart)."""

    kind: Literal["distance"] = Field(description="how near numbers are")
    pairs: tuple[tuple[Cell, Cell], ...] = Field(min_length=1, description="cells or numbers")
    at_most: Decimal | None = Field(None, description="the largest distance of a pair")
    more_than: Decimal | None = Field(None, description="in place of at_most: the distance that a pair exceeds")

    @model_validator(mode="after")
    def _one_limit(self) -> Self:
        if (self.at_most is None) == (self.more_than is None):
            raise ValueError("give either at_most or more_than")
        return self


class SameRow(Entry):
    """Rows of a table that also occur in another table, recognised by their numbers."""

    kind: Literal["same_row"] = Field(description="a row that two tables print")
    table: str = Field(description="as in config/published")
    measures: tuple[str, ...] = Field(description="column/metric")
    other_table: str = Field(description="as in config/published")
    other_measures: tuple[str, ...] = Field(description="column/metric, in the order of `measures`")
    rows: dict[str, str] = Field(description="row -> the row of the other table that it should be")


class Names(Entry):
    """Tables that should have the same rows or columns."""

    kind: Literal["names"] = Field(description="names of rows or columns")
    tables: tuple[str, str] = Field(description="as in config/published")
    of: Literal["rows", "columns"] = Field(description="which names")


class Reading(Frozen):
    """A model, as a way to read what a paper says of it."""

    label: str = Field(description="how the audit's page calls it")
    method: str = Field(description="of config/methods/")
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

    kind: Literal["parameters"] = Field(description="a printed number of parameters")
    domains: int = Field(gt=0, description="k")
    cells: tuple[str, ...] = Field(min_length=1, description="that print it")
    readings: tuple[Reading, ...] = Field(min_length=1, description="models that the print may mean")


class SizeRatio(Sizes):
    """The ratio of the sizes of two models, for every number of domains k."""

    kind: Literal["size_ratio"] = Field(description="the ratio of two sizes")
    domains: tuple[int, ...] = Field(min_length=1, description="each k that is tried")
    reading: Reading = Field(description="the larger model")
    over: Reading = Field(description="the smaller model")
    times: Literal["k"] | Decimal = Field(description="the ratio in print")


class Vocabulary(Sizes):
    """Printed numbers of parameters that one vocabulary should give."""

    kind: Literal["vocabulary"] = Field(description="sizes that one vocabulary should give")
    domains: int = Field(gt=0, description="k")
    cells: dict[str, Reading] = Field(min_length=1, description="cell -> the model it counts")


class Peak(Entry):
    """The largest value of Song's impact factor alpha is H (Song et al. 2026, eq. 15)."""

    kind: Literal["peak"] = Field(description="the largest value of a formula")
    high: float = Field(description="H")
    low: float = Field(description="L")
    lifted: bool = Field(False, description="the formula with L added, whose peak is H")


Check = Annotated[
    Stated | Range | Gains | Order | Distance | SameRow | Names | Parameters | SizeRatio | Vocabulary | Peak,
    Field(discriminator="kind"),
]


class Noted(Entry):
    """What cannot be computed from the printed numbers."""

    kind: Literal["ambiguity", "notation", "code", "source", "figure", "text"] = Field(description="where it lies")
    why: str = Field(min_length=1, description="why it cannot be computed")


class AuditConfig(Frozen):
    """One file of config/audit/."""

    sweeps: tuple[Sweep, ...] = Field((), description="names for what the sweeps find")
    checks: tuple[Check, ...] = Field((), description="what can be computed from the printed numbers")
    noted: tuple[Noted, ...] = Field((), description="what cannot")

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
