"""Resolve the names in a study's file to tasks and runs; what is unavailable is found here, before any job starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mdnmt.config.claims import OWN, Claim, check_claims, is_own, load_claims
from mdnmt.config.comet import CometConfig
from mdnmt.config.layers import Layer
from mdnmt.config.learning_rates import LearningRates, chosen_rates
from mdnmt.config.loader import named_in, validate_model
from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.config.paper import PaperConfig, load_paper, recipe_layers
from mdnmt.config.published import load_published
from mdnmt.config.run import RunSpec
from mdnmt.config.study import Seeds, StudyConfig, StudyFiles, study_files
from mdnmt.config.task import load_task
from mdnmt.corpora.availability import (
    first_downloads,
    needs_downloads,
    why_unavailable,
    with_fetched,
    with_placeholders,
)
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_lock import Lock, own_lock, read_lock
from mdnmt.corpora.task_corpora import check_own, corpora_of
from mdnmt.errors import ConfigError, DataError
from mdnmt.methods import code_of, pretrained
from mdnmt.plugins import use_folder_beside
from mdnmt.score.metrics.comet_files import COMET, plan
from mdnmt.studies.external_systems import check_shown, external_outputs
from mdnmt.studies.method_options import Options
from mdnmt.studies.model_checks import Model, check_built, check_started
from mdnmt.studies.study import Run, Study, Task
from mdnmt.studies.study_exhibits import (
    check_known,
    check_rows,
    load_papers,
    methods_of,
    table_variants,
    tasks_of,
    with_stand_ins,
)
from mdnmt.tasks.task_lock import LOCK as TASK_LOCK
from mdnmt.tasks.task_lock import read_task_lock
from mdnmt.tasks.task_spec import task_spec
from mdnmt.tasks.text import stanford_segmenter
from mdnmt.workspace import config_file


def resolve(
    config_folder: Path,
    name: str,
    corpora_folder: Path,
    seeds: int | tuple[int, ...] | None = None,
    *,
    provisional: bool = False,
) -> Study:
    """Return the study `name` with all its tasks and runs.

    Args:
        config_folder: the project's config/.
        name: of the study.
        corpora_folder: the folder of fetched corpora.
        seeds: overrides the study's number of seeds, or its list of them.
        provisional: tasks that wait for first downloads get placeholder addresses.

    Raises:
        ConfigError: a mistake in a file that the study names; something that is only unavailable raises no error.
    """
    return resolve_options(config_folder, name, corpora_folder, seeds, provisional=provisional)[0]


def resolve_options(
    config_folder: Path,
    name: str,
    corpora_folder: Path,
    seeds: int | tuple[int, ...] | None = None,
    *,
    provisional: bool = False,
) -> tuple[Study, Options]:
    """Return a study and where the options of its runs come from; arguments and errors as in `resolve`."""
    files = study_files(config_folder, name)
    config = with_stand_ins(files.config())
    if seeds is not None:
        said = validate_model({"seeds": seeds}, Seeds, "config/config.yaml or --config seeds")
        config = config.model_copy(update=dict(said))  # `seeds_of` too: what is asked for now is for all methods
    where = str(files.path)
    use_folder_beside(config_folder)
    with named_in(where):
        papers = load_papers(config_folder, config, where)
    for path in (config_file(config_folder, TASK_LOCK), own_lock(config_folder / TASK_LOCK)):
        read_task_lock(path)  # only jobs need it, but a mistake in it is reported before they start
    index = MethodIndex(config_folder)
    _variants_are_new(index, config, where)
    of_tables = table_variants(config, papers)
    added = {name: variant for name, (_, variant) in of_tables.items()}
    config = config.model_copy(update={"variants": {**config.variants, **added}})
    wanted = {task: methods_of(config, papers, task) for task in tasks_of(config)}
    _something_is_made(wanted, where)
    with named_in(where):
        methods = _methods(index, config, wanted)
    check_known([config.comparison.baseline], methods, f"{where}: comparison.baseline")
    if methods[config.comparison.baseline].train_on == "each":
        raise ConfigError(
            f"{where}: comparison.baseline: {config.comparison.baseline!r} is one run a domain, so nothing can be "
            "compared with it on all domains; expected a method with train_on: all"
        )
    check_known(config.seeds_of, methods, f"{where}: seeds_of")
    for method in methods:
        _start_is_there(method, methods, config, where)
    lock = read_lock(config_folder)
    with named_in(where):
        tasks = {task: _task(config_folder, task, corpora_folder, lock, provisional) for task in wanted}
    _tasks_are_there(config, tasks, where)
    check_rows(config_folder, config, papers, {name: method.train_on for name, method in methods.items()}, where)
    external = external_outputs(config, tasks, where)
    check_shown(config, papers, {*index.names, *methods}, tasks, where)
    options = Options(
        config,
        files,
        methods,
        index,
        {name: key for name, (key, _) in of_tables.items()},
        _recipes(config_folder, config, tasks, papers, index),
        _rates(config_folder, config, files),
    )
    options.check_matches(tasks)
    runs = tuple(
        run for task, names in wanted.items() for method in names for run in _runs(options, tasks[task], method, where)
    )
    decoding = {task: options.decoding(tasks[task]) for task in tasks}
    published = {paper: load_published(config_folder, paper) for paper in papers}
    comet, no_comet = _comet(config)
    claims = {paper: _claims(config_folder, paper, papers[paper], index) for paper in papers}
    rates = next((table for table, _ in reversed(options.rates.values())), None)
    study = Study(
        name, config, tasks, methods, papers, published, claims, decoding, comet, no_comet, runs, rates, external
    )
    return study, options


def _claims(config_folder: Path, name: str, paper: PaperConfig, methods: MethodIndex) -> dict[str, Claim]:
    if not config_file(config_folder, f"claims/{name}.yaml").is_file():
        return {}
    claims = load_claims(config_folder, name)
    names_ours = any(is_own(use.exhibit) for claim in claims.values() for rule in claim.rules for use in rule.uses())
    own = load_paper(config_folder, OWN) if names_ours else None
    check_claims(claims, paper, methods.names, f"{config_folder}/claims/{name}.yaml", own)
    return claims


def _comet(config: StudyConfig) -> tuple[CometConfig, str | None]:
    """Return COMET's configuration, with the checksum of its files, and why COMET cannot score, if it cannot."""
    cache = ChecksumCache(COMET / "sha256.json")
    found = plan(config.comet, COMET, cache.sha256)
    cache.save()
    return found


