"""From the names in a study's file to tasks and runs; what cannot be had is found here, before anything is made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.config.method import MethodConfig, load_method
from mdnmt.config.paper import PaperConfig, PaperTable, TableRow, load_paper
from mdnmt.config.run import RunSpec
from mdnmt.config.study import StudyConfig, load_study
from mdnmt.config.task import load_task
from mdnmt.corpora.availability import why_any_missing
from mdnmt.corpora.lock import read_lock
from mdnmt.errors import ConfigError, DataError
from mdnmt.pretrained.config import BUILDER as PRETRAINED_BUILDER
from mdnmt.studies.buildable import Model, check_built, check_started
from mdnmt.studies.options import Options
from mdnmt.studies.study import Run, Study, Task
from mdnmt.tasks.spec import task_spec


def resolve(config_folder: Path, name: str, corpora_folder: Path, seeds: int | tuple[int, ...] | None = None) -> Study:
    """Return the study `name` with all its tasks and runs.

    Args:
        config_folder: the project's config/.
        name: of the study.
        corpora_folder: where fetched corpora stand or will stand.
        seeds: overrides the study's number of seeds, or its list of them.

    Raises:
        ConfigError: a mistake in any file that the study names; what is merely not to be had is no mistake.
    """
    config = load_study(config_folder, name)
    if seeds is not None:
        config = validate_model({**config.model_dump(), "seeds": seeds}, StudyConfig, "--config seeds")
    where = f"{config_folder}/studies/{name}.yaml"
    methods = {method: load_method(config_folder, method) for method in config.methods}
    methods |= _variants(config_folder, config, where)
    _known(config.per_method, methods, f"{where}: per_method")
    _known([config.comparison.baseline], methods, f"{where}: comparison.baseline")
    if methods[config.comparison.baseline].train_on == "each":
        raise ConfigError(
            f"{where}: comparison.baseline: {config.comparison.baseline!r} is one run a domain, so nothing can be "
            "compared with it on all domains; expected a method with train_on: all"
        )
    for method in methods:
        _start_is_there(method, methods, where)
    tasks = {task: _task(config_folder, task, corpora_folder) for task in config.tasks}
    papers = _papers(config_folder, config, tasks, where)
    _rows_are_right(config_folder, config, papers, methods, where)
    options = Options(config, methods, where, config_folder / "methods")
    runs = tuple(run for task in tasks.values() for method in methods for run in _runs(options, task, method, where))
    return Study(name, config, tasks, methods, papers, runs)


def _known(names: object, known: dict[str, MethodConfig], where: str) -> None:
    for name in names:  # type: ignore[attr-defined]
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"{where}: {name!r} is none of the study's methods{hint}; they are: {', '.join(known)}")


def _variants(config_folder: Path, config: StudyConfig, where: str) -> dict[str, MethodConfig]:
    """Return the study's variants as methods; their options are added with all others, in `Options`."""
    for name in config.variants:
        if name in config.methods or (config_folder / "methods" / f"{name}.yaml").is_file():
            raise ConfigError(f"{where}: variants.{name}: there is a method of this name; give the variant another one")
    return {
        name: load_method(config_folder, variant.method).model_copy(update={"label": variant.label})
        for name, variant in config.variants.items()
    }


def _start_is_there(name: str, methods: dict[str, MethodConfig], where: str) -> None:
    start = methods[name].initialise_from
    if start is None:
        return
    if start not in methods:
        raise ConfigError(
            f"{where}: methods: {name!r} starts from the trained model of {start!r}, which is none of the study's "
            "methods; add it to them"
        )
    pretrained = PRETRAINED_BUILDER in (methods[name].builder, methods[start].builder)
    if pretrained or methods[start].train_on == "each" or methods[start].initialise_from is not None:
        raise ConfigError(
            f"{where}: methods: {name!r} starts from {start!r}; expected a method with train_on: all that starts from "
            "none itself, and neither of them pretrained"
        )


