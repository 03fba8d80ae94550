"""One forest plot for each paper: its systems against each baseline, at two lengths of training, beside the print.

    python benchmarks/forest.py docs/replication/*bundle --figures docs/images

Reads the committed scores of the replication. Each comparison is by itself: Welch's 95 % interval over seeds. Prints
all numbers as a table in Markdown, and writes forest-PAPER.png.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mdnmt.exchange.bundle import STUDIES, Bundle
from mdnmt.exhibits.figure_style import COLOURS, detail_height, heading, label_differences, new_figure, style
from mdnmt.numbers.rounding import mean, signed, standard_deviation
from mdnmt.results import load_published
from mdnmt.score.significance.holm import holm
from mdnmt.welch import half_width, standard_error, two_sided

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRINTED = "mdnmt-effects"  # the figure of a study that has the printed differences
MIN_SEEDS = 3
EN_FR, ZH_EN, EN_DE = "replication-en-fr", "replication-zh-en", "replication-en-de"
TEXTS = {EN_FR: "English-French", ZH_EN: "Chinese-English", EN_DE: "English-German"}
SYSTEMS = {
    "waldm-encoder": "Encoder",
    "waldm-encoder-rate-0002": "Encoder, half rate",
    "waldm-edc": "E/DC",
    "domain-tag": "domain tag",
    "dsa": "DSA",
    "dsa-guided": "guided DSA",
    "damha-dmoe-domain": "DAMHA+DMoE (domain)",
    "damha-dmoe-mix-loss": "DAMHA+DMoE (mix, loss)",
}
BASELINES = {
    "mixed": "Mixed",
    "mixed-enlarged": "enlarged Mixed",
    "mixed-rate-0002": "Mixed, same rate",
    "mixed-dmoe-size": "Mixed, as large, same rate",
    "mixed-scaled-encoder": "Mixed, same initial scale",
    "mixed-scaled-encoder-rate-0002": "Mixed, same initial scale and rate",
}
PAPERS = {
    "jiang2020": ("Jiang et al. (2020): domain mixing", ("waldm-encoder", "waldm-encoder-rate-0002", "waldm-edc")),
    "zhang2021": ("Zhang et al. (2021): domain-aware attention", ("domain-tag", "dsa", "dsa-guided")),
    "song2026": ("Song et al. (2026): experts", ("damha-dmoe-domain", "damha-dmoe-mix-loss")),
}
SLOWER = "waldm-encoder-rate-0002"
# The names of baselines for some systems only.
OTHER_NAMES = {(SLOWER, "mixed-dmoe-size"): "Mixed, 1.1 times as large, same rate"}
# Systems that a baseline says something about; the others are compared with every system.
ONLY_FOR = {
    "mixed": tuple(name for name in SYSTEMS if name != SLOWER),
    "mixed-enlarged": ("waldm-encoder", "waldm-edc"),
    "mixed-rate-0002": (SLOWER, "waldm-edc", "damha-dmoe-domain", "damha-dmoe-mix-loss"),
    "mixed-dmoe-size": (SLOWER, "damha-dmoe-domain", "damha-dmoe-mix-loss"),
    "mixed-scaled-encoder": ("waldm-encoder",),
    "mixed-scaled-encoder-rate-0002": (SLOWER,),
}
# The differences that the controls were declared for, with 8,000 updates, in families (docs/replication-protocol.md).
OF_EXPERTS = (("damha-dmoe-domain", "mixed-rate-0002"), ("damha-dmoe-domain", "mixed-dmoe-size"))
OF_MIXING = (("mixed-scaled-encoder", "mixed"), ("waldm-encoder", "mixed-scaled-encoder"))
OF_RATE = tuple((SLOWER, base) for base in ("mixed-rate-0002", "mixed-scaled-encoder-rate-0002", "mixed-dmoe-size"))
CONTROLLED = ((EN_FR, OF_EXPERTS + OF_MIXING), (EN_FR, OF_RATE), (ZH_EN, OF_EXPERTS))
SHORT, LONG = 4000, 8000
Scores = Mapping[tuple[str, str, int], Mapping[str, float]]  # task, method, updates -> seed -> mean BLEU over domains


@dataclass(frozen=True)
class Difference:
    """A difference of mean BLEU; half the width of its interval and its p-value, None with fewer than three seeds."""

    value: float
    reach: float | None
    seeds: tuple[int, int]
    p: float | None


def read_scores(folders: list[Path]) -> Scores:
    """Return the test BLEU of all bundled runs."""
    found: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
    for bundle in map(Bundle, folders):
        for run in bundle.runs:
            task, method, folder = run.split("/")
            names = [name for name in bundle.files(run) if name.startswith("test-") and name.endswith("/scores.json")]
            files = bundle.read(run, {"run.json", *names[:1]})
            scores = json.loads(files[names[0]]) if names else {}
            updates = json.loads(files["run.json"])["updates"]
            if "bleu" in scores.get("mean", {}):
                found[task, method, updates][folder.partition("-")[0]] = scores["mean"]["bleu"]
    return found


def read_printed(folders: list[Path]) -> dict[tuple[str, str, str], float]:
    """Return (first author of the paper, text, system) -> the printed difference, from the studies' own figures.

    Jiang et al. compare with the better of two sizes of Mixed; their English-French table is not available.
    """
    found = {}
    for bundle in map(Bundle, folders):
        for study in bundle.keys(STUDIES):
            name = f"figures/{PRINTED}.json"
            files = bundle.unpack(f"{STUDIES}/{study}", {name})
            for measure in json.loads(files[name])["measures"] if name in files else ():
                if measure["name"] == "printed":
                    author = measure["at"]["table"].partition(" ")[0].lower()
                    found[author, ZH_EN if study.endswith("zh-en") else EN_FR, measure["method"]] = measure["value"]
    table = load_published()
    means = table[(table.paper == "jiang2020") & (table.exhibit == "T2")].groupby("row")["value"].mean()
    for system, row in (("waldm-encoder", "Encoder"), ("waldm-edc", "E/DC")):
        found["jiang", EN_DE, system] = means[row] - means["News + TED"]
    return found


def difference(ours: Mapping[str, float], base: Mapping[str, float]) -> Difference | None:
    """Return the difference of two systems; None if one of them was not trained."""
    if not ours or not base:
        return None
    values = (list(ours.values()), list(base.values()))
    parts = [(standard_deviation(one) or 0.0, len(one)) for one in values]
    value, counts = mean(values[0]) - mean(values[1]), (len(values[0]), len(values[1]))
    reach = half_width(parts) if min(counts) >= MIN_SEEDS else None
    if reach is None:
        return Difference(value, None, counts, None)
    error, freedom = standard_error(parts)
    return Difference(value, reach, counts, two_sided(value / error, freedom))


Line = tuple[str, dict[int, Difference], float | None]  # label, length -> difference, printed difference


def lines_of(
    systems: tuple[str, ...], scores: Scores, printed: Mapping[tuple[str, str], float], baseline_in_print: str
) -> dict[str, list[Line]]:
    """Return text -> its lines."""
    found: dict[str, list[Line]] = defaultdict(list)
    for text in TEXTS:
        for system in systems:
            for baseline in BASELINES:
                if system not in ONLY_FOR.get(baseline, (system,)):
                    continue
                of_length = {
                    updates: one
                    for updates in (SHORT, LONG)
                    if (
                        one := difference(
                            scores.get((text, system, updates), {}), scores.get((text, baseline, updates), {})
                        )
                    )
                }
                if of_length:
                    known = printed.get((text, system)) if baseline == baseline_in_print else None
                    found[text].append((_name(system, baseline), of_length, known))
    return found


def draw(title: str, sections: Mapping[str, list[Line]], path: Path) -> None:
    """Write one paper's plot."""
    detail = (
        "Mean BLEU over domains, less that of the baseline. Bars: 95 % intervals over seeds (Welch). Printed: on the "
        "paper's own text."
    )
    rows = sum(len(lines) + 1 for lines in sections.values())
    head, foot = 0.5 + detail_height(detail), 0.72
    height = head + 0.24 * rows + foot
    with style():
        figure = new_figure(height)
        axes = figure.subplots()
        names: list[str] = []
        for text, lines in sections.items():
            place = -len(names)
            axes.text(
                -0.02,
                place,
                TEXTS[text],
                transform=axes.get_yaxis_transform(),
                ha="right",
                va="center",
                weight="bold",
                size=8,
            )
            names.append("")
            last = ""
            for label, of_length, known in lines:
                _mark(axes, -len(names), of_length, known)
                system = label.partition(" \N{MINUS SIGN} ")[0]
                names.append(label.removeprefix(f"{system} ") if system == last else label)
                last = system
        label_differences(axes, names)
        for updates, face in ((LONG, COLOURS[0]), (SHORT, "white")):
            axes.plot(
                [], [], color=COLOURS[0], marker="o", markersize=4.5, markerfacecolor=face, label=f"{updates:,} updates"
            )
        axes.plot([], [], color=COLOURS[1], marker="D", markersize=3.5, linestyle="", label="printed")
        figure.subplots_adjust(left=0.44, right=0.97, bottom=foot / height, top=1 - head / height)
        figure.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0), ncols=3, handles=axes.get_legend_handles_labels()[0])
        heading(figure, title, detail)
        figure.savefig(path, metadata={"Software": None})