def _something_is_made(wanted: dict[str, tuple[str, ...]], where: str) -> None:
    if not any(wanted.values()):
        raise ConfigError(f"{where}: nothing is asked for; expected `tasks` and `methods`, or `tables` or `figures`")


def _methods(index: MethodIndex, config: StudyConfig, wanted: dict[str, tuple[str, ...]]) -> dict[str, MethodConfig]:
    """Return all methods of the study; a variant has its own name and label."""
    found: dict[str, MethodConfig] = {}
    for name in dict.fromkeys(name for names in wanted.values() for name in names):
        variant = config.variants.get(name)
        method = index.load(variant.method if variant else name)
        found[name] = method.model_copy(update={"label": variant.label}) if variant and variant.label else method
    return found


def _variants_are_new(index: MethodIndex, config: StudyConfig, where: str) -> None:
    for name, variant in config.variants.items():
        if variant.label is None:
            raise ConfigError(f"{where}: variants.{name}.label is missing; without it two rows have the same name")
        if name in index.names:
            raise ConfigError(f"{where}: variants.{name}: there is a method of this name; give the variant another one")
        if name in config.methods:
            raise ConfigError(f"{where}: methods: {name} is a variant and is trained anyway; remove it here")


def _recipes(
    config_folder: Path,
    config: StudyConfig,
    tasks: dict[str, Task],
    papers: dict[str, PaperConfig],
    methods: MethodIndex,
) -> dict[str, dict[str | None, tuple[Layer, ...]]]:
    """Return task -> method -> the layers of its recipe in the task's paper, if the study uses recipes."""
    if not config.use_recipes:
        return {}
    of = {name: task.config.of for name, task in tasks.items() if task.config.of is not None}
    found = {
        paper: recipe_layers(config_folder, paper, papers.get(paper) or load_paper(config_folder, paper), methods)
        for paper in dict.fromkeys(of.values())
    }
    return {name: found[paper] for name, paper in of.items()}


def _rates(
    config_folder: Path, config: StudyConfig, files: StudyFiles
) -> dict[int, tuple[LearningRates, dict[str, str]]]:
    """Return entry of `options` -> the learning rates that it takes from a sweep; a sweep itself takes none."""
    found = {}
    for number, (entry, (file, place)) in enumerate(zip(config.options, files.entries, strict=True)):
        if entry.set.learning_rates is not None and not config.rate_sweep:
            where = f"{file}: options.{place}.set.learning_rates"
            found[number] = chosen_rates(config_folder, entry.set.learning_rates, where)
    return found


