"""Specs of the commands `table` and `report`: one JSON value each, checked before any file is read.

A row, a system or a part that was not made has no path; it is shown with the reason, `missing`. The files of a table's
spec must exist when the verb runs; the report shows a missing file as not made.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mdnmt.config.base import Frozen
from mdnmt.config.decoding import Split
from mdnmt.config.exhibit_kinds import FigureKind
from mdnmt.config.margin import Margin
from mdnmt.config.metrics import Metric
from mdnmt.config.paper import TableKind, WordTableKind
from mdnmt.errors import ConfigError
from mdnmt.exhibits.spec_fields import *  # noqa: F403
from mdnmt.exhibits.spec_fields import Column, ScoreRow, Titled, WordRow
from mdnmt.numbers.verdicts import Printed

Spec = TypeVar("Spec")


class ComparedTableSpec(Titled):
    """A table with the paper's numbers beside ours."""

    where: str = ""  # "Table 2"
    differs: str | None = None  # why none of its numbers can be compared with the printed ones
    metric_differs: dict[str, str] = Field({})  # metric or quantity -> why it cannot
    margin: Margin = Margin()


class ScoreTableSpec(ComparedTableSpec):
    """The papers' results table: systems by domains, with an average."""

    kind: Literal["scores"] = "scores"
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[ScoreRow, ...]
    metrics: tuple[Metric, ...] = Field(default=("bleu", "chrf"), min_length=1)
    metric_missing: dict[Metric, str] = Field({})  # metric -> why no run has it
    metric_notes: dict[Metric, str] = Field({})  # metric -> how the published number was computed
    tokenizers: str = ""  # how text is split otherwise than in the paper, if it is
    shows: Literal["domains", "average"] = "domains"
    delta: bool = False  # show beside each score its difference from the baseline
    split: Split = "test"  # of the text that was scored
    development: bool = False  # a first column: the validation sets of all domains as one text
    average_label: str = "Avg."
    baseline: str | None = None  # the method that stars compare with
    baseline_label: str | None = None  # its label if no row shows it
    significance: Path | None = None
    predicted_labels: Path | None = None  # a classifier's predictions, for rows with predicted labels
    notes: tuple[str, ...] = ()


class ResourceRow(Frozen):
    """One system as a row of the resources table; `method` is its key in measure.json."""

    group: str
    label: str
    method: str
    missing: str | None = None
    choice: int | None = None  # as in ScoreRow
    records: tuple[Path, ...] = ()
    printed: dict[str, Printed] = Field({})  # quantity -> the published number


class ResourceTableSpec(ComparedTableSpec):
    """Parameters, time, throughput and memory of each system (Song et al. 2026, Table 4)."""

    kind: Literal["resources"] = "resources"
    rows: tuple[ResourceRow, ...]
    measure: Path | None = None  # measure.json; None: not measured, the reason in `missing`
    missing: str | None = None
    baseline: str | None = None
    baseline_label: str | None = None  # its label if no row shows it
    notes: tuple[str, ...] = ()


class WordTableSpec(Titled):
    """Generated text: how many words are right, or the proportions or gates of its words."""

    kind: WordTableKind
    num_domains: int = Field(ge=1)
    rows: tuple[WordRow, ...]
    notes: tuple[str, ...] = ()


class CorpusRow(Frozen):
    """A domain of a task as a row: how many sentences each split has."""

    group: str = ""
    label: str
    domain: str  # its key in stats.json
    sum_of: tuple[str, ...] = ()  # a row of sums: the keys of the domains that are added
    stats: Path | None = None
    missing: str | None = None
    differs: str | None = None
    printed: dict[str, Printed] = Field({})  # train, valid, test -> the published number


class CorporaTableSpec(ComparedTableSpec):
    """The data of a task: sentences of each domain in training, validation and test text."""

    kind: Literal["corpora"] = "corpora"
    rows: tuple[CorpusRow, ...]
    notes: tuple[str, ...] = ()


class ExamplesTableSpec(Titled):
    """Ambiguous words in test sentences, with the translations of several systems (Jiang et al. 2020, Table 7)."""

    kind: Literal["examples"] = "examples"
    where: str = ""
    ambiguity: Path | None = None  # ambiguity.json
    systems: tuple[ScoreRow, ...] = ()
    columns: tuple[Column, ...] = ()
    words: tuple[str, ...] = ()  # words that come first, ambiguous in this text or not
    word_domains: tuple[str, ...] = ()  # domains that are searched for these words
    missing: str | None = None
    notes: tuple[str, ...] = ()


class NotationTableSpec(Titled):
    """Symbols and their meanings."""

    kind: Literal["notation"] = "notation"
    where: str = ""
    lines: tuple[tuple[str, str, str], ...]  # symbol, place, meaning


