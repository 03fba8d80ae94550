"""The details of one run: configuration, data, software, training, scores, and sample translations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from mdnmt.config.metrics import METRICS, ON_REQUEST
from mdnmt.energy import attempts_energy
from mdnmt.fsio import read_lines
from mdnmt.numbers.rounding import duration, half_up
from mdnmt.report.contents import ReportTask
from mdnmt.report.plain_tables import Entry, any_number, number, optional_json
from mdnmt.report.sample_translations import Sample
from mdnmt.report.sections.curve import Curve, read_curves
from mdnmt.report.sections.runs import RunRecord, anchor


@dataclass(frozen=True)
class Output:
    """A run's translation of one test sentence; `link` leads to its source and reference."""

    domain: str
    number: int
    link: str
    text: str


@dataclass(frozen=True)
class RunDetail:
    """The block of one run."""

    anchor: str
    name: str
    about: str  # beside its name: fingerprint, mean score
    facts: list[tuple[str, Entry]]
    curves: list[Curve]
    outputs: list[Output]
    target_lang: str


@dataclass
class Software:
    """The sets of packages that runs were made with, each listed once."""

    sets: list[tuple[str, str]] = field(default_factory=list)  # (platform, packages)

    def link(self, made_by: Mapping[str, Any]) -> Entry:
        """Return the versions of mdnmt, Python and torch, with a link to all packages."""
        packages = made_by.get("packages") or {}
        listed = ", ".join(f"{name} {version}" for name, version in packages.items())
        this = (f"Python {made_by.get('python', '?')}, {made_by.get('platform', '?')}", listed)
        if this not in self.sets:
            self.sets.append(this)
        words = f"mdnmt {made_by.get('mdnmt', '?')}, Python {made_by.get('python', '?')}"
        words += f", torch {packages['torch']}" if "torch" in packages else ""
        return Entry(words, link=f"#software-{self.sets.index(this) + 1}")


def sample_anchor(task: str, domain: str, sample: int) -> str:
    """Return the id of a test sentence under Translations."""
    return f"sample-{task}-{domain}-{sample}"


def detail(
    record: RunRecord,
    task: ReportTask | None,
    samples: Mapping[str, list[Sample]],
    software: Software,
) -> RunDetail:
    """Return the block of a run that is done.

    Args:
        record: the run.
        task: its task, for the labels of domains; None if the page does not have it.
        samples: domain -> its sample sentences; the run's own translation of the first one is shown.
        software: collects the packages that the run was made with.
    """
    run = record.made or {}
    labels = {column.name: column.label for column in task.domains} if task else {}
    test = Path(record.line["test_dir"])
    scores = optional_json(test / "scores.json")
    # Each COMET file has a file with the scores of its sentences beside it, `comet-*.segments.json`.
    named = ("comet-????????", *ON_REQUEST)
    others = [path for name in named for path in sorted(test.glob(f"{name}.json"))]
    mean = ((scores or {}).get("mean") or {}).get("bleu")
    about = [
        record.line["task"],
        record.line["fingerprint"],
        f"mean BLEU {half_up(mean, 2)}" if mean is not None else "",
    ]
    return RunDetail(
        anchor=anchor(record.folder),
        name=record.name,
        about=" \N{MIDDLE DOT} ".join(part for part in about if part),
        facts=[
            *_what(record, run, labels, task),
            *_how_it_went(run),
            *_scores([scores or {}, *map(optional_json, others)], labels),
            *_made_by(run, software),
        ],
        curves=read_curves(Path(record.folder) / "curves.tsv"),
        outputs=_outputs(test, task, samples, labels) if task else [],
        target_lang=task.target_lang if task else "",
    )


def options(values: Mapping[str, Any]) -> str:
    """Return options on one line: `model_dim 512, adam_betas [0.9, 0.98]`."""
    texts = (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in values.values())
    return ", ".join(f"{name} {text}" for name, text in zip(values, texts, strict=True))


