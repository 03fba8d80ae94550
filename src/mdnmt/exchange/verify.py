"""Verify a bundle: compare every file with its hash, and every number with the one computed from its sources.

Each stage is checked separately: scores and tests against the translations, tables against the recorded scores and
tests, claims against the recorded tables. So a forged number is found even if all hashes were recomputed.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mdnmt import fsio
from mdnmt.config.metrics import METRICS, OWN
from mdnmt.decode.likelihood import LIKELIHOOD
from mdnmt.errors import ConfigError, MdnmtError, printable
from mdnmt.exchange.bundle import MANIFEST, RUNS, SIGNATURE, STUDIES, TASKS, Bundle, key_of
from mdnmt.exchange.evidence import (
    KINDS,
    SPECS,
    by_todays_rules,
    link_text,
    read_recorded,
    recompute,
    recorded_at,
)
from mdnmt.fingerprint import sha256_file
from mdnmt.score.metrics.sentence_counts import shared
from mdnmt.score.scores_of_domains import DEFAULT_METRICS, score_domains
from mdnmt.score.test_sets import TestSets, load_test_sets
from mdnmt.statements.claims.decide import VERSION
from mdnmt.tasks.workers import workers

TOLERANCE = 1e-9  # relative; processors round sums differently
RUNS_PER_PROCESS = 10  # at least: a process takes about as long to start as to check one run
Status = Literal["ok", "differs", "not checked"]
# What reading a damaged or forged file can raise.
_FILE_ERRORS = (MdnmtError, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)


@dataclass(frozen=True)
class Finding:
    """The result for a run, task or exhibit; `detail` says what differs and where, or why it was not checked."""

    what: str
    status: Status
    detail: str = ""

    def line(self) -> str:
        """Return the finding as one printable line."""
        return printable(f"{self.what}: {self.status}{': ' if self.detail else ''}{self.detail}")


def verify(bundle: Bundle, results: Path, processes: int = 1, config: Path = Path("config")) -> Iterator[Finding]:
    """Yield a finding for each unlisted or damaged file, and for each task, run and exhibit of a bundle.

    Args:
        bundle: the bundle; its folder is an absolute path.
        results: folder of results in which tasks may be built; their text is used where the bundle has none; an
            absolute path.
        processes: how many check runs and exhibits at the same time.
        config: folder with today's rules for claims that were recorded under older ones.
    """
    config = config.resolve()
    listed = {bundle.folder / MANIFEST, bundle.folder / SIGNATURE, *(bundle.path(key) for key in bundle.archives)}
    for path in sorted(set(bundle.folder.rglob("*")) - listed):
        if path.is_file():
            yield Finding(path.relative_to(bundle.folder).as_posix(), "differs", f"is not listed in {MANIFEST}")
    with tempfile.TemporaryDirectory(prefix="mdnmt-verify-") as folder, contextlib.chdir(folder):
        sound = []
        for key in bundle.archives:
            try:
                bundle.restore_all(key, Path("results"))
                sound.append(key)
            except _FILE_ERRORS as error:
                yield Finding(key, "differs", _error_text(error))
        rebuild = f"snakemake --cores all data --config study={(bundle.keys(STUDIES) or ['STUDY'])[0]}"
        missing: dict[str, list[str]] = {}  # task -> domains whose references are missing
        for key in (key for key in sound if key.startswith(f"{TASKS}/")):
            name = key.removeprefix(f"{TASKS}/")
            yield _checked(key, partial(_task, name, results, missing, rebuild))
        runs = [run for run in bundle.runs if key_of(run) in sound]
        studies = [key.removeprefix(f"{STUDIES}/") for key in sound if key.startswith(f"{STUDIES}/")]
        checks: list[Callable[[], list[Finding]]] = [
            partial(_run, Path("results", RUNS, run), missing, rebuild) for run in runs
        ]
        checks += [check for study in studies for check in _exhibits(study, missing, rebuild, config)]
        with workers(min(processes, len(runs) // RUNS_PER_PROCESS)) as in_parallel:  # they share the current folder
            # Most of the time goes into counting n-grams: significance tests take those of the scores.
            for findings in in_parallel(partial(_call, Path(folder, "counts")), checks):
                yield from findings


def _call(counts: Path, check: Callable[[], list[Finding]]) -> list[Finding]:
    with shared(counts):
        return check()


def _checked(what: str, check: Callable[[], Finding | str]) -> Finding:
    """Run a check that returns a finding or a difference ("": none); an error in a file counts as a difference."""
    try:
        found = check()
    except _FILE_ERRORS as error:
        return Finding(what, "differs", _error_text(error))
    return found if isinstance(found, Finding) else Finding(what, "differs" if found else "ok", found)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if not isinstance(error, MdnmtError) else str(error)


def _task(name: str, results: Path, missing: dict[str, list[str]], rebuild: str) -> Finding | str:
    """Compare a task's text with its record and with the same task built here, which also supplies missing text."""
    folder, built = Path("results", TASKS, name), results / TASKS / name
    record = fsio.read_json(folder / "task.json")
    for file, recorded in record["files"].items():
        if (folder / file).is_file() and sha256_file(folder / file) != recorded["sha256"]:
            return f"{file}: its sha256 differs from the one in task.json"
        if (built / file).is_file() and sha256_file(built / file) != recorded["sha256"]:
            return f"{file}: {built / file} has another sha256: that task is incomplete, or its text differs"
    missing[name] = link_text(name, results)
    for scored in sorted((*folder.glob("copied-*"), *folder.glob("external-*"))):
        if (scored / "hyp").is_dir() and (found := _scores(scored, folder, "test", missing[name])):
            return f"{scored.name}/{found}"
    if missing[name]:
        domains = ", ".join(missing[name])
        return Finding(
            f"{TASKS}/{name}", "not checked", f"references missing for {domains}: build them with `{rebuild}`"
        )
    return ""


