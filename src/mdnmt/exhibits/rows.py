"""Parts that several kinds of tables and figures share: titles, columns, scores and analyses of a system's runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.paper import Knowledge
from mdnmt.numbers.verdicts import Printed


class Titled(Frozen):
    """A table or figure with its title; `task` names the task in a study of several."""

    title: str
    task: str = ""  # the task's title; empty in a study of one task
    made_with: dict[str, str] = Field({})  # file -> hash of the options that it must have been made with

    @property
    def full_title(self) -> str:
        """Return the title, followed by the task's if it is given."""
        return f"{self.title} ({self.task})" if self.task else self.title


class Column(Frozen):
    """A domain as a column of a table, or as a series of a figure."""

    name: str  # the domain's key in scores.json
    label: str
    differs: str | None = None  # why its scores cannot be compared with the printed ones
    remark: str | None = None  # how its text differs, though they are compared


class ScoreRun(Frozen):
    """The scores of one run; `seed` is None if nothing was trained (copying the source)."""

    scores: Path  # scores.json
    seed: int | None = None
    others: tuple[Path, ...] = ()  # comet.json, ter.json, if these were scored; in the format of scores.json
    development: Path | None = None  # scores.json of the validation sets, for the column of all of them as one text


class ScoreRow(Frozen):
    """One system as a row: all its seeds, or the reason why there is none."""

    group: str  # "Direct training", "Our domain mixing methods"
    label: str  # as printed: "Mixed", "E/DC"
    method: str  # the key in the significance file
    external: str | None = None  # provenance of a system that is not trained here, in its authors' words
    against: str | None = None  # the row that its differences refer to; None: the baseline
    runs: tuple[ScoreRun, ...] = ()
    missing: str | None = None
    choice: int | None = None  # of rows with the same number, the best by validation is shown
    records: tuple[Path, ...] = ()  # run.json of each seed, if there is a choice
    printed: dict[str, Printed] = Field({})  # "<metric>/<domain or avg>" -> the published number
    models: dict[str, ScoreRow] = Field({})  # domain -> the model that translates it; empty: one model, or `runs`

    @property
    def parts(self) -> tuple[ScoreRow, ...]:
        """Return the rows of its models; of one model, the row itself."""
        return tuple(self.models.values()) or (self,)

    @property
    def why_missing(self) -> str | None:
        """Return why it, or one of its models, has no scores."""
        return next((part.missing for part in self.parts if part.missing), None)


def files_of(rows: Iterable[ScoreRow]) -> list[Path]:
    """Return the files that rows of scores are made from."""
    rows = tuple(part for row in rows for part in row.parts)
    found = [path for row in rows for path in row.records]
    found += [run.scores for row in rows for run in row.runs]
    return found + [path for row in rows for run in row.runs for path in (*run.others, run.development) if path]


class WordRow(ScoreRow):
    """One system as a row of a table of generated text; each run's `scores` is its words.json."""

    knows: Knowledge | None = None


class ResourceRow(Frozen):
    """One system as a row of the resources table; `method` is its key in measure.json."""

    group: str
    label: str
    method: str
    missing: str | None = None
    choice: int | None = None  # as in ScoreRow
    records: tuple[Path, ...] = ()
    printed: dict[str, Printed] = Field({})  # quantity -> the published number


class AnalysedSeed(Frozen):
    """The analysis of one run of a system."""

    analysis: Path
    seed: int | None = None


class AnalysedRun(Frozen):
    """One system's analysis directory, or the reason why there is none; `repeats` are measured, not drawn."""

    label: str
    method: str = ""  # its name in paths; empty: not known
    analysis: Path | None = None
    seed: int | None = None  # None: not known
    repeats: tuple[AnalysedSeed, ...] = ()  # the other seeds
    missing: str | None = None

    @property
    def name(self) -> str:
        """Return the label, with the seed if it is known."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"

    @property
    def seeds(self) -> tuple[AnalysedSeed, ...]:
        """Return all analyses, the one that is drawn first."""
        own = () if self.analysis is None else (AnalysedSeed(analysis=self.analysis, seed=self.seed),)
        return (*own, *self.repeats)


class ReportRun(Frozen):
    """A run that a table or figure is made from; `method` is its system's key there."""

    method: str
    label: str
    seed: int | None = None
    folder: Path
