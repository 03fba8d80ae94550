"""A paper's sentences as rules that data can decide: config/claims/<paper>.yaml."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.decoding import Labels
from mdnmt.config.loader import did_you_mean, find_named, load_model
from mdnmt.config.paper import PaperConfig, PaperTable
from mdnmt.config.task import Name
from mdnmt.errors import ConfigError

ClaimKind = Literal["better", "worse", "smaller", "larger", "order", "shape", "collapse", "arithmetic"]
Share = Annotated[float, Field(gt=0, le=1)]
Needed = Literal["all", "most", "one"] | Share
Columns = Literal["each", "average"] | tuple[Name, ...]
Metric = Literal[
    "bleu", "chrf", "comet",
    "num_parameters", "train_seconds_per_update", "epoch_seconds", "train_tokens_per_second",
    "decode_sentences_per_second", "decode_tokens_per_second", "peak_memory_mb",
]  # fmt: skip
Position = str | int | float  # a value of a key of `at`; for numeric keys also `first` or `last`
Reduction = Literal["mean", "min", "max"]
OWN = "mdnmt"  # our own tables and figures count as this paper; a rule calls them mdnmt-<exhibit>


class Threshold(Frozen):
    """A bound on a number (default: above 0), and the share of all comparisons in which it must hold."""

    above: float | None = Field(None, description="more than this")
    below: float | None = Field(None, description="less than this")
    within: float | None = Field(None, gt=0, description="closer to 0 than this")
    needed: Needed = Field("all", description="in how many of the comparisons it must hold: all, most, one, or a share")
    not_tested: str | None = Field(
        None,
        min_length=1,
        description="which choice of ours, and not the method, decides this rule; it gives no verdict",
    )

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if sum(bound is not None for bound in (self.above, self.below, self.within)) > 1:
            raise ValueError("a rule has one of above, below, within")
        return self

    @property
    def bound(self) -> tuple[Literal["above", "below", "within"], float]:
        """Return which bound it is, and its value."""
        if self.below is not None:
            return "below", self.below
        return ("within", self.within) if self.within is not None else ("above", self.above or 0.0)


class CellsRule(Threshold):
    """Differences between rows: each of `rows` minus each of `than`, in each column and metric."""

    kind: Literal["cells"] = Field(description="scores or resources of a table")
    table: Name | None = Field(None, description="of this paper")
    tables: dict[Name, Name] = Field({}, description="in place of table: that of rows -> that of than")
    metrics: tuple[Metric, ...] = Field(("bleu",), min_length=1, description="of the table; one comparison each")
    columns: Columns = Field("each", description="each domain, their average, or domains of the paper's own task")
    leaving_out: tuple[Name, ...] = Field((), description="domains of the paper's own task")
    rows: tuple[Name, ...] = Field(
        min_length=1, description="methods; a model trained on one domain is compared in that domain's column"
    )
    than: tuple[Name, ...] = Field((), description="methods; none: the same method in another table or column")
    than_columns: tuple[Name, ...] = Field((), description="columns of than; none: the same column")
    than_trained_on: Literal["own", "others"] = Field(
        "own", description="of models trained on one domain each: that of the column's domain, or all others"
    )
    times: float = Field(1.0, gt=0, description="factor of the right side (`than`)")
    per_row: bool = Field(False, description="each of `rows` must reach the share by itself")

    @model_validator(mode="after")
    def _compares_two_things(self) -> Self:
        if (self.table is None) == (not self.tables):
            raise ValueError("a rule has either `table` or `tables`")
        same_table = any(left == right for left, right in self.pairs)
        if not self.than and same_table and not self.than_columns:
            raise ValueError("without `than`, a rule needs other `tables` or `than_columns`")
        return self

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return (table of rows, table of than)."""
        return ((self.table, self.table),) if self.table is not None else tuple(self.tables.items())


class StarsRule(Frozen):
    """Cells that are significantly better than the table's baseline."""

    kind: Literal["stars"] = Field(description="significance in a table")
    table: Name = Field(description="of this paper")
    metrics: tuple[Literal["bleu", "chrf", "comet"], ...] = Field(
        ("bleu",), min_length=1, description="of the table; one comparison each"
    )
    rows: tuple[Name, ...] = Field(min_length=1, description="methods")
    needed: Needed = Field("all", description="in how many cells it must hold: all, most, one, or a share")


class Numbers(Frozen):
    """Which numbers of a figure. On the right side of a comparison, omitted keys are as on the left."""

    figure: Name | None = Field(None, description="of this paper")
    name: str | None = Field(None, description="the measure, such as entropy")
    methods: tuple[Name, ...] = Field((), description="systems of the figure")
    at: dict[str, Position] = Field({}, description="where, such as {side: encoder, layer: first}")


