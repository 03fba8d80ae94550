"""A small made-up study on disk, with a bit of everything that a report can show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from mdnmt import fsio
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, RowRun
from mdnmt.exhibits.published_cells import annotate, with_published
from mdnmt.numbers.verdicts import Printed, judge
from mdnmt.report import contents

SEEDS = (1, 2, 3)
SYSTEMS = {"mixed": ("Mixed", 10.0), "waldm-edc": ("E/DC", 11.5), "dsa": ("DSA", 9.25)}
DOMAINS = {"law": "Law", "news": "News"}
LONG = "A long sentence of a paper which does not fit on one line of a telephone, nor on two, and goes on. " * 2


def run_folder(folder: Path, method: str, seed: int) -> Path:
    """Return where a run of the study stands."""
    return folder / "runs" / "toy" / method / f"seed{seed}-{method[0]}000000{seed}"


def write_study(folder: Path) -> contents.ReportSpec:
    """Write the files of the study below `folder`, and return what the report is told of them."""
    for method in SYSTEMS:
        for seed in SEEDS:
            _write_run(folder, method, seed)
    _write_task(folder / "task")
    _write_grid(folder)
    _write_figure(folder)
    _write_claims(folder)
    _write_audit(folder)
    columns = ["task", "method", "label", "domains", "seed", "fingerprint", "run_dir", "test_dir", "state", "reason"]
    lines = ["\t".join(columns)]
    runs = [(method, seed, run_folder(folder, method, seed)) for method in SYSTEMS for seed in SEEDS]
    for method, seed, run in runs:
        about = [method, SYSTEMS[method][0], "law,news", str(seed), run.name.split("-")[-1]]
        lines.append("\t".join(["toy", *about, str(run), str(run / "test-1"), "done", ""]))
    begun = run_folder(folder, "mixed", 4)
    lines.append("\t".join(["toy", "mixed", "Mixed", "law,news", "4", begun.name[-8:], str(begun), "", "begun", ""]))
    lines.append("\t".join(["toy", "big", "Big", "law", "1", "ffffffff", "", "", "missing", "needs a GPU"]))
    (folder / "runs.tsv").write_text("\n".join(lines) + "\n")
    return contents.ReportSpec.model_validate(_spec(folder))


def _spec(folder: Path) -> dict[str, Any]:
    systems = [(label, run_folder(folder, name, 1) / "test-1" / "hyp") for name, (label, _) in SYSTEMS.items()]
    drawn_from = [
        {"method": "mixed", "label": "Mixed", "seed": seed, "folder": run_folder(folder, "mixed", seed)}
        for seed in (*SEEDS, 4)
    ]
    columns = [{"name": name, "label": label} for name, label in DOMAINS.items()]
    return {
        "study": "toy",
        "title": "A toy study",
        "introduction": "Nothing in it was ever trained.",
        "papers": [
            {
                "name": "paper1999",
                "title": "A paper with a long title about machine translation",
                "citation": "Somebody, Another and a Third, 1999",
                "items": [
                    {"kind": "table", "where": "Table 1", "title": "Data"},
                    {"kind": "table", "where": "Table 2", "title": "Scores", "id": "paper1999-table2"},
                    {"kind": "figure", "where": "Figure 3", "title": "Curves", "id": "paper1999-figure3"},
                    {"kind": "figure", "where": "Figure 4", "title": "Not drawn", "id": "paper1999-figure4"},
                ],
                "claims": folder / "claims.json",
                "audit": folder / "audit.json",
            },
            {
                "name": "slides2001",
                "title": "Slides",
                "citation": "Nobody, 2001",
                "items": [{"kind": "table", "where": "slide 3", "title": "Numbers"}],
                "claims": folder / "none.json",
            },
        ],
        "tables": [
            {"id": "paper1999-table2", "title": "Scores", "kind": "scores", "data": folder / "table2.json"},
            {"id": "own-table", "title": "Our own", "kind": "scores", "data": folder / "table2.json"},
        ],
        "figures": [
            {
                "id": "paper1999-figure3",
                "title": "Curves",
                "kind": "curves",
                "where": "Figure 3",
                "png": folder / "figure3.png",
                "numbers": folder / "figure3.json",
                "caption": "What to look for.",
                "runs": drawn_from,
            },
            {
                "id": "paper1999-figure4",
                "title": "Not drawn",
                "kind": "tsne",
                "png": folder / "none.png",
                "caption": "",
            },
        ],
        "tasks": [
            {
                "name": "toy",
                "label": "Toy text",
                "directory": folder / "task",
                "source_lang": "en",
                "target_lang": "fr",
                "domains": columns,
                "systems": systems,
            }
        ],
        "corpora": [{"name": "c", "label": "A corpus", "url": "https://example.org/corpus", "sha256": "ab" * 32}],
        "runs": folder / "runs.tsv",
        "commands": ["snakemake --cores all --config study=toy"],
    }


def _write_run(folder: Path, method: str, seed: int) -> None:
    run = run_folder(folder, method, seed)
    (run / "test-1" / "hyp").mkdir(parents=True)
    packages = {"torch": "2.0", "numpy": "1.26" if method != "dsa" else "2.0"}
    record = {
        **{"task": "toy", "method": method, "seed": seed, "fingerprint": run.name.split("-")[-1]},
        **{"updates": 800, "best_update": 700, "epochs": 2, "seconds": 61.0, "resumes": 1, "threads": 1},
        **{"averaged_updates": [700, 800], "num_parameters": 2_900_000, "model_sha256": f"{seed}f" * 32},
        **{"device": "cpu", "precision": "fp32", "domains": list(DOMAINS)},
        "spec": {
            **{"builder": "transformer", "task_fingerprint": "77aa77aa", "seed": seed, "domains": ["law"]},
            **{"architecture": {"model_dim": 64}, "training": {"learning_rate": 0.001, "adam_betas": [0.9, 0.98]}},
        },
        "provenance": {
            **{"mdnmt": "0.1.0", "python": "3.11", "platform": "Linux", "cpu": "A processor", "cores": 2},
            **{"commit": "c0ffee" * 6, "dirty": True, "packages": packages, "utc": "2026-01-02T03:04:05Z"},
        },
    }
    fsio.write_sealed(run / "run.json", record)
    names = ["update", "epoch", "split", "domain", "loss", "nll", "ppl", "accuracy", "bleu", "learning_rate"]
    rows = [f"{n}\t0\ttrain\tall\t{900 / n}\t\t\t\t\t0.1" for n in range(100, 900, 100)]
    rows += [f"{n}\t0\tvalid\tall\t3\t3\t{9000 / n}\t0.1\t2\t" for n in (400, 800)]
    (run / "curves.tsv").write_text("\n".join(["\t".join(names), *rows]) + "\n")
    fsio.write_sums(run, ["curves.tsv"])
    scores = {
        name: {"bleu": {"score": SYSTEMS[method][1] + seed / 8 + place, "signature": "nrefs:1|tok:13a"}}
        for place, name in enumerate(DOMAINS)
    }
    mean = sum(one["bleu"]["score"] for one in scores.values()) / len(scores)  # type: ignore[misc]
    found = {"domains": scores, "mean": {"bleu": mean}}
    fsio.write_sealed(run / "test-1" / "scores.json", found)
    comet = {name: {"comet": {"score": 70.25 + place, "signature": "model:a"}} for place, name in enumerate(DOMAINS)}
    fsio.write_sealed(run / "test-1" / "comet-01234567.json", {"domains": comet, "mean": {"comet": 71.0}})
    segments = {"domains": {name: [0.5, 0.9] for name in DOMAINS}}
    fsio.write_sealed(run / "test-1" / "comet-01234567.segments.json", segments)
    for name in DOMAINS:
        lines = [f"{method} {seed} translates sentence {n} of {name}" for n in range(1, 13)]
        (run / "test-1" / "hyp" / f"hyp.{name}.txt").write_text("\n".join(lines) + "\n")
    fsio.write_sums(run / "test-1" / "hyp", [f"hyp.{name}.txt" for name in DOMAINS])


def _write_task(task: Path) -> None:
    (task / "text").mkdir(parents=True)
    side = {"tokens": 1234, "types": 5, "pieces": 12, "pieces_per_token": 1.2, "oov_rate": 0.01}
    split = {"sentences": 12, "source": side, "target": side}
    (task / "stats.json").write_text(json.dumps({"domains": {name: {"train": split} for name in DOMAINS}}))
    counts = {"source": 3, "target": 2, "pair": 1, "removed": 4, "left": 0}
    leaks = {"domains": {name: {"valid": counts, "test": counts} for name in DOMAINS}}
    (task / "leakage.json").write_text(json.dumps(leaks | {"valid_in_test": {"law": 6, "news": 0}}))
    for name in DOMAINS:
        for lang in ("en", "fr"):
            lines = [f"sentence {n} of {name} has nine words in {lang} here" for n in range(1, 13)]
            (task / "text" / f"test.{name}.{lang}").write_text("\n".join(lines) + "\n")


def _write_grid(folder: Path) -> None:
    headers = [Header(key=name, label=label, metric="bleu", group="BLEU") for name, label in DOMAINS.items()]
    headers += [Header(key=name, label=label, metric="chrf", group="chrF") for name, label in DOMAINS.items()]
    printed = [Printed(value=11.6, raw="11.60"), Printed(value=40.0, raw="40.00", star=True), None, None]
    rows = []
    for place, (method, (label, base)) in enumerate(SYSTEMS.items()):
        cells = []
        for column, number in enumerate(printed):
            values = tuple(base + seed / 8 + column for seed in SEEDS)
            text = f"{sum(values) / 3:.2f}"
            cell = Cell(text=text, values=values, mean=sum(values) / 3, sd=0.125, spread="0.13", num_seeds=3)
            differs = "another corpus" if column == 1 and place == 0 else None
            cells.append(with_published(cell, number, judge(values, number, differs)))
        runs = tuple(RowRun(seed=seed, folder=run_folder(folder, method, seed).as_posix()) for seed in SEEDS)
        group = "Baselines" if place == 0 else "Others"
        rows.append(GridRow(group=group, label=label, method=method, cells=tuple(cells), runs=runs))
    cells = [with_published(Cell(), number, None) for number in printed]
    rows.append(GridRow(group="Others", label="Big", method="big", cells=tuple(cells), marks=(0,)))
    grid = Grid(
        kind="scores",
        title="Scores",
        where="Table 2",
        headers=tuple(headers),
        rows=tuple(rows),
        baseline="mixed",
        baseline_label="Mixed",
        reasons=("needs a GPU",),
    )
    (folder / "table2.json").write_text(annotate(grid).model_dump_json())


def _write_figure(folder: Path) -> None:
    about = PngInfo()
    about.add_text("Description", "Two lines that fall.")
    Image.new("RGB", (1200, 400), "white").save(folder / "figure3.png", pnginfo=about)
    measures = [
        {"method": "mixed", "label": "Mixed", "seed": seed, "name": "final_bleu", "at": {"domain": name}, "value": 9.5}
        for seed in range(1, 61)
        for name in DOMAINS
    ]
    (folder / "figure3.json").write_text(json.dumps({"kind": "curves", "title": "Curves", "measures": measures}))


def _write_claims(folder: Path) -> None:
    verdicts = ("reproduced", "not reproduced", "inconclusive", "not comparable")
    compared = [
        {"what": f"BLEU on {label}: E/DC against Mixed", "left": 11.5, "right": 10.0 + place, "difference": 1.5 - place}
        | {"half_width": 0.25, "toward": True, "holds": place == 0 or None, "num_seeds": 3}
        for place, label in enumerate(DOMAINS.values())
    ]
    absent = {"what": "needs Table 9", "missing": "Table 9 (not part of this study)"}
    outcomes = [
        {"id": f"claim-{place}", "paper": "paper1999", "where": "sec. 4", "says": LONG, "kind": "better"}
        | {"rule_text": LONG, "verdict": verdict, "reason": "holds in 2 of 2 comparisons", "holds": 2, "of": 2}
        | {"comparisons": [absent] if verdict == "not comparable" else [*compared, absent]}
        | {"evidence": ["paper1999-table2", "paper1999-table9"], "on_other_text": "another corpus", "num_seeds": 3}
        for place, verdict in enumerate(verdicts)
    ]
    counts = dict.fromkeys(verdicts, 1)
    found = {"paper": "paper1999", "title": "A paper", "counts": counts, "outcomes": outcomes}
    (folder / "claims.json").write_text(json.dumps(found))


def _write_audit(folder: Path) -> None:
    findings = [
        {"id": f"finding-{status}", "paper": "paper1999", "where": "Table 2", "kind": "average", "printed": LONG}
        | {"recomputed": None if status == "noted" else "27.04", "status": status, "computed": status != "noted"}
        | {"ours": False, "comment": "x" * 70}
        for status in ("inconsistent", "consistent", "noted")
    ]
    other = findings[0] | {"paper": "other2000", "id": "of-another-paper", "printed": "of another paper"}
    checked = [{"paper": "paper1999", "kind": "average", "compared": 41, "agreed": 40}]
    result = {"papers": ["paper1999"], "findings": [*findings, other], "checked": checked}
    (folder / "audit.json").write_text(json.dumps(result))
