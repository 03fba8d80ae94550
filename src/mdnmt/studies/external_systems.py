"""Systems of a study that are not trained here: their files, and the tables with a row for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mdnmt.config.loader import did_you_mean
from mdnmt.config.paper import PaperConfig, PaperTable
from mdnmt.config.study import StudyConfig
from mdnmt.errors import ConfigError, DataError
from mdnmt.score.test_sets import load_test_sets
from mdnmt.studies.external_translations import align_folder, check_count, read_folder
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import COPY, ExternalOutput, Study, Task
from mdnmt.studies.study_exhibits import table_of


def external_outputs(config: StudyConfig, tasks: dict[str, Task], where: str) -> tuple[ExternalOutput, ...]:
    """Return all translations from elsewhere that a study names, each file read and checked.

    Args:
        config: the study.
        tasks: its tasks.
        where: the study's file.

    Raises:
        ConfigError: there is no such task, or a file is missing or has the wrong number of lines.
    """
    found: list[ExternalOutput] = []
    for name, system in config.external.items():
        for task in system.hypotheses:
            place = f"{where}: external.{name}.hypotheses"
            if task not in tasks:
                hint = did_you_mean(task, tasks)
                raise ConfigError(f"{place}: {task!r} is none of the study's tasks{hint}; they are: {', '.join(tasks)}")
            outputs: list[ExternalOutput] = []
            for number, folder in enumerate(system.folders(task), start=1):
                output = ExternalOutput(name, task, number, system, Path(folder), {})
                try:
                    output = replace(output, sums=_sums(output, tasks[task]))
                except DataError as error:
                    raise ConfigError(f"{place}.{task}: {error}") from None
                if same := [one for one in outputs if one.sums == output.sums]:
                    raise ConfigError(
                        f"{place}.{task}: {folder} has the same translations as {same[0].folder}; expected one folder "
                        "for each seed"
                    )
                outputs.append(output)
            found += outputs
    return tuple(found)


def _sums(output: ExternalOutput, task: Task) -> dict[str, str]:
    """Return name -> sha256 of the files of an output; their counts are compared with those that the task asks for."""
    texts = read_folder(output.folder, task.config.domains)
    for domain, text in texts.items():
        if (expected := task.config.domains[domain].test) is not None:
            check_count(text, expected, f"task {task.name} has {expected} test sentences of {domain}")
    return {text.path.name: text.sha256 for text in texts.values()}


def check_external(study: Study, places: ResultPaths) -> None:
    """Compare translations from elsewhere with the test sets of tasks that are built.

    The job that imports them checks this too, but other jobs of the study may have trained for long by then.

    Raises:
        ConfigError: translations do not fit a test set.
    """
    for output in study.external:
        folder = Path(places.task(output.task))
        if (folder / "task.json").is_file():
            try:
                test_sets = load_test_sets(folder)
                for domain in test_sets.domains:
                    test_sets.sources(domain)
            except DataError:
                continue  # a damaged task: the first job that reads it reports it
            try:
                align_folder(test_sets, output.folder)
            except DataError as error:
                raise ConfigError(f"external.{output.system}.hypotheses.{output.task}: {error}") from None


def check_shown(
    config: StudyConfig, papers: dict[str, PaperConfig], methods: Iterable[str], tasks: dict[str, Task], where: str
) -> None:
    """Raise an error if an external system has the name of another row, or no table shows what it translated.

    Args:
        config: the study.
        papers: those of its tables and figures.
        methods: all names that rows may have: of methods, and of variants.
        tasks: the study's tasks.
        where: the study's file.

    Raises:
        ConfigError: the name is taken, or no table shows the system; the message names it.
    """
    taken = {COPY, *methods}
    for name, system in config.external.items():
        place = f"{where}: external.{name}"
        domains = {domain for task in system.hypotheses if task in tasks for domain in tasks[task].config.domains}
        if name in taken or any(f"{method}-{domain}" == name for method in taken for domain in domains):
            raise ConfigError(f"{place}: a method has rows of this name; give the system another one")
        for key in system.tables:
            if key not in config.tables:
                hint = did_you_mean(key, config.tables)
                raise ConfigError(f"{place}.tables: {key!r} is none of the study's tables{hint}")
            if config.tables[key].task not in system.hypotheses:
                raise ConfigError(
                    f"{place}.tables: {key} is made from task {config.tables[key].task}, of which there are no "
                    "translations; add them to `hypotheses`"
                )
            if not takes_external(table_of(config, papers, key)):
                raise ConfigError(
                    f"{place}.tables: {key} has no room for it; expected tables of test scores under gold labels"
                )
        shown = {config.tables[key].task for key in _tables_with(config, papers, name)}
        if unused := [task for task in system.hypotheses if task not in shown]:
            raise ConfigError(
                f"{place}.hypotheses: no table of test scores is made from task {unused[0]}; give the study one, or "
                "leave the task out"
            )


def takes_external(table: PaperTable) -> bool:
    """Return whether a table can have rows of external systems, which have test translations and use no labels."""
    return table.kind == "scores" and table.split == "test" and all(row.labels == ("given",) for row in table.rows)


def external_of_table(study: Study, key: str) -> dict[str, list[ExternalOutput]]:
    """Return the external systems of a table, each with its outputs."""
    task, found = study.config.tables[key].task, dict[str, list[ExternalOutput]]()
    for output in study.external:
        if output.task == task and key in _tables_with(study.config, study.papers, output.system):
            found.setdefault(output.system, []).append(output)
    return found


def _tables_with(config: StudyConfig, papers: dict[str, PaperConfig], name: str) -> list[str]:
    """Return the tables that have a row for an external system."""
    system = config.external[name]
    if system.tables:
        return list(system.tables)
    return [
        key
        for key, shown in config.tables.items()
        if shown.task in system.hypotheses and takes_external(table_of(config, papers, key))
    ]