class MeasureRule(Threshold):
    """Numbers of a figure minus others, or by themselves."""

    kind: Literal["measure"] = Field(description="numbers of a figure")
    figure: Name = Field(description="of this paper")
    name: str = Field(description="the measure, such as entropy")
    methods: tuple[Name, ...] = Field((), description="one by one; none: all systems of the figure together")
    at: dict[str, Position] = Field({}, description="where, such as {side: encoder, layer: first}")
    each: tuple[str, ...] = Field((), description="keys of `at` with a comparison per value; the mean over other keys")
    reduce: dict[str, Reduction] = Field({}, description="keys of `at`, in this order: how their values are combined")
    than: Numbers | None = Field(None, description="what is subtracted; null: nothing")
    if_none: str | None = Field(None, description="the measure to take for a run that lacks the named one")


class LabelsRule(Threshold):
    """What other domain labels cost: the score under gold labels minus the score under others, seed by seed.

    The cost of each of `rows` minus the cost of each of `than`; without `than`, the cost itself.
    """

    kind: Literal["labels"] = Field(description="what other domain labels cost")
    table: Name = Field(description="whose rows are translated under several label conditions: mdnmt-labels")
    metrics: tuple[Literal["bleu", "chrf", "comet"], ...] = Field(
        ("bleu",), min_length=1, description="of the table; one comparison each"
    )
    columns: Literal["each", "average"] = Field("average", description="each domain, or their average")
    labels: tuple[Labels, ...] = Field(min_length=1, description="wrong, missing or predicted")
    rows: tuple[Name, ...] = Field(min_length=1, description="methods")
    than: tuple[Name, ...] = Field((), description="methods; none: the cost itself")

    @model_validator(mode="after")
    def _gold_labels_cost_nothing(self) -> Self:
        if "given" in self.labels:
            raise ValueError("labels: gold labels (given) are what the others are compared with; leave them out")
        return self


class AgreementRule(Threshold):
    """The rank correlation between metrics, over the rows of a table."""

    kind: Literal["agreement"] = Field(description="whether metrics rank systems alike")
    table: Name = Field(description="of this paper")
    rows: tuple[Name, ...] = Field(min_length=3, description="methods, which the metrics rank")
    metrics: tuple[Literal["bleu", "chrf", "comet"], ...] = Field(min_length=2, description="each pair is compared")
    columns: Literal["each", "average"] = Field("average", description="each domain, or their average")


class NotedRule(Frozen):
    """Nothing that a study makes can decide it."""

    kind: Literal["noted"] = Field(description="for the record")
    why: str = Field(min_length=1, description="why nothing here can decide it")


AnyRule = CellsRule | StarsRule | MeasureRule | LabelsRule | AgreementRule | NotedRule
Rule = Annotated[AnyRule, Field(discriminator="kind")]


class Claim(Frozen):
    """A sentence of a paper, in our words; it holds if each of its rules does."""

    where: str = Field(min_length=1, description="section, table or figure of the paper")
    says: str = Field(min_length=1, description="the sentence, in our words")
    kind: ClaimKind = Field(description="what sort of statement it is")
    rules: tuple[Rule, ...] = Field(min_length=1, description="all of which must hold")


class ClaimsConfig(Frozen):
    """One file of config/claims/."""

    claims: dict[Name, Claim] = Field(min_length=1, description="id -> claim")


class Needs(Frozen):
    """What a claim is decided from."""

    tables: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


def uses(rule: AnyRule) -> list[tuple[Literal["tables", "figures"], str, tuple[str, ...]]]:
    """Return (kind, name, methods that the rule looks for in it) of each table or figure that a rule reads."""
    if isinstance(rule, CellsRule):
        found: list[Any] = []
        for left, right in rule.pairs:
            found += [("tables", left, rule.rows), ("tables", right, rule.than or rule.rows)]
        return found
    if isinstance(rule, StarsRule | AgreementRule):
        return [("tables", rule.table, rule.rows)]
    if isinstance(rule, LabelsRule):
        return [("tables", rule.table, (*rule.rows, *rule.than))]
    if isinstance(rule, MeasureRule):
        found = [("figures", rule.figure, rule.methods)]
        if rule.than is not None:
            found.append(("figures", rule.than.figure or rule.figure, rule.than.methods or rule.methods))
        return found
    return []


def needs(claim: Claim) -> Needs:
    """Return the tables and figures that decide a claim, each once, in the order of its rules."""
    found = [(kind, exhibit) for rule in claim.rules for kind, exhibit, _ in uses(rule)]
    return Needs(
        tables=tuple(dict.fromkeys(exhibit for kind, exhibit in found if kind == "tables")),
        figures=tuple(dict.fromkeys(exhibit for kind, exhibit in found if kind == "figures")),
    )


def without_tables(claim: Claim, left_out: Collection[str]) -> Claim:
    """Return a claim without the tables that a study leaves out.

    A rule drops each pair with such a table. If it would drop all pairs, it keeps them and cannot be decided.
    """
    rules = []
    for rule in claim.rules:
        if isinstance(rule, CellsRule) and rule.tables:
            kept = {left: right for left, right in rule.tables.items() if not {left, right} & set(left_out)}
            rule = rule.model_copy(update={"tables": kept or rule.tables})
        rules.append(rule)
    return claim.model_copy(update={"rules": tuple(rules)})


