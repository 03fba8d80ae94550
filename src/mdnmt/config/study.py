"""A study: which methods on which tasks, at which size, and which exhibits to make from them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator

from mdnmt.config.base import Frozen
from mdnmt.config.comet import CometConfig
from mdnmt.config.decoding import Decoding
from mdnmt.config.learning_rates import Rate, RatesFrom, with_sweep
from mdnmt.config.loader import did_you_mean, find_named, load_mapping, named_in, validate_model
from mdnmt.config.margin import Margin
from mdnmt.config.metrics import Metric
from mdnmt.config.paper import TableRow
from mdnmt.config.task import Name
from mdnmt.errors import ConfigError

# Seeds are below this: numpy's largest seed is kept for loading models (train/device.py).
MAX_SEED = 2**32 - 1
MAX_SEEDS = 1000  # of a study: a larger number is probably a seed, given as their number


class Overrides(Frozen):
    """Options that a study sets for methods."""

    architecture: dict[str, Any] = Field({}, description="options of the builder, such as model_dim")
    training: dict[str, Any] = Field({}, description="options of the recipe (Training)")


class SetOptions(Overrides):
    """What an entry of `options` sets."""

    learning_rates: RatesFrom | None = Field(
        None, description="a learning rate for each method that a sweep chose one for; above `training`"
    )


class Match(Frozen):
    """Which runs an entry of `options` is about: those that agree with all its keys."""

    method: str | tuple[str, ...] | None = Field(
        None, description="a method or variant, or a list; a variant also agrees with the method that it starts from"
    )
    family: str | tuple[str, ...] | None = Field(None, description="a file of config/methods/, or a list")
    task: str | tuple[str, ...] | None = Field(
        None, description="a task, or a list; a task of `stand_ins` agrees with the name of the one that it replaces"
    )


class StudyOptions(Frozen):
    """Options that a study sets for the runs that match; a later entry overrides an earlier one."""

    match: Match = Field(Match(), description="none: all runs, but those of pretrained weights")
    set: SetOptions = Field(description="the options")


class Variant(Overrides):
    """A method with other options, above `options`: a point of a sweep, or an ablation. It is a row of its own."""

    method: str = Field(description="of config/methods/")
    label: str | None = Field(None, min_length=1, description="as printed in tables; null: the method's own")


class StudyExhibit(Frozen):
    """A table or figure of a paper, made from a task of this study."""

    task: str = Field(description="a file of config/tasks/")


class StudyTable(StudyExhibit):
    """A table of a paper, with room for methods that the paper does not have."""

    rows: tuple[TableRow, ...] = Field((), description="of your own, behind those of the paper")
    metrics: tuple[Metric, ...] = Field((), description="in place of the paper's; none: the paper's")


class StudyFigure(StudyExhibit):
    """A figure of a paper, with the paper's systems or others."""

    methods: tuple[str, ...] = Field((), description="in place of the paper's; none: the paper's")


class Comparison(Frozen):
    """What is compared with what, and how (docs/how-we-judge.md)."""

    baseline: str = Field("mixed", description="the method that all others are compared with")
    num_resamples: int = Field(1000, gt=0, description="of the paired bootstrap; more where the correction needs them")
    num_trials: int = Field(10_000, gt=0, description="of approximate randomisation; more where it needs them")
    correction: Literal["holm", "none"] = Field(
        "holm",
        description="correction of a table's stars; none: the papers' own stars, by an uncorrected bootstrap",
    )
    margin: Margin = Field(Margin(), description="differences from published numbers that do not matter")


class AnalysisConfig(Frozen):
    """How much text the analyses look at; part of their identity."""

    proportion_sentences: int = Field(200, gt=0, description="validation sentences a domain, for the histograms")
    vector_sentences: int = Field(250, gt=0, description="test sentences a domain, for t-SNE")
    sample_sentences: int = Field(20, gt=0, description="validation sentences a domain that a heat map may show")


