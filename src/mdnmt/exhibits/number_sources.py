"""List the files with the numbers that a study's tables and figures are made from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mdnmt.config.decoding import Labels
from mdnmt.config.metrics import METRICS
from mdnmt.exhibits.comparison import is_tested
from mdnmt.exhibits.shown_files import shown_files
from mdnmt.exhibits.task_selection import measured_runs
from mdnmt.numbers.sources import EXTERNAL, NumberSource, NumberSources, System
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import COPY, Run, Study

_SCORE_FILES = dict.fromkeys(about.file for name, about in METRICS.items() if name != "comet")


def number_sources(study: Study, places: ResultPaths) -> NumberSources:
    """Return the files with all numbers of the study: what its tables and figures read and measure.

    No file is made just for this. Large things, such as sentence vectors, stay in their files.
    """

    def sources() -> NumberSources:
        shown = set(shown_files(study, places))
        found = (*_of_runs(study, places), *_of_tasks(study, places), *_external(study, places))
        known = (source for source in found if source.path in shown)
        return NumberSources(sources=(*known, *_of_exhibits(study, places)))

    return study.once(("numbers", places), sources)


def _of_exhibits(study: Study, places: ResultPaths) -> Iterator[NumberSource]:
    """Yield the tests of tables, and what figures measured."""
    for key, table in study.config.tables.items():
        if is_tested(study, key):
            systems = _systems(study, table.task, places)
            yield NumberSource(
                kind="significance",
                path=Path(places.significance(key)),
                task=table.task,
                label_condition="gold",
                split="test",
                systems=systems,
            )
    for key, figure in study.config.figures.items():
        systems = _systems(study, figure.task, places)
        yield NumberSource(kind="measures", path=Path(places.figure(key, "json")), task=figure.task, systems=systems)


def _systems(study: Study, task: str, places: ResultPaths) -> dict[str, System]:
    """Return the systems of a task by their names in files."""
    found: dict[str, System] = {}
    for run in study.makeable(task):
        about = _about(study, run, places)
        known = found.get(run.directory, System(method=str(about["method"]), variant=str(about["variant"])))
        found[run.directory] = known.model_copy(update={"runs": {**known.runs, run.seed: Path(places.run(run))}})
    external = {one.system: System(method=one.system, variant=EXTERNAL) for one in study.external if one.task == task}
    return {**found, **external}


def _of_runs(study: Study, places: ResultPaths) -> Iterator[NumberSource]:
    for run in study.makeable():
        about = _about(study, run, places)
        for one in translations_of(study, run):
            of_test = {**about, "label_condition": _condition(one.labels), "split": one.split}
            for path in [*(f"{places.test(one)}/{name}" for name in _SCORE_FILES), places.comet(one)]:
                yield NumberSource.model_validate({"kind": "scores", "path": path, **of_test})
        yield NumberSource.model_validate({"kind": "curves", "path": f"{places.run(run)}/curves.tsv", **about})


def _of_tasks(study: Study, places: ResultPaths) -> Iterator[NumberSource]:
    for task in study.tasks.values():
        if task.spec is None:
            continue
        copied = Path(places.copied(task.name), "scores.json")
        yield NumberSource(kind="scores", path=copied, task=task.name, method=COPY, split="test")
        for run in measured_runs(study, task.name):
            about = _about(study, run, places)
            yield NumberSource.model_validate({"kind": "resources", "path": places.measure(task.name), **about})


def _external(study: Study, places: ResultPaths) -> Iterator[NumberSource]:
    for output in study.external:
        for file in (*_SCORE_FILES, f"comet-{study.comet_fingerprint}.json"):
            yield NumberSource(
                kind="scores",
                path=Path(places.external(output), file),
                task=output.task,
                method=output.system,
                variant=EXTERNAL,
                seed=output.number,
                split="test",
            )


def _about(study: Study, run: Run, places: ResultPaths) -> dict[str, object]:
    """Return what is known about a run; a variant of a study has its own name beside that of its method."""
    variant = study.config.variants.get(run.method)
    method = variant.method if variant else run.method
    own = run.directory if run.directory != method else ""
    return {"task": run.task, "method": method, "variant": own, "seed": run.seed, "run": places.run(run)}


def _condition(labels: Labels) -> str:
    return "gold" if labels == "given" else labels