def _run(folder: Path, missing: dict[str, list[str]], rebuild: str) -> list[Finding]:
    """Compare the recorded scores of a run with those computed from its translations."""
    key = folder.relative_to("results").as_posix()
    translated = sorted(path.parent for path in folder.glob("*/hyp"))
    findings = [] if translated else [Finding(key, "differs", "has no translations")]
    try:
        task = f"{folder.parts[2]}-{fsio.read_json(folder / 'run.json')['spec']['task_fingerprint']}"
    except _FILE_ERRORS as error:
        return [*findings, Finding(f"{key}/run.json", "differs", _error_text(error))]
    for test in translated:
        what = f"{key}/{test.name}"
        if task not in missing:
            findings.append(Finding(what, "not checked", f"the bundle has no sound {TASKS}/{task}"))
            continue
        split = test.name.partition("-")[0]
        found = _checked(what, partial(_scores, test, Path("results", TASKS, task), split, missing[task]))
        if found.status == "ok" and missing[task]:
            why = f"references missing for {', '.join(missing[task])}: build them with `{rebuild}`; all else is ok"
            found = Finding(what, "not checked", why)
        findings.append(found)
    return findings


def _scores(test: Path, task: Path, split: Any, absent: list[str]) -> str:
    """Return how the recorded scores of a folder of translations differ from recomputed ones; "" if they agree."""
    recorded = fsio.read_json(test / "scores.json")
    test_sets = load_test_sets(task, _limit(test / "hyp", load_test_sets(task, None, split), absent), split)
    translated = [name for name in test_sets.domains if (test / "hyp" / f"hyp.{name}.txt").is_file()]
    domains = [name for name in translated if name not in absent]
    if unscored := sorted(set(translated) ^ set(recorded["domains"])):
        return f"scores.json: {unscored[0]} has either translations or scores, not both"
    if not domains:
        return ""
    metrics = tuple(name for name in DEFAULT_METRICS if name in OWN or name in recorded["mean"])
    if not (test / "hyp" / LIKELIHOOD).is_file():
        metrics = tuple(name for name in metrics if not METRICS[name].needs_model)
        _keep_metrics(recorded, metrics)
    found = score_domains(test_sets, test / "hyp", domains, metrics)
    for name, values in found["domains"].items():
        if "ceiling" not in recorded["domains"][name]:
            values.pop("ceiling", None)  # recorded before there were ceilings; it depends on the references alone
    if absent:
        return difference(
            {name: recorded["domains"][name] for name in domains}, found["domains"], "scores.json: domains"
        )
    return difference(recorded, found, "scores.json: ")


def _keep_metrics(scores: dict[str, Any], metrics: Collection[str]) -> None:
    """Remove all other metrics from scores."""
    for values in (*scores["domains"].values(), scores["mean"]):
        for other in METRICS.keys() & values.keys() - set(metrics):
            del values[other]


def _limit(hypotheses: Path, test_sets: TestSets, absent: list[str]) -> int | None:
    """Return how many sentences of each domain were decoded; None: all."""
    files = {name: hypotheses / f"hyp.{name}.txt" for name in test_sets.domains if name not in absent}
    numbers = {name: len(fsio.read_lines(path)) for name, path in files.items() if path.is_file()}
    is_cut = any(number < len(test_sets.references(name)) for name, number in numbers.items())
    return (max(numbers.values()) or None) if is_cut else None