class ExternalSystem(Frozen):
    """A system that is not trained here: its translations become a row of tables, scored and tested like any other."""

    label: str = Field(min_length=1, description="as printed in tables")
    provenance: str = Field(
        min_length=1,
        description="in free text, shown as it is: who translated, with which system, when, under which licence, and "
        "where the translations are published",
    )
    model: str | None = Field(None, min_length=1, description="the model or service, with its version")
    date: datetime.date | None = Field(None, description="when it translated, YYYY-MM-DD: services change")
    prompt: str | None = Field(None, min_length=1, description="of a language model, word by word")
    contamination: str = Field(
        "unknown", min_length=1, description="whether its training data hold the test text, and how that is known"
    )
    hypotheses: dict[Name, str | tuple[str, ...]] = Field(
        min_length=1,
        description="task -> folder with hyp.<domain>.txt (one translation a line, in the order of the test set) or "
        "hyp.<domain>.tsv (sha256 of the source line, tab, translation); a list: one folder for each seed",
    )
    tables: tuple[str, ...] = Field(
        (),
        description="of the study, that have a row for it; none: all tables of test scores of its tasks",
    )
    redistributable: bool = Field(
        False, description="the licence lets anybody pass the translations on; a bundle has no table with others"
    )

    @field_validator("provenance", "model", "prompt", "contamination")
    @classmethod
    def _is_text(cls, text: str | None) -> str | None:
        if text is not None and (not text.strip() or not all(line.isprintable() for line in text.split("\n"))):
            raise ValueError("this is text for people: expected words, without control characters")
        return text.strip() if text is not None else None

    @property
    def known(self) -> tuple[str, ...]:
        """Return all that is known of the system, for notes and the page."""
        facts = {"model": self.model, "date": self.date, "prompt": self.prompt}
        said = (f"{name}: {value}" for name, value in facts.items() if value is not None)
        return self.provenance, *said, f"test text in its training data: {self.contamination}"

    @field_validator("hypotheses")
    @classmethod
    def _folders_are_named(cls, hypotheses: dict[str, str | tuple[str, ...]]) -> dict[str, str | tuple[str, ...]]:
        for task, found in hypotheses.items():
            folders = (found,) if isinstance(found, str) else found
            if not folders or not all(folders) or len(set(folders)) < len(folders):
                raise ValueError(f"{task}: expected a folder, or a list of different folders, one for each seed")
        return hypotheses

    def folders(self, task: str) -> tuple[str, ...]:
        """Return the folders of a task, one for each output; none if the system has not translated it."""
        found = self.hypotheses.get(task, ())
        return (found,) if isinstance(found, str) else found


def _sensible_seeds(seeds: int | tuple[int, ...]) -> int | tuple[int, ...]:
    if isinstance(seeds, int):
        wrong = not 1 <= seeds <= MAX_SEEDS
    else:
        wrong = not seeds or min(seeds) < 0 or max(seeds) >= MAX_SEED or len(set(seeds)) != len(seeds)
    if wrong:
        raise ValueError(
            f"seeds are a number from 1 to {MAX_SEEDS}, or a list of different numbers from 0, below {MAX_SEED}"
        )
    return seeds


SeedNumbers = Annotated[int | tuple[int, ...], AfterValidator(_sensible_seeds)]


class Seeds(Frozen):
    """Which seeds each run is trained with."""

    seeds: SeedNumbers = Field(1, description="how many (1, 2, ...), or a list of them")
    seeds_of: dict[Name, SeedNumbers] = Field(
        {}, description="method or variant -> its seeds, if not `seeds`; a baseline needs more of them"
    )

    def seeds_for(self, method: str) -> tuple[int, ...]:
        """Return the seeds of a method or variant, also if only their number is given."""
        seeds = self.seeds_of.get(method, self.seeds)
        return tuple(range(1, seeds + 1)) if isinstance(seeds, int) else seeds


class StudyConfig(Seeds):
    """One file of config/studies/."""

    title: str = Field(description="of the report")
    description: str = Field(description="the first lines of the report")
    like: Name | tuple[Name, ...] | None = Field(
        None, description="the study to inherit from; of a list of studies, a later one wins"
    )
    inherit: tuple[str, ...] = Field((), description="the keys that are inherited; none: all")
    tasks: tuple[str, ...] = Field((), description="each with all methods; none: those that tables and figures name")
    methods: tuple[str, ...] = Field((), description="none: those that the tables and figures of a task name")
    stand_ins: dict[Name, Name] = Field({}, description="task -> the task that tables and figures get in its place")
    use_recipes: bool = Field(False, description="of each task's paper (`of` in its file), beneath `options`")
    options: tuple[StudyOptions, ...] = Field(
        (), description="of methods, over their files: entries in order, those of `like` first (docs/studies.md)"
    )
    rate_sweep: tuple[Rate, ...] = Field((), description="each of `methods` is trained with these learning rates too")
    variants: dict[Name, Variant] = Field({}, description="further methods: name -> a method and its other options")
    decoding: Decoding = Field(Decoding(), description="how test sets are translated")
    comparison: Comparison = Field(Comparison(), description="the baseline, and the significance tests")
    comet: CometConfig = Field(CometConfig(), description="the COMET model (docs/comet.md)")
    analysis: AnalysisConfig = Field(AnalysisConfig(), description="how much text figures look at")
    copy_source: bool = Field(True, description="a row that copies the source, to hold the others against")
    external: dict[Name, ExternalSystem] = Field(
        {}, description="name -> a system that is not trained here, with its translations (docs/external.md)"
    )
    measure_repeats: int = Field(3, gt=0, description="of time and memory; the median is shown")
    tables: dict[str, StudyTable] = Field({}, description="<paper>-<table>")
    figures: dict[str, StudyFigure] = Field({}, description="<paper>-<figure>")
    claims_without: tuple[str, ...] = Field(
        (), description="<paper>-<table> that this study leaves out: a claim on several tables is decided on the others"
    )

    @field_validator("inherit")
    @classmethod
    def _keys_exist(cls, keys: tuple[str, ...]) -> tuple[str, ...]:
        for key in keys:
            if key not in cls.model_fields:
                raise ValueError(f"{key!r} is no key of a study{did_you_mean(key, cls.model_fields)}")
        return keys

    @field_validator("tasks", "methods")
    @classmethod
    def _names_are_unique(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} is in the list {names.count(twice[0])} times; name it once")
        return names

    @property
    def seed_list(self) -> tuple[int, ...]:
        """Return the seeds of all methods that `seeds_of` does not name."""
        return self.seeds_for("")