def _mark(axes: Axes, place: float, of_length: Mapping[int, Difference], printed: float | None) -> None:
    for updates, one in of_length.items():
        y = place + (0.16 if updates == LONG else -0.16)
        if one.reach is not None:
            axes.plot([one.value - one.reach, one.value + one.reach], [y, y], color=COLOURS[0], linewidth=1.2)
        face = COLOURS[0] if updates == LONG else "white"
        axes.plot([one.value], [y], color=COLOURS[0], marker="o", markersize=4, markerfacecolor=face, linestyle="")
    if printed is not None:
        axes.plot([printed], [place], color=COLOURS[1], marker="D", markersize=3, linestyle="", zorder=3)


def main() -> None:
    """Print the numbers and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", type=Path, nargs="+")
    parser.add_argument("--figures", type=Path)
    args = parser.parse_args()
    scores, printed = read_scores(args.bundles), read_printed(args.bundles)
    print("| paper | text | difference | in print | 4,000 updates | seeds | 8,000 updates | seeds |")
    print("|---|---|---|---:|---:|---:|---:|---:|")
    for paper, (title, systems) in PAPERS.items():
        author = paper.rstrip("0123456789")
        own = {key[1:]: value for key, value in printed.items() if key[0] == author}
        sections = lines_of(systems, scores, own, "mixed-enlarged" if author == "jiang" else "mixed")
        for text, lines in sections.items():
            for label, of_length, known in lines:
                cells = [cell for updates in (SHORT, LONG) for cell in _cells(of_length.get(updates))]
                in_print = "" if known is None else signed(known, 2)
                print(f"| {paper} | {TEXTS[text]} | {label} | {in_print} | {' | '.join(cells)} |")
        if args.figures:
            draw(title, sections, args.figures / f"forest-{paper}.png")

    print("\n| text | control | difference | seeds | p | p, Holm |\n|---|---|---:|---:|---:|---:|")
    for text, pairs in CONTROLLED:
        found = [
            difference(scores.get((text, ours, LONG), {}), scores.get((text, base, LONG), {})) for ours, base in pairs
        ]
        # Of a control that is not trained, any p-value is possible; 1 gives the largest correction of the others.
        corrected = holm([1.0 if one is None or one.p is None else one.p for one in found])
        for (ours, base), one, p in zip(pairs, found, corrected, strict=True):
            if one is not None and one.p is not None:
                print(f"| {TEXTS[text]} | {_name(ours, base)} | {' | '.join(_cells(one))} | {one.p:.3f} | {p:.3f} |")


def _name(system: str, baseline: str) -> str:
    base = OTHER_NAMES.get((system, baseline), BASELINES[baseline])
    return f"{(SYSTEMS | BASELINES)[system]} \N{MINUS SIGN} {base}"


def _cells(one: Difference | None) -> tuple[str, str]:
    if one is None:
        return "", ""
    reach = "" if one.reach is None else f" \N{PLUS-MINUS SIGN}{one.reach:.2f}"
    return f"{signed(one.value, 2)}{reach}", f"{one.seeds[0]}, {one.seeds[1]}"


if __name__ == "__main__":
    main()