def _exhibits(
    study: str, missing: dict[str, list[str]], rebuild: str, config: Path
) -> Iterator[Callable[[], list[Finding]]]:
    """Yield a check for each recorded exhibit of a study."""
    try:
        found = fsio.read_json(Path("results", study, SPECS))["specs"]
        specs = [(kind, key, spec) for kind in KINDS for key, spec in found[kind].items()]
    except _FILE_ERRORS as error:
        yield partial(list, [Finding(f"{STUDIES}/{study}/{SPECS}", "differs", _error_text(error))])
        return
    for kind, key, spec in specs:
        absent = missing.get(Path(json.loads(spec)["task"]).name, []) if kind == "significance" else []
        why = f"references missing for {', '.join(absent)}: build them with `{rebuild}`" if absent else ""
        yield partial(_exhibit, study, kind, key, spec, why, config)


def _exhibit(study: str, kind: str, key: str, spec: str, why_not: str, config: Path) -> list[Finding]:
    """Compare a recorded exhibit with the one recomputed from its specification, unless there is a reason not to."""
    what = f"{STUDIES}/{study}/{kind}/{key}" if kind != "numbers" else f"{STUDIES}/{study}/numbers.csv"
    if why_not:
        return [Finding(what, "not checked", why_not)]

    def check() -> str | Finding:
        recorded = read_recorded(kind, recorded_at(study, kind, key))
        if kind == "claims" and json.loads(spec).get("decision", 1) != VERSION:
            found, text = _older_claims(recorded, spec, config)
            return found or Finding(what, "not checked", text)
        again = recompute(kind, spec)
        if kind == "numbers":
            recorded, again = (list(csv.DictReader(io.StringIO(text, newline=""))) for text in (recorded, again))
        return difference(recorded, again)

    return [_checked(what, check)]


def _older_claims(recorded: Any, spec: str, config: Path) -> tuple[str, str]:
    """Compare claims that were recorded under older rules with those decided by today's.

    The verdicts may differ; the numbers of comparisons that both make may not.

    Returns:
        The first number that differs ("": none), and which verdicts do.
    """
    version = json.loads(spec).get("decision", 1)
    text = f"verdicts recorded under older rules ({version}, today {VERSION})"
    try:
        again = by_todays_rules(spec, config)
    except ConfigError as error:
        return "", f"{text}; today's are not here ({error})"
    assert again is not None
    verdicts, changed = {one["id"]: one["verdict"] for one in recorded["outcomes"]}, []
    # Tables of two pairs of languages may have comparisons of the same name: their order tells them apart.
    numbers: dict[str, list[Any]] = {}
    for one in recorded["outcomes"]:
        for made in one["comparisons"]:
            numbers.setdefault(f"{one['id']}/{made['what']}", []).append(made)
    for outcome in again.outcomes:
        before = verdicts.get(outcome.id)
        if before is not None and before != outcome.verdict:
            changed.append(f"{outcome.id} {before}, now {outcome.verdict}")
        for now in outcome.comparisons:
            name = f"{outcome.id}/{now.what}"
            if numbers.get(name):
                old = numbers[name].pop(0)
                for field in ("left", "right", "difference"):
                    if found := difference(old[field], getattr(now, field), f"{name}/{field}"):
                        return found, ""
    change = f"{len(changed)} of {len(verdicts)} differ by today's: {'; '.join(changed)}" if changed else "none differs"
    return "", f"{text}; their numbers are as recorded; {change}"


def difference(recorded: Any, found: Any, where: str = "") -> str:
    """Return the first place where two JSON values differ, and the two values there; "" if they are equal.

    Numbers may differ by rounding (`TOLERANCE`), even if both are text.
    """
    if isinstance(recorded, dict) and isinstance(found, dict):
        # A signature comes first: it says why a score differs, such as another tokenisation of Japanese.
        for key in sorted(dict.fromkeys((*recorded, *found)), key=lambda key: key != "signature"):
            if key not in recorded or key not in found:
                return f"{where}/{key}: {'not recorded' if key in found else 'recorded, but not computed'}"
            if text := difference(recorded[key], found[key], f"{where}/{key}"):
                return text
        return ""
    if isinstance(recorded, list | tuple) and isinstance(found, list | tuple):
        if len(recorded) != len(found):
            return f"{where}: recorded {len(recorded)} entries, computed {len(found)}"
        for number, (one, other) in enumerate(zip(recorded, found, strict=True)):
            if text := difference(one, other, f"{where}/{number}"):
                return text
        return ""
    same = recorded == found or _close(recorded, found)
    return "" if same else f"{where}: recorded {recorded!r}, computed {found!r}"


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool) or isinstance(one, str) != isinstance(other, str):
        return False
    try:
        return math.isclose(float(one), float(other), rel_tol=TOLERANCE, abs_tol=1e-12)
    except (TypeError, ValueError):
        return False