@dataclass(frozen=True)
class StudyFiles:
    """The file of a study, and those that it inherits from.

    Attributes:
        parts: (file, those of its keys that are used); a later one overrides earlier ones, and the last is the study's.
    """

    parts: tuple[tuple[Path, dict[str, Any]], ...]

    @property
    def path(self) -> Path:
        """Return the study's own file."""
        return self.parts[-1][0]

    @property
    def entries(self) -> list[tuple[Path, int]]:
        """Return where each entry of `options` is: its file, and its number there, from 0."""
        return [(path, number) for path, keys in self.parts for number in range(len(keys.get("options", ())))]

    def last_with(self, *keys: str) -> Path | None:
        """Return the last file that has these keys, each inside the one before it; None: no file has."""

        def has(value: Any) -> bool:
            for key in keys:
                if not isinstance(value, dict) or key not in value:
                    return False
                value = value[key]
            return True

        return next((path for path, content in reversed(self.parts) if has(content)), None)

    def config(self) -> StudyConfig:
        """Return the study: mappings merged key by key, `options` joined, any other value replaced by a later one.

        Raises:
            ConfigError: a mistake in one of the files.
        """
        merged: dict[str, Any] = {}
        for path, keys in self.parts:
            earlier, own = merged.get("options"), keys.get("options")
            merged = _merged(merged, keys, str(path))
            if isinstance(earlier, list) and isinstance(own, list):
                merged["options"] = [*earlier, *own]
        return validate_model(with_sweep(merged), StudyConfig, str(self.path))


def load_study(config_folder: Path, name: str) -> StudyConfig:
    """Return config/studies/<name>.yaml, laid over the studies that its key `like` names.

    Raises:
        ConfigError: there is no such file, it has a mistake, or studies inherit from each other in a circle.
    """
    return study_files(config_folder, name).config()


def study_files(config_folder: Path, name: str, above: tuple[str, ...] = ()) -> StudyFiles:
    """Return the files that make a study; `above` are the studies that inherit from it.

    Raises:
        ConfigError: there is no such file, or studies inherit from each other in a circle.
    """
    path = find_named(config_folder / "studies", name, "study")
    own = load_mapping(path)
    like, inherit = own.get("like"), own.get("inherit")
    found: list[tuple[Path, dict[str, Any]]] = []
    for base in like if isinstance(like, list) else [] if like is None else [like]:
        if not isinstance(base, str) or base in (*above, name):
            raise ConfigError(f"{path}: like: {base!r} leads back to this study; expected another one")
        with named_in(f"{path}: like"):
            parts = study_files(config_folder, base, (*above, name)).parts
        wanted = inherit if isinstance(inherit, list) and inherit else None
        found += [(file, {key: keys[key] for key in keys if wanted is None or key in wanted}) for file, keys in parts]
    return StudyFiles((*found, (path, own)))


def _merged(below: dict[str, Any], above: dict[str, Any], where: str) -> dict[str, Any]:
    found = dict(below)
    for key, value in above.items():
        if isinstance(found.get(key), dict) and value is None:
            raise ConfigError(f"{where}: {key}: found null; leave it out, and name the keys to inherit in `inherit`")
        if isinstance(found.get(key), dict) and isinstance(value, dict):
            found[key] = _merged(found[key], value, where)
        else:
            found[key] = value
    return found