def metrics_of(rule: AnyRule) -> tuple[str, ...]:
    """Return the metrics of the table cells that a rule reads; a rule about figures has none."""
    return rule.metrics if isinstance(rule, CellsRule | StarsRule | LabelsRule | AgreementRule) else ()


def is_own(exhibit: str) -> bool:
    """Say whether an exhibit is one of our own tables and figures, and not one of the paper's."""
    return exhibit.startswith(f"{OWN}-")


def load_claims(config_folder: Path, paper: str) -> dict[str, Claim]:
    """Return the claims of config/claims/<paper>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    return load_model(find_named(config_folder / "claims", paper, "file of claims"), ClaimsConfig).claims


def row_names(table: PaperTable) -> dict[str, tuple[str, ...]]:
    """Return method -> its possible names in a table.

    Names carry the suffix of the table's variant; a method of a `best_of` may have the name of any method in it.
    """
    suffix = f"-{table.variant.suffix}" if table.variant is not None else ""
    found: dict[str, tuple[str, ...]] = {}
    for row in table.rows:
        plain = [name.removesuffix(suffix) if suffix else name for name in row.methods]
        found |= dict.fromkeys(plain, tuple(f"{name}{suffix}" for name in plain))
    return found


def check_claims(
    claims: Mapping[str, Claim], paper: PaperConfig, methods: Iterable[str], where: str, own: PaperConfig | None = None
) -> None:
    """Raise an error if a claim names something that does not exist.

    Args:
        claims: id -> claim, of one paper.
        paper: its tables and figures.
        methods: the names of config/methods.
        where: the file of the claims.
        own: the tables and figures of config/papers/mdnmt.yaml; None: no rule names one.

    Raises:
        ConfigError: a table or figure that the paper does not have, or a method or domain that it does not show.
    """
    known = set(methods)
    paper = _with_own(paper, own)
    for name, claim in claims.items():
        for index, rule in enumerate(claim.rules):
            place = f"{where}: claims.{name}.rules.{index}"
            for kind, exhibit, looked_for in uses(rule):
                exhibits: Mapping[str, Any] = getattr(paper, kind)
                _require_known(exhibit, exhibits, f"{place}: the paper has no {kind[:-1]}")
                shown = row_names(paper.tables[exhibit]) if kind == "tables" else paper.figures[exhibit].methods
                for method in looked_for:
                    _require_known(method, known | set(shown), f"{place}: there is no method")
                    _require_known(method, shown, f"{place}: {exhibit} does not show")
            _check_metrics(rule, paper, place)
            if isinstance(rule, CellsRule):
                _check_domains(rule, paper, place)
            if isinstance(rule, LabelsRule):
                _check_labels(rule, paper.tables[rule.table], place)


def _with_own(paper: PaperConfig, own: PaperConfig | None) -> PaperConfig:
    """Return the paper with our own tables and figures beside its own, as rules name them."""
    if own is None:
        return paper
    tables = {f"{OWN}-{exhibit}": table for exhibit, table in own.tables.items()}
    figures = {f"{OWN}-{exhibit}": figure for exhibit, figure in own.figures.items()}
    return paper.model_copy(update={"tables": {**paper.tables, **tables}, "figures": {**paper.figures, **figures}})


def _check_metrics(rule: AnyRule, paper: PaperConfig, place: str) -> None:
    for kind, exhibit, _ in uses(rule):
        if kind == "tables" and paper.tables[exhibit].kind == "scores":
            for metric in metrics_of(rule):
                _require_known(metric, paper.tables[exhibit].metrics, f"{place}: {exhibit} has no metric")


def _check_labels(rule: LabelsRule, table: PaperTable, place: str) -> None:
    for row in table.rows:
        if row.method in (*rule.rows, *rule.than):
            for labels in ("given", *rule.labels):
                _require_known(labels, row.labels, f"{place}: {rule.table} does not show {row.method} under the labels")


def _check_domains(rule: CellsRule, paper: PaperConfig, place: str) -> None:
    named = rule.columns if isinstance(rule.columns, tuple) else ()
    for exhibit in dict.fromkeys(exhibit for pair in rule.pairs for exhibit in pair):
        domains = paper.tables[exhibit].printed_columns
        for domain in (*named, *rule.leaving_out, *rule.than_columns):
            if domains:
                _require_known(domain, domains, f"{place}: {exhibit} has no domain")


def _require_known(name: str, names: Iterable[str], what: str) -> None:
    known = sorted(names)
    if name not in known:
        raise ConfigError(f"{what} {name!r}{did_you_mean(name, known)}; there are: {', '.join(known) or 'none'}")
