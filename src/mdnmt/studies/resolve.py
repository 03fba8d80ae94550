"""From the names in a study's file to tasks and runs; what cannot be had is found here, before anything is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.config.method import MethodConfig, load_method
from mdnmt.config.paper import PaperConfig, load_paper
from mdnmt.config.run import RunSpec
from mdnmt.config.study import Overrides, StudyConfig, load_study
from mdnmt.config.task import load_task
from mdnmt.config.training import Training
from mdnmt.corpora.availability import why_missing
from mdnmt.errors import ConfigError, DataError
from mdnmt.methods import validate
from mdnmt.pretrained.config import BUILDER as PRETRAINED_BUILDER
from mdnmt.pretrained.config import validate as validate_pretrained
from mdnmt.pretrained.files import PRETRAINED, plan
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
    _choices_are_of_a_kind(config_folder, config, papers, methods)
    runs = tuple(
        run
        for task in tasks.values()
        for name_of_method in methods
        for run in _runs(config, task, name_of_method, methods, where)
    )
    return Study(name, config, tasks, methods, papers, runs)


def _known(names: object, known: dict[str, MethodConfig], where: str) -> None:
    for name in names:  # type: ignore[attr-defined]
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"{where}: {name!r} is none of the study's methods{hint}; they are: {', '.join(known)}")


def _variants(config_folder: Path, config: StudyConfig, where: str) -> dict[str, MethodConfig]:
    """Return the study's variants as methods; their options are added with all others, in `_own`."""
    for name in config.variants:
        if name in config.methods or (config_folder / "methods" / f"{name}.yaml").is_file():
            raise ConfigError(f"{where}: variants.{name}: there is a method of this name; give the variant another one")
    return {
        name: load_method(config_folder, variant.method).model_copy(update={"label": variant.label})
        for name, variant in config.variants.items()
    }


def _own(config: StudyConfig, name: str) -> Overrides:
    """Return what the study sets for one method alone: for a variant, behind what it sets for the variant's method."""
    variant = config.variants.get(name)
    layers = [config.per_method.get(variant.method), variant] if variant else []
    found = [layer for layer in (*layers, config.per_method.get(name)) if layer is not None]
    return Overrides(
        architecture={key: value for layer in found for key, value in layer.architecture.items()},
        training={key: value for layer in found for key, value in layer.training.items()},
    )


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
    reasons = [why_missing(corpus, corpora_folder / corpus_name) for corpus_name, corpus in corpora.items()]
    missing = next((reason for reason in reasons if reason), None)
    if missing is None:
        try:
            return Task(name, config, corpora, task_spec(name, config, corpora, corpora_folder / "sha256.json"), None)
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


def _choices_are_of_a_kind(
    config_folder: Path, config: StudyConfig, papers: dict[str, PaperConfig], methods: dict[str, MethodConfig]
) -> None:
    for key in config.tables:
        paper, _, item = key.partition("-")
        for row in papers[paper].tables[item].rows:
            known = {name: methods[name].train_on for name in row.best_of or () if name in methods}
            if len(set(known.values())) > 1:
                raise ConfigError(
                    f"{config_folder}/papers/{paper}.yaml: tables.{item}: best_of: "
                    f"{', '.join(f'{name} has train_on: {kind}' for name, kind in known.items())}; "
                    "expected methods that are trained alike"
                )


def _pretrained(task: Task, options: dict[str, Any], where: str) -> tuple[dict[str, Any], str | None]:
    """Return the options with the weights' identity, and why the run cannot be made, if it cannot."""
    config, missing = plan(
        validate_pretrained(options, where=where),
        PRETRAINED,
        source_lang=task.config.source_lang,
        target_lang=task.config.target_lang,
    )
    return config.model_dump(mode="json"), task.missing or missing


def _runs(config: StudyConfig, task: Task, name: str, methods: dict[str, MethodConfig], where: str) -> list[Run]:
    method = methods[name]
    start = method.initialise_from
    started = {run.seed: run for run in _runs(config, task, start, methods, where)} if start is not None else {}
    all_domains = tuple(task.config.domains)
    own = _own(config, name)
    if method.builder == PRETRAINED_BUILDER:
        # What a study sets for all methods are sizes and a recipe for models that it trains from nothing.
        shared = Overrides()
        architecture, missing = _pretrained(task, {**method.architecture, **own.architecture}, f"{where}: {name}")
    else:
        shared, missing = config.all_methods, task.missing
        architecture = validate(
            method.builder,
            {**method.architecture, **shared.architecture, **own.architecture},
            where=f"{where}: {name}",
        ).model_dump(mode="json")
    if architecture.get("share_embeddings") == "all" and not task.config.vocabulary.joint:
        raise ConfigError(
            f"{where}: {name}: architecture.share_embeddings: found 'all', but task {task.name} has two vocabularies; "
            "expected decoder or none, or vocabulary.joint: true in the task's file"
        )
    training = validate_model(
        {**method.training, **shared.training, **own.training}, Training, f"{where}: {name}: training"
    )
    subsets = [all_domains] if method.train_on == "all" else [(domain,) for domain in all_domains]
    runs = []
    for domains in subsets:
        directory = name if method.train_on == "all" else f"{name}-{domains[0]}"
        label = method.label.replace("{domain}", domains[0].capitalize())
        for seed in config.seed_list:
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