def _what(
    record: RunRecord, run: Mapping[str, Any], labels: Mapping[str, str], task: ReportTask | None
) -> Iterable[tuple[str, Entry]]:
    spec = run.get("spec") or {}
    yield "Folder", Entry(record.folder, code=True)
    domains = spec.get("domains") or run.get("domains") or []
    text = ", ".join(labels.get(name, name) for name in domains)
    if text:
        yield "Trained on", Entry(text)
    yield "Seed", Entry(record.line["seed"])
    yield "Data", Entry(run["spec"]["task_fingerprint"], code=True, link=f"#task-{task.name}" if task else "")
    if spec.get("builder"):
        yield "Model", Entry(f"{spec['builder']}: {options(spec.get('architecture') or {})}")
    if spec.get("training"):
        yield "Recipe", Entry(options(spec["training"]))
    if spec.get("initial_run"):
        yield "Starts from", Entry(f"the weights of run {spec['initial_run']}")


def _how_it_went(run: Mapping[str, Any]) -> Iterable[tuple[str, Entry]]:
    parts = [f"{number(run.get('updates')).text} updates"]
    if run.get("epochs") is not None:
        parts.append(f"{run['epochs']} epoch{'' if run['epochs'] == 1 else 's'}")
    if run.get("best_update") is not None:
        parts.append(f"best at {number(run['best_update']).text}")
    if run.get("averaged_updates"):
        parts.append(f"mean of the weights at updates {', '.join(map(str, run['averaged_updates']))}")
    if run.get("resumes"):
        parts.append(f"resumed {run['resumes']} time{'' if run['resumes'] == 1 else 's'}")
    codes = {one.get("code") for one in run.get("attempts") or []}
    if len(codes) > 1:
        parts.append(f"trained by {len(codes)} versions of the code, one after the other")
    if isinstance(run.get("seconds"), int | float):
        parts.append(duration(run["seconds"]))
    yield "Training", Entry("; ".join(parts))
    if run.get("attempts"):
        yield "Energy of training", Entry(attempts_energy(run))
    if run.get("num_parameters") is not None:
        yield "Parameters", number(run["num_parameters"])
    if run.get("model_sha256"):
        yield "Weights, sha256", Entry(str(run["model_sha256"]), code=True)


def _scores(files: Iterable[Mapping[str, Any]], labels: Mapping[str, str]) -> Iterable[tuple[str, Entry]]:
    """Yield a line per file and metric: its score on each domain, and the signature that says how it was measured."""
    for domains, metric in product((file.get("domains") or {} for file in files), METRICS):
        ordered = sorted(domains, key=lambda name: list(labels).index(name) if name in labels else len(labels))
        found = {name: domains[name][metric] for name in ordered if domains[name].get(metric) is not None}
        if not found:
            continue
        values = ", ".join(f"{labels.get(name, name)} {any_number(one['score']).text}" for name, one in found.items())
        signatures = sorted({str(one["signature"]) for one in found.values() if one.get("signature")})
        yield METRICS[metric].label, Entry(values + (f" ({'; '.join(signatures)})" if signatures else ""))


def _made_by(run: Mapping[str, Any], software: Software) -> Iterable[tuple[str, Entry]]:
    made_by = run.get("provenance") or {}
    if made_by:
        changed = " and uncommitted changes" if made_by.get("dirty") else ""
        commit = f"{made_by['commit']}{changed}" if made_by.get("commit") else "not from a repository"
        yield "Commit", Entry(commit, code=bool(made_by.get("commit")))
    if made_by.get("packages"):
        yield "Software", software.link(made_by)
    hardware = [f"{made_by['cpu']}, {made_by.get('cores', '?')} cores"] if made_by.get("cpu") else []
    hardware += [str(value) for key in ("gpu", "device", "precision") if (value := run.get(key) or made_by.get(key))]
    if run.get("threads"):
        hardware.append(f"{run['threads']} thread{'' if run['threads'] == 1 else 's'}")
    if hardware:
        yield "Hardware", Entry(", ".join(hardware))
    if made_by.get("utc"):
        yield "Finished", Entry(str(made_by["utc"]))


def _outputs(
    test: Path, task: ReportTask, samples: Mapping[str, list[Sample]], labels: Mapping[str, str]
) -> list[Output]:
    found = []
    for domain, chosen in samples.items():
        path = test / "hyp" / f"hyp.{domain}.txt"
        lines = read_lines(path) if chosen and path.is_file() else []
        if chosen and chosen[0].number <= len(lines):
            place = chosen[0].number
            link = f"#{sample_anchor(task.name, domain, place)}"
            found.append(Output(labels.get(domain, domain), place, link, lines[place - 1]))
    return found
