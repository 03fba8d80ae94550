"""What the verbs `table`, `figure` and `report` are told: one JSON value each, checked before anything is read.

Every path may be absent: a row, a system or a part that was not made carries `missing`, the reason, and is shown
with it. A path that is given must exist when the verb runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from mdnmt.config.base import Frozen
from mdnmt.config.paper import FigureKind, Knowledge, TableKind, WordTableKind
from mdnmt.errors import ConfigError

Spec = TypeVar("Spec")


class Titled(Frozen):
    """What has a title; `task` tells apart what a study with several tasks shows of each."""

    title: str
    task: str = ""  # the task's title; empty in a study of one task

    @property
    def full_title(self) -> str:
        """Return the title, with the task's behind it if it is given."""
        return f"{self.title} ({self.task})" if self.task else self.title


class Column(Frozen):
    """A domain as a column of a table, or as a series of a figure."""

    name: str  # the domain's key in scores.json
    label: str


class ScoreRun(Frozen):
    """The scores of one run; `seed` is None where nothing was trained (copying the source)."""

    scores: Path  # scores.json
    seed: int | None = None


class ScoreRow(Frozen):
    """One system as a row: all its seeds, or the reason why there is none."""

    group: str  # "Direct training", "Our domain mixing methods"
    label: str  # as printed: "Mixed", "E/DC"
    method: str  # the key in the significance file
    runs: tuple[ScoreRun, ...] = ()
    missing: str | None = None
    choice: int | None = None  # of rows with one number the best by validation is shown
    records: tuple[Path, ...] = ()  # run.json of each seed, where there is a choice


class ScoreTableSpec(Titled):
    """The papers' results table: systems by domains, with an average."""

    kind: Literal["scores"] = "scores"
    columns: tuple[Column, ...] = Field(min_length=1)
    rows: tuple[ScoreRow, ...]
    metrics: tuple[Literal["bleu", "chrf"], ...] = Field(default=("bleu", "chrf"), min_length=1)
    average_label: str = "Avg."
    baseline: str | None = None  # a method: stars compare with it
    baseline_label: str | None = None  # what it is called where no row shows it
    significance: Path | None = None
    notes: tuple[str, ...] = ()


class ResourceRow(Frozen):
    """One system as a row of the resources table; `method` is its key in measure.json."""

    group: str
    label: str
    method: str
    missing: str | None = None
    choice: int | None = None  # as in ScoreRow
    records: tuple[Path, ...] = ()


class ResourceTableSpec(Titled):
    """Parameters, time, throughput and memory of each system (Song et al. 2026, Table 4)."""

    kind: Literal["resources"] = "resources"
    rows: tuple[ResourceRow, ...]
    measure: Path | None = None  # measure.json; None: not measured, the reason in `missing`
    missing: str | None = None
    baseline: str | None = None
    baseline_label: str | None = None  # what it is called where no row shows it
    notes: tuple[str, ...] = ()


class WordRow(ScoreRow):
    """One system as a row of a table of generated text; each run's `scores` is its words.json."""

    knows: Knowledge | None = None


class WordTableSpec(Titled):
    """Generated text: which words are right, or what was decided on them."""

    kind: WordTableKind
    num_domains: int = Field(ge=1)
    rows: tuple[WordRow, ...]
    notes: tuple[str, ...] = ()


AnyTable = ScoreTableSpec | ResourceTableSpec | WordTableSpec
TableSpec = Annotated[AnyTable, Field(discriminator="kind")]


class AnalysedRun(Frozen):
    """One system's analysis directory, or the reason why there is none."""

    label: str
    analysis: Path | None = None
    seed: int | None = None  # None: not known
    missing: str | None = None

    @property
    def name(self) -> str:
        """Return the label, with the seed if it is known."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"


class HeatmapSpec(Titled):
    """Domain proportions of one sentence, word by layer (Jiang et al. 2020, Fig. 7 and 8)."""

    kind: Literal["proportion_heatmap"] = "proportion_heatmap"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()  # labels; empty: the names in meta.json
    sentence: int | None = Field(default=None, ge=0)  # index in sentences.json; None: chosen by a fixed rule
    domain: str | None = None  # choose among sentences of this domain
    max_words: int = Field(default=22, ge=2, le=60)


class HistogramsSpec(Titled):
    """Distribution of word-level domain proportions, layer by layer (Jiang et al. 2020, Fig. 9)."""

    kind: Literal["proportion_histograms"] = "proportion_histograms"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()
    bins: int = Field(default=20, ge=2, le=100)


class TsneSpec(Titled):
    """Encoder sentence vectors in two dimensions, a panel a system (Song et al. 2026, Fig. 5)."""

    kind: Literal["tsne"] = "tsne"
    systems: tuple[AnalysedRun, ...]
    domains: tuple[Column, ...] = ()
    perplexity: float = Field(default=30.0, gt=0)
    seed: int = 1
    max_sentences: int = Field(default=250, ge=5)  # a domain


class CurveRun(Frozen):
    """The curves of one run."""

    curves: Path  # curves.tsv
    seed: int


class CurveSystem(Frozen):
    """One system's runs, one a seed, or the reason why there is none."""

    label: str
    runs: tuple[CurveRun, ...] = ()
    missing: str | None = None


