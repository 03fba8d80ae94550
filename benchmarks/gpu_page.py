"""One JSON and one page of all that the stages of `make gpu` found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from mdnmt import fsio

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}"
    "table{border-collapse:collapse;margin:1rem 0}th,td{padding:.3rem .8rem;border-bottom:1px solid #ccc;"
    "text-align:right;vertical-align:bottom}th:first-child,td:first-child{text-align:left;"
    "white-space:nowrap}thead th{border-bottom:2px solid #444}"
    "p.note{color:#555;max-width:48rem}.bad{color:#a00}"
)
Column = tuple[str, Callable[[dict[str, Any]], str]]


def write(out: Path, key: dict[str, Any], stages: Sequence[str]) -> Path:
    """Write gpu.json and gpu.html from the stages' files; return the page."""
    found = {stage: fsio.read_json(out / "stages" / f"{stage}.json") for stage in stages}
    fsio.write_json(out / "gpu.json", {**key, "stages": found})
    fsio.write_text(out / "gpu.html", page(key, found))
    return out / "gpu.html"


def page(key: dict[str, Any], stages: dict[str, dict[str, Any]]) -> str:
    """Return the page."""
    head = stages["machine"]["found"]
    commit = str(key["commit"] or "no commit")[:12] + (" with changes" if key.get("changed") else "")
    speed = {name.partition("-")[2]: one for name, one in stages.items() if name.startswith("speed-")}
    demo = {name.partition("-")[2]: one for name, one in stages.items() if name.startswith("demo-")}
    printed = {name.partition("-")[2]: one for name, one in stages.items() if name.startswith("printed-")}
    tests = {name: one for name, one in stages.items() if name.startswith("tests-")}
    texts = sorted({one["found"]["text"] for one in demo.values() if "text" in one["found"]})
    parts = [
        f"<h1>mdnmt on {escape(key['device'])}</h1>",
        f"<p>torch {escape(key['torch'])}, commit {escape(commit)}. Products of bf16 matrices reach "
        f"{head.get('matrix_rate', 0) / 1e12:,.2f} TFLOP/s here"
        + (f"; the GPU has {head['memory_mib'] / 1024:,.0f} GiB." if head.get("memory_mib") else ".")
        + (" <strong>Toy sizes: no figure here says anything about speed.</strong>" if key["toy"] else "")
        + "</p>",
        "<h2>Training speed</h2>",
        _table("model", speed, _SPEED),
        '<p class="note">Each model is trained by the trainer itself; tokens are target tokens. Launches are estimated '
        "by the operators of one update that compute on the device; synchronisations, of one update as well, make the "
        "CPU wait for it. Under torch.compile (compiled, CUDA graphs) neither can be counted. The rate is that of the "
        "matrix products above. Processes: those a stage took; s and kJ: its time and energy.</p>",
        "<h2>The papers' models at their printed size</h2>",
        _table("method", printed, _PRINTED),
        '<p class="note">One row of each paper with its own recipe, on generated text with a vocabulary as large as '
        "the plan of the study <em>paper</em> expects. Planned: what that plan says. Hours: of the whole training, the "
        "planned updates times the time of one, without validations and checkpoints.</p>",
        "<h2>Study gpu-demo</h2>",
        _table("method", demo, _DEMO),
        f'<p class="note">Text: {escape(", ".join(texts) or "none")}. BLEU is that of greedy translation of validation '
        "sentences, on tokens: it says whether training works, and is no result to report.</p>",
        "<h2>Tests on the device</h2>",
        _table("part", tests, [("outcome", lambda one: escape(str(one["outcome"])))]),
        *(f'<p class="bad">{escape(line)}</p>' for one in tests.values() for line in one["found"].get("failed", [])),
        "<h2>Time</h2>",
        _table("stage", stages, []),
        f"<p>All stages: {sum(one['seconds'] for one in stages.values()) / 60:,.1f} min.</p>",
    ]
    title = f"mdnmt on {escape(key['device'])}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n" + "\n".join(parts) + "\n</body></html>\n"
    )


def _number(name: str, form: str = ",.0f", scale: float = 1.0) -> Callable[[dict[str, Any]], str]:
    return lambda one: "-" if one[name] is None else format(scale * one[name], form)


def _memory(one: dict[str, Any]) -> str:
    return f"{one['peak_mib']:,.0f}" if one["peak_mib"] else "-"


_SPEED: list[Column] = [
    ("parameters, 10⁶", _number("parameters", ",.1f", 1e-6)),
    ("tokens/s", _number("tokens_per_second")),
    ("% of rate", _number("share_of_rate", ".1f", 100)),
    ("launches", _number("launches_per_update")),
    ("synchronisations", _number("synchronisations_per_update")),
    ("scalars copied", _number("scalar_copies_per_update")),
    ("peak MiB", _memory),
]
_PRINTED: list[Column] = [
    ("task", lambda one: escape(one["task"])),
    ("parameters, 10⁶", _number("parameters", ",.1f", 1e-6)),
    ("planned", _number("planned_parameters", ",.1f", 1e-6)),
    ("tokens per batch", _number("tokens_per_batch")),
    ("tokens/s", _number("tokens_per_second")),
    ("ms per update", _number("seconds_per_update", ",.0f", 1e3)),
    ("peak MiB", _memory),
    ("planned MiB", _number("planned_mib")),
    ("planned updates", _number("planned_updates")),
    ("hours", _number("hours", ",.1f")),
]
_DEMO: list[Column] = [
    ("parameters, 10⁶", _number("parameters", ",.1f", 1e-6)),
    ("updates", _number("updates")),
    ("tokens/s", _number("tokens_per_second")),
    ("BLEU", _number("bleu", ".1f")),
    ("perplexity", _number("ppl", ",.2f")),
]


def _table(first: str, rows: dict[str, dict[str, Any]], columns: list[Column]) -> str:
    """Return a table; every row also says how long its stage took, and what energy where that was measured."""
    heads = [first, *(name for name, _ in columns), "processes", "s", "kJ"]
    lines = []
    for name, stage in rows.items():
        found = stage["found"]
        if "error" in found:
            cells = [f'<td class="bad" colspan="{max(1, len(columns))}">{escape(found["error"])}</td>']
        else:
            cells = [f"<td>{show(found)}</td>" for _, show in columns]
        energy = f"{stage['joules'] / 1000:,.1f}" if stage["joules"] else "-"
        cells += [f"<td>{stage['slices']}</td>", f"<td>{stage['seconds']:,.0f}</td>", f"<td>{energy}</td>"]
        lines.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
