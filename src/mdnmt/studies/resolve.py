"""From the names in a study's file to tasks and runs; what cannot be had is found here, before anything is made."""

from __future__ import annotations

from pathlib import Path

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
    _known(config.per_method, methods, f"{where}: per_method")
    _known([config.comparison.baseline], methods, f"{where}: comparison.baseline")
    if methods[config.comparison.baseline].train_on == "each":
        raise ConfigError(
            f"{where}: comparison.baseline: {config.comparison.baseline!r} is one run a domain, so nothing can be "
            "compared with it on all domains; expected a method with train_on: all"
        )
    tasks = {task: _task(config_folder, task, corpora_folder) for task in config.tasks}
    papers = _papers(config_folder, config, tasks, where)
    runs = tuple(
        run
        for task in tasks.values()
        for name_of_method, method in methods.items()
        for run in _runs(config, task, name_of_method, method, where)
    )
    return Study(name, config, tasks, methods, papers, runs)


def _known(names: object, known: dict[str, MethodConfig], where: str) -> None:
    for name in names:  # type: ignore[attr-defined]
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"{where}: {name!r} is none of the study's methods{hint}; they are: {', '.join(known)}")


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


def _runs(config: StudyConfig, task: Task, name: str, method: MethodConfig, where: str) -> list[Run]:
    all_domains = tuple(task.config.domains)
    own = config.per_method.get(name, Overrides())
    architecture = validate(
        method.builder,
        {**method.architecture, **config.all_methods.architecture, **own.architecture},
        where=f"{where}: {name}",
    ).model_dump(mode="json")
    if architecture["share_embeddings"] == "all" and not task.config.vocabulary.joint:
        raise ConfigError(
            f"{where}: {name}: architecture.share_embeddings: found 'all', but task {task.name} has two vocabularies; "
            "expected decoder or none, or vocabulary.joint: true in the task's file"
        )
    training = validate_model(
        {**method.training, **config.all_methods.training, **own.training}, Training, f"{where}: {name}: training"
    )
    subsets = [all_domains] if method.train_on == "all" else [(domain,) for domain in all_domains]
    runs = []
    for domains in subsets:
        directory = name if method.train_on == "all" else f"{name}-{domains[0]}"
        label = method.label if method.train_on == "all" else f"{domains[0].capitalize()} only"
        for seed in config.seed_list:
            spec = None
            if task.spec is not None:
                spec = RunSpec(
                    task_fingerprint=task.spec.fingerprint,
                    builder=method.builder,
                    architecture=architecture,
                    training=training,
                    domains=domains,
                    seed=seed,
                )
            runs.append(Run(task.name, name, directory, label, domains, seed, spec, task.missing))
    return runs
