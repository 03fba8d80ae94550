"""Record a study's test text and exhibits in a bundle, each exhibit with its specification.

A specification names files below `results/` and holds the options, published numbers and claim rules of one exhibit.
`recompute` makes the exhibit from it. `mdnmt bundle` records the result, and `mdnmt verify` compares with it. Both work
in a folder into which the bundle was unpacked.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.config.claims import load_claims, without_tables
from mdnmt.config.loader import parse_spec
from mdnmt.errors import DataError
from mdnmt.exchange.bundle import RUNS, STUDIES, TASKS, Bundle, write_back
from mdnmt.exhibits import save_figure
from mdnmt.exhibits.comparison import comparison
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.registry import parse_figure, parse_table
from mdnmt.exhibits.shown_files import rule_inputs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.exhibits.tables.scores import ScoreTable
from mdnmt.numbers import table as numbers_table
from mdnmt.numbers.sources import NumberSources
from mdnmt.report.write_table import build
from mdnmt.score.significance.compare_systems import compare_systems
from mdnmt.statements.claims.decide import VERSION, decide
from mdnmt.statements.claims.outcome import Outcomes
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.studies.external_systems import external_of_table
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study, Task

SPECS = "specs.json"
KINDS = ("significance", "tables", "figures", "claims", "numbers")  # in the order in which they are made
# Kind -> key -> specification. It is kept as JSON text, because a sealed file sorts the keys of JSON objects, and the
# order of rows and claims matters.
Specs = dict[str, dict[str, str]]


def recorded_at(study: str, kind: str, key: str) -> Path:
    """Return the path of an exhibit's record, below the folder into which a bundle is unpacked."""
    name = numbers_table.TABLE if kind == "numbers" else f"{kind}/{key}.json"
    return Path("results", study, name)