def _task(config_folder: Path, name: str, corpora_folder: Path) -> Task:
    config = load_task(config_folder, name)
    names = [corpus for domain in config.domains.values() for corpus in domain.corpora]
    corpora: dict[str, CorpusConfig] = {corpus: load_corpus(config_folder, corpus) for corpus in names}
    lock = read_lock(config_folder)
    missing = why_any_missing(corpora, corpora_folder, lock)
    if missing is None:
        try:
            spec = task_spec(name, config, corpora, corpora_folder / "sha256.json", lock)
            return Task(name, config, corpora, spec, None)
        except DataError as error:
            missing = f"needs good data: {error}"
    return Task(name, config, corpora, None, missing)


def _papers(config_folder: Path, config: StudyConfig, tasks: dict[str, Task], where: str) -> dict[str, PaperConfig]:
    papers: dict[str, PaperConfig] = {}
    for kind, shown in (("tables", config.tables), ("figures", config.figures)):
        for key, choice in shown.items():
            paper, _, item = key.partition("-")
            papers.setdefault(paper, load_paper(config_folder, paper))
            items = getattr(papers[paper], kind)
            if item not in items:
                hint = did_you_mean(item, items)
                raise ConfigError(f"{where}: {kind}.{key}: {paper} has no {item!r}{hint}; it has: {', '.join(items)}")
            if choice.task not in tasks:
                raise ConfigError(f"{where}: {kind}.{key}.task: {choice.task!r} is none of the study's tasks")
    return papers


def _rows_are_right(
    config_folder: Path,
    config: StudyConfig,
    papers: dict[str, PaperConfig],
    methods: dict[str, MethodConfig],
    where: str,
) -> None:
    for key, shown in config.tables.items():
        paper, _, item = key.partition("-")
        table, own = papers[paper].tables[item], f"{where}: tables.{key}.rows"
        _known([name for row in shown.rows for name in row.methods], methods, own)
        validate_model({**table.model_dump(), "rows": (*table.rows, *shown.rows)}, PaperTable, own)
        _choices_are_of_a_kind(shown.rows, methods, own)
        _choices_are_of_a_kind(table.rows, methods, f"{config_folder}/papers/{paper}.yaml: tables.{item}")


def _choices_are_of_a_kind(rows: Iterable[TableRow], methods: dict[str, MethodConfig], where: str) -> None:
    for row in rows:
        known = {name: methods[name].train_on for name in row.best_of or () if name in methods}
        if len(set(known.values())) > 1:
            kinds = ", ".join(f"{name} has train_on: {kind}" for name, kind in known.items())
            raise ConfigError(f"{where}: best_of: {kinds}; expected methods that are trained alike")


def _buildable(options: Options, task: Task, name: str, where: str) -> None:
    """Build the model without numbers, and start it from what it starts from."""
    method = options.methods[name]
    if method.builder == PRETRAINED_BUILDER:
        return

    def model(of: str) -> Model:
        architecture, _ = options.architecture(task, of)
        return Model.of(
            options.methods[of].builder, architecture, len(task.config.domains), joint=task.config.vocabulary.joint
        )

    start = method.initialise_from
    try:
        check_built(model(name))
        if start is not None:
            check_started(model(name), model(start), start)
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}, task {task.name}: {error}") from None


def _runs(options: Options, task: Task, name: str, where: str) -> list[Run]:
    method = options.methods[name]
    start = method.initialise_from
    started = {run.seed: run for run in _runs(options, task, start, where)} if start is not None else {}
    all_domains = tuple(task.config.domains)
    architecture, missing = options.architecture(task, name)
    training = options.training(name)
    _buildable(options, task, name, where)
    subsets = [all_domains] if method.train_on == "all" else [(domain,) for domain in all_domains]
    runs = []
    for domains in subsets:
        directory = name if method.train_on == "all" else f"{name}-{domains[0]}"
        label = method.label.replace("{domain}", domains[0].capitalize())
        for seed in options.config.seed_list:
            spec = None
            if task.spec is not None and missing is None:
                spec = RunSpec(
                    task_fingerprint=task.spec.fingerprint,
                    builder=method.builder,
                    architecture=architecture,
                    training=training,
                    domains=domains,
                    seed=seed,
                    initial_run=started[seed].fingerprint if started else None,
                )
            runs.append(Run(task.name, name, directory, label, domains, seed, spec, missing))
    return runs