def _tasks_are_there(config: StudyConfig, tasks: dict[str, Task], where: str) -> None:
    for kind, shown in (("tables", config.tables), ("figures", config.figures)):
        for key, choice in shown.items():
            if choice.task not in tasks:
                raise ConfigError(f"{where}: {kind}.{key}.task: {choice.task!r} is none of the study's tasks")


def _start_is_there(name: str, methods: dict[str, MethodConfig], config: StudyConfig, where: str) -> None:
    start = methods[name].initialise_from
    if start is None:
        return
    if start not in methods:
        raise ConfigError(
            f"{where}: methods: {name!r} starts from the trained model of {start!r}, which is none of the study's "
            "methods; add it to them"
        )
    foreign = any(pretrained(methods[one].builder) is not None for one in (name, start))
    if foreign or methods[start].train_on == "each" or methods[start].initialise_from is not None:
        raise ConfigError(
            f"{where}: methods: {name!r} starts from {start!r}; expected a method with train_on: all that starts from "
            "none itself, and neither of them pretrained"
        )
    if lacking := set(config.seeds_for(name)) - set(config.seeds_for(start)):
        raise ConfigError(
            f"{where}: seeds_of: {name!r} with seed {min(lacking)} starts from {start!r} with the same seed, which is "
            f"none of that method's seeds {list(config.seeds_for(start))}"
        )


def _task(config_folder: Path, name: str, corpora_folder: Path, lock: Lock, provisional: bool) -> Task:
    config = load_task(config_folder, name)
    with named_in(f"{config_folder}/tasks/{name}.yaml"):
        corpora = corpora_of(config_folder, config)
    try:
        check_own(config)
    except DataError as error:
        return Task(name, config, corpora, None, f"needs your own text: {error}")
    lock = with_fetched(lock, corpora, corpora_folder)
    missing = why_unavailable(corpora, corpora_folder, lock)
    tokenizers = [config.segmentation.tokenizer_of(lang) for lang in (config.source_lang, config.target_lang)]
    if missing is None and stanford_segmenter.NAME in tokenizers:
        missing = stanford_segmenter.why_missing()
    new = first_downloads(corpora, lock) if missing is None else ()
    if new and not provisional:
        return Task(name, config, corpora, None, needs_downloads(new), new)
    if missing is None:
        try:
            known = with_placeholders(lock, corpora) if new else lock
            spec = task_spec(name, config, corpora, corpora_folder / "sha256.json", known)
            return Task(name, config, corpora, spec, None, new)
        except ConfigError as error:
            raise ConfigError(f"{config_folder}/tasks/{name}.yaml: {error}") from None
        except DataError as error:
            missing = f"needs good data: {error}"
    return Task(name, config, corpora, None, missing)


def _buildable(options: Options, task: Task, name: str, architecture: dict[str, Any], where: str) -> None:
    """Check that the model can be built, and that its initial weights, if any, fit it; on the meta device."""
    method = options.methods[name]
    if pretrained(method.builder) is not None:
        return

    def model(of: str, built: dict[str, Any]) -> Model:
        joint = task.config.vocabulary.joint
        return Model.of(options.methods[of].builder, built, len(task.config.domains), joint=joint)

    start = method.initialise_from
    try:
        check_built(model(name, architecture))
        if start is not None:
            check_started(model(name, architecture), model(start, options.architecture(task, start)[0]), start)
    except ConfigError as error:
        raise ConfigError(f"{where}: {name}, task {task.name}: {error}") from None


def _runs(options: Options, task: Task, name: str, where: str) -> list[Run]:
    method = options.methods[name]
    start = method.initialise_from
    started = {run.seed: run for run in _runs(options, task, start, where)} if start is not None else {}
    all_domains = tuple(task.config.domains)
    architecture, missing = options.architecture(task, name)
    training = options.training(task, name)
    _buildable(options, task, name, architecture, where)
    subsets = [all_domains] if method.train_on == "all" else [(domain,) for domain in all_domains]
    runs = []
    for domains in subsets:
        directory = name if method.train_on == "all" else f"{name}-{domains[0]}"
        label = method.label.replace("{domain}", task.label(domains[0]))
        for seed in options.config.seeds_for(name):
            planned = RunSpec(
                task_fingerprint=task.fingerprint,
                builder=method.builder,
                architecture=architecture,
                training=training,
                domains=domains,
                seed=seed,
                initial_run=started[seed].fingerprint if started else None,
                code=dict(code_of(method.builder, architecture)),
            )
            runs.append(Run(task.name, name, directory, label, domains, seed, planned, missing))
    return runs