def recompute(kind: str, spec: str) -> Any:
    """Return an exhibit made from the files that its specification names, relative to the working directory.

    Raises:
        MdnmtError: a file is missing, was altered or does not fit.
    """
    if kind == "significance":
        # The same types as a record that is read from a file.
        return json.loads(json.dumps(compare_systems(json.loads(spec))))
    if kind == "numbers":
        found = numbers_table.collect(parse_spec(spec, NumberSources).sources)
        return found.to_csv(index=False, lineterminator="\n")
    if kind == "tables":
        return without_code(build(parse_table(spec)).model_dump(mode="json"))
    if kind == "claims":
        return without_code(decide(parse_spec(spec, ClaimsSpec)).model_dump(mode="json"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figure.json")
        save_figure.save(parse_figure(spec), None, None, path)
        return without_code(fsio.read_json(path))


def by_todays_rules(spec: str, config: Path) -> Outcomes | None:
    """Return the verdicts on recorded claims by today's rules; None if they were recorded by these (`decide.VERSION`).

    Args:
        spec: the recorded specification; its rules are replaced.
        config: the folder with today's rules.

    Raises:
        MdnmtError: there are no rules for this paper today, or a file is missing or does not fit.
    """
    recorded = json.loads(spec)
    if recorded.get("decision", 1) == VERSION:
        return None
    left_out = recorded.get("left_out", {})
    claims = {
        name: without_tables(claim, left_out.get(name, ())).model_dump(mode="json")
        for name, claim in load_claims(config, recorded["paper"]).items()
    }
    return decide(parse_spec(json.dumps({**recorded, "claims": claims, "decision": VERSION}), ClaimsSpec))


def read_recorded(kind: str, path: Path) -> Any:
    """Return the record of an exhibit, as `recompute` returns it; raises as `fsio.read_json`."""
    if kind == "numbers":
        return path.read_text(encoding="utf-8")
    return without_code(fsio.read_json(path))


def without_code(value: dict[str, Any]) -> dict[str, Any]:
    """Return an exhibit without the version of the code that made it."""
    return {name: part for name, part in value.items() if name != "made"}


def exhibit_specs(study: Study, places: ResultPaths) -> tuple[Specs, dict[str, str]]:
    """Return the specifications of all exhibits of a study, and "<kind>/<key>" -> why one cannot be recorded.

    Args:
        study: the study with only the runs that are in the bundle.
        places: paths below the relative folder `results`.
    """
    found: Specs = {kind: {} for kind in KINDS}
    left_out = {}
    for key in study.config.tables:
        table = table_spec(study, key, places)
        if withheld := withheld_systems(study, key):
            left_out[f"tables/{key}"] = f"needs translations of {', '.join(withheld)}, not marked as redistributable"
            continue
        if why := _why_unusable(study, study.config.tables[key].task, table.inputs()):
            left_out[f"tables/{key}"] = why
            continue
        found["tables"][key] = table.model_dump_json()
        if isinstance(table, ScoreTable) and table.significance is not None:
            found["significance"][key] = json.dumps(comparison(study, key, places))
    for key in study.config.figures:
        figure = figure_spec(study, key, places)
        if why := _why_unusable(study, study.config.figures[key].task, rule_inputs(figure.inputs())):
            left_out[f"figures/{key}"] = why
            continue
        found["figures"][key] = figure.model_dump_json()
    for paper in study.papers:
        if study.claims[paper]:
            found["claims"][paper] = _claims(study, paper, places, left_out)
    sources = tuple(
        one
        for one in number_sources(study, places).sources
        if study.makeable(one.task) and (one.exhibit is None or one.path.stem in found[one.exhibit])
    )
    found["numbers"]["numbers"] = NumberSources(sources=sources).model_dump_json()
    return found, left_out


def _claims(study: Study, paper: str, places: ResultPaths, left_out: dict[str, str]) -> str:
    """Return the specification of a paper's claims, in which exhibits that are left out are missing with the reason."""
    spec = claims_spec(study, paper, places)
    reasons = {exhibit: left_out.get(f"tables/{spec.key(exhibit)}") for exhibit in spec.tables}
    reasons |= {exhibit: left_out.get(f"figures/{spec.key(exhibit)}") for exhibit in spec.figures}
    why = {exhibit: reason for exhibit, reason in reasons.items() if reason}
    changes: dict[str, Any] = {
        "tables": {exhibit: None if exhibit in why else path for exhibit, path in spec.tables.items()},
        "figures": {exhibit: None if exhibit in why else path for exhibit, path in spec.figures.items()},
        "missing": {**spec.missing, **why},
    }
    return spec.model_copy(update=changes).model_dump_json()


def _why_unusable(study: Study, task: str, files: list[Path]) -> str:
    """Return why an exhibit made from these files cannot be recorded; "" if it can."""
    if not study.makeable(task):
        return f"no run on {task} is in the bundle"
    may_show_words = any("ambiguity" in path.parts or path.name.startswith("analysis-") for path in files)
    if may_show_words and (withheld := withheld_corpora(study.tasks[task])):
        return f"may show words of {', '.join(withheld)}, whose licence does not allow them in a bundle"
    return next((f"{path} is not made yet" for path in _of_the_study(study, files) if not path.exists()), "")


def bundle_tasks(study: Study, places: ResultPaths, bundle: Bundle) -> list[str]:
    """Add the tasks of the study's bundled runs: their records, and test and validation text where licences allow.

    Returns:
        The tasks that were added or changed.

    Raises:
        DataError: a task is not built here.
    """
    changed = []
    for name in dict.fromkeys(run.task for run in study.makeable()):
        task, folder = study.tasks[name], Path(places.task(name))
        if not (folder / "task.json").is_file():
            raise DataError(f"{folder}: no task.json; snakemake --cores all data --config study={study.name} makes it")
        names = ["task.json", "segmentation.json", "stats.json"]
        for domain in open_domains(task):
            languages = (task.config.source_lang, task.config.target_lang)
            names += [f"text/{split}.{domain}.{lang}" for split in ("test", "valid") for lang in languages]
        copied = Path(places.copied(name))
        if (copied / "scores.json").is_file():
            names.append(f"{copied.name}/scores.json")
            if not withheld_corpora(task):
                names += [f"{copied.name}/hyp/{path.name}" for path in (copied / "hyp").iterdir()]
        for output in (one for one in study.external if one.task == name):
            system_folder = Path(places.external(output))
            names += [f"{system_folder.name}/{path.name}" for path in system_folder.glob("*.json")]
            if output.config.redistributable and (system_folder / "hyp").is_dir():
                names += [f"{system_folder.name}/hyp/{path.name}" for path in (system_folder / "hyp").iterdir()]
        labels = Path(places.labels(name))
        names += [labels.name] if labels.is_file() else []
        if bundle.pack(f"{TASKS}/{folder.name}", folder, names):
            changed.append(folder.name)
    return changed


def link_text(name: str, results: Path) -> list[str]:
    """Link test and validation text that the bundle lacks to the text of the same task built here.

    Args:
        name: name of the task's folder, below `results/tasks` of the working directory.
        results: folder of results in which the task may be built; an absolute path.

    Returns:
        The domains whose text is missing.
    """
    folder, built = Path("results", TASKS, name), results / TASKS / name
    missing = []
    for file in fsio.read_json(folder / "task.json")["files"]:
        path = folder / file
        if not file.startswith(("text/test.", "text/valid.")) or path.is_file():
            continue
        if (built / file).is_file():
            path.parent.mkdir(exist_ok=True)
            path.symlink_to(built / file)
        else:
            missing.append(file.split(".")[1])
    return list(dict.fromkeys(missing))


def bundle_exhibits(study: Study, places: ResultPaths, bundle: Bundle) -> dict[str, str]:
    """Record the study's exhibits, made from what the bundle has; return "<kind>/<key>" -> why one is left out.

    Args:
        study: the study with only the runs that are in the bundle.
        places: paths below the relative folder `results` of the working directory.
        bundle: the bundle with the runs and tasks of the study; its folder is an absolute path.
    """
    found, left_out = exhibit_specs(study, places)
    inputs = [path for spec in found["tables"].values() for path in parse_table(spec).inputs()]
    inputs += [path for spec in found["figures"].values() for path in rule_inputs(parse_figure(spec).inputs())]
    inputs = _of_the_study(study, inputs)
    own, results = Path("results", study.name), Path("results").resolve()
    kept = {path.relative_to(own).as_posix(): path.read_bytes() for path in dict.fromkeys(inputs)}
    with unpacked(bundle) as root, contextlib.chdir(root):
        write_back(kept, own)
        for name in bundle.keys(TASKS):
            link_text(name, results)
        fsio.write_sealed(own / SPECS, {"specs": found})
        for kind in KINDS:
            for key, spec in found[kind].items():
                path, value = recorded_at(study.name, kind, key), recompute(kind, spec)
                fsio.write_text(path, value) if kind == "numbers" else fsio.write_sealed(path, value)
        names = [path.relative_to(own).as_posix() for path in own.rglob("*") if path.is_file()]
        bundle.pack(f"{STUDIES}/{study.name}", root / own, names)
    return left_out


def _of_the_study(study: Study, files: Iterable[Path]) -> list[Path]:
    """Return those of the files that no run and no task has, without the tests, which are made again."""
    own = Path("results", study.name)
    return [path for path in files if path.is_relative_to(own) and "significance" not in path.parts]


@contextlib.contextmanager
def unpacked(bundle: Bundle, kinds: Iterable[str] = (RUNS, TASKS)) -> Iterator[Path]:
    """Yield a temporary folder with `results/` unpacked from the bundle.

    Raises:
        DataError: an archive is missing or was altered.
    """
    with tempfile.TemporaryDirectory(prefix="mdnmt-bundle-") as folder:
        for key in bundle.archives:
            if key.partition("/")[0] in kinds:
                bundle.restore_all(key, Path(folder, "results"))
        yield Path(folder)


# Files of an analysis that hold text: sample sentences, and words in the order of their first occurrence.
WITH_WORDS = frozenset({"sentences.json", "lexicon.json"})


def withheld_corpora(task: Task) -> tuple[str, ...]:
    """Return the corpora of a task whose text must not be in a bundle."""
    return tuple(
        name
        for name, corpus in sorted(task.corpora.items())
        if not corpus.redistributable and corpus.source.provider != "generated"
    )


def withheld_systems(study: Study, key: str) -> tuple[str, ...]:
    """Return the external systems of a table whose translations must not be in a bundle."""
    return tuple(name for name in external_of_table(study, key) if not study.config.external[name].redistributable)


def open_domains(task: Task) -> tuple[str, ...]:
    """Return the domains of a task whose whole text may be in a bundle."""
    withheld = set(withheld_corpora(task))
    return tuple(name for name, domain in task.config.domains.items() if withheld.isdisjoint(domain.corpora))