AnyTable = ScoreTableSpec | ResourceTableSpec | WordTableSpec | CorporaTableSpec | ExamplesTableSpec | NotationTableSpec
TableSpec = Annotated[AnyTable, Field(discriminator="kind")]


class ReportRun(Frozen):
    """A run that a table or figure is made from; `method` is its system's key there."""

    method: str
    label: str
    seed: int | None = None
    folder: Path


class ReportTable(Titled):
    """A table that `mdnmt exhibit` wrote; a missing file is shown as not made."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: TableKind
    data: Path  # output of `mdnmt exhibit`; the page renders it again, so that all text is escaped
    caption: str = ""
    runs: tuple[ReportRun, ...] = ()  # the measured runs, for rows that do not name their own
    missing: str | None = None


class ReportFigure(Titled):
    """A figure that `mdnmt exhibit` wrote, with a caption that says what to look for."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: FigureKind
    where: str = ""  # "Figure 6"
    png: Path
    numbers: Path | None = None  # what it shows, as JSON
    caption: str
    alt: str = ""  # empty: taken from the figure's own metadata
    runs: tuple[ReportRun, ...] = ()
    missing: str | None = None


class ReportExhibit(Frozen):
    """A table or figure of a paper; no id: the study does not show it."""

    kind: Literal["table", "figure"]
    where: str = ""
    title: str
    id: str | None = None


class ReportPaper(Frozen):
    """A paper as a section of the page."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    citation: str
    items: tuple[ReportExhibit, ...] = ()  # in the paper's own order
    claims: Path | None = None  # output of `mdnmt exhibit`; None: the paper has no claims here
    audit: Path | None = None  # output of `mdnmt audit --json`; None: the paper is not audited


class SampleSystem(Frozen):
    """Where a system's hypotheses are: `<test_dir>/hyp.<domain>.txt`."""

    label: str
    test_dir: Path | None = None
    missing: str | None = None


class ReportTask(Frozen):
    """A task: its directory, its domains and the systems whose translations are shown."""

    name: str
    label: str
    directory: Path  # has stats.json, leakage.json, text/test.<domain>.<lang>
    source_lang: str
    target_lang: str
    domains: tuple[Column, ...]
    systems: tuple[SampleSystem, ...] = ()


class ReportCorpus(Frozen):
    """What a reader should know about a corpus: its origin, its licence, whom to cite."""

    name: str
    label: str
    domain: str = ""
    version: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    sha256: str = ""
    missing: str | None = None


class ReportExternal(Frozen):
    """A system that is not trained here, with the provenance and the files of its translations."""

    label: str
    task: str  # its title
    provenance: str
    redistributable: bool
    files: tuple[tuple[str, str], ...]  # (path, sha256)


class SampleSettings(Frozen):
    """Which translations are shown: a seeded choice among sentences of medium length."""

    per_domain: int = Field(default=3, ge=0, le=20)
    seed: int = 1
    min_words: int = Field(default=8, ge=1)
    max_words: int = Field(default=25, ge=1)


class Missing(Frozen):
    """Something that the study names but does not have, and why."""

    what: str
    why: str


class ReportSpec(Frozen):
    """Everything the page is made from; absent parts are shown as absent."""

    study: str
    title: str
    introduction: str = ""  # two sentences for a newcomer
    papers: tuple[ReportPaper, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    tasks: tuple[ReportTask, ...] = ()
    corpora: tuple[ReportCorpus, ...] = ()
    external: tuple[ReportExternal, ...] = ()
    runs: Path | None = None  # runs.tsv
    run_json: tuple[Path, ...] = ()
    measure: Path | None = None  # measure.json, for the hardware
    samples: SampleSettings = SampleSettings()
    missing: tuple[Missing, ...] = ()
    commands: tuple[str, ...] = ()  # commands that make this page again
    made_with: dict[str, str] = Field({})  # file -> hash of the options that it must have been made with
    partial: bool = False  # made from whatever exists


_TABLE: TypeAdapter[AnyTable] = TypeAdapter(TableSpec)
_REPORT: TypeAdapter[ReportSpec] = TypeAdapter(ReportSpec)


def _parse(adapter: TypeAdapter[Spec], what: str, text: str) -> Spec:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole value"
        more = error.error_count() - 1
        also = f" (and {more} more)" if more else ""
        raise ConfigError(f"--spec of the {what}: {place}: {first['msg']}{also}; see mdnmt.exhibits.specs") from error


def parse_table(text: str) -> AnyTable:
    """Return the table that the JSON `text` describes.

    Raises:
        ConfigError: the text is not JSON, or has an unknown key or value.
    """
    return _parse(_TABLE, "table", text)


def parse_report(text: str) -> ReportSpec:
    """Return the report that the JSON `text` describes.

    Raises:
        ConfigError: the text is not JSON, or has an unknown key or value.
    """
    return _parse(_REPORT, "report", text)