class CurvesSpec(Titled):
    """Training loss, perplexity, accuracy and BLEU against updates, a line a system (Song et al. 2026, Fig. 3)."""

    kind: Literal["curves"] = "curves"
    systems: tuple[CurveSystem, ...]


class SweepSpec(Titled):
    """Right words of generated text as an option changes: a point a system, a line a kind of word."""

    kind: Literal["word_sweep"] = "word_sweep"
    num_domains: int = Field(ge=1)
    systems: tuple[WordRow, ...]


class GateUseSpec(Titled):
    """How much each domain uses each expert (Song et al. 2026, Fig. 4), measured on generated text."""

    kind: Literal["gate_use"] = "gate_use"
    systems: tuple[WordRow, ...]
    domains: tuple[Column, ...] = ()


AnyFigure = HeatmapSpec | HistogramsSpec | TsneSpec | CurvesSpec | SweepSpec | GateUseSpec
FigureSpec = Annotated[AnyFigure, Field(discriminator="kind")]


class ReportTable(Titled):
    """A table that `mdnmt table` wrote; a file that is not there is shown as not made."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: TableKind
    data: Path  # what `mdnmt table --json` wrote: the page is drawn from it, so that nothing unescaped gets in
    caption: str = ""
    missing: str | None = None


class ReportFigure(Titled):
    """A figure that `mdnmt figure` wrote, with a caption that says what to look for."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: FigureKind
    png: Path
    caption: str
    alt: str = ""  # empty: taken from the figure's own metadata
    missing: str | None = None


class SampleSystem(Frozen):
    """Where a system's hypotheses stand: `<test_dir>/hyp.<domain>.txt`."""

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
    """What a reader should know of a corpus: where it is from, under which licence, whom to cite."""

    name: str
    label: str
    domain: str = ""
    version: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    sha256: str = ""
    missing: str | None = None


class SampleSettings(Frozen):
    """Which translations are shown: a seeded choice among sentences of medium length."""

    per_domain: int = Field(default=3, ge=0, le=20)
    seed: int = 1
    min_words: int = Field(default=8, ge=1)
    max_words: int = Field(default=25, ge=1)


class Missing(Frozen):
    """Something the study names and does not have, and why."""

    what: str
    why: str


class ReportSpec(Frozen):
    """Everything the page is made of; whatever is absent is said to be absent."""

    study: str
    title: str
    introduction: str = ""  # two sentences for a reader who knows nothing yet
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    tasks: tuple[ReportTask, ...] = ()
    corpora: tuple[ReportCorpus, ...] = ()
    runs: Path | None = None  # runs.tsv
    run_json: tuple[Path, ...] = ()
    measure: Path | None = None  # measure.json, for the hardware
    samples: SampleSettings = SampleSettings()
    missing: tuple[Missing, ...] = ()
    commands: tuple[str, ...] = ()  # what to type to make this page again
    partial: bool = False  # made from whatever exists


_TABLE: TypeAdapter[AnyTable] = TypeAdapter(TableSpec)
_FIGURE: TypeAdapter[AnyFigure] = TypeAdapter(FigureSpec)
_REPORT: TypeAdapter[ReportSpec] = TypeAdapter(ReportSpec)


def _parse(adapter: TypeAdapter[Spec], what: str, text: str) -> Spec:
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole value"
        more = error.error_count() - 1
        also = f" (and {more} more)" if more else ""
        raise ConfigError(f"--spec of the {what}: {place}: {first['msg']}{also}; see mdnmt.paper.specs") from error


def parse_table(text: str) -> AnyTable:
    """Return the table that the JSON `text` describes.

    Raises:
        ConfigError: the text is no JSON, or a key or value is not known.
    """
    return _parse(_TABLE, "table", text)


def parse_figure(text: str) -> AnyFigure:
    """Return the figure that the JSON `text` describes.

    Raises:
        ConfigError: the text is no JSON, or a key or value is not known.
    """
    return _parse(_FIGURE, "figure", text)


def parse_report(text: str) -> ReportSpec:
    """Return the report that the JSON `text` describes.

    Raises:
        ConfigError: the text is no JSON, or a key or value is not known.
    """
    return _parse(_REPORT, "report", text)
