"""Build the tables of generated text: how many words are right, WALDM's proportions, the use of experts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons, RowRun
from mdnmt.exhibits.spec_fields import WordRow
from mdnmt.exhibits.specs import WordTableSpec
from mdnmt.fsio import read_json
from mdnmt.numbers.rounding import half_up, mean, standard_deviation

KINDS = {"common": "Common", "cue": "Domain's own", "context": "By context", "label": "By label"}
CEILING_GROUP = "The best there is"
CEILINGS = {
    "nothing": "without any knowledge of the domain",
    "context": "from the sentence alone",
    "label": "with the domain's label",
}
# Points that a number may differ from its ceiling; the second one is for ceilings that guesses reach.
TOLERANCE, GUESS_TOLERANCE = 5.0, 10.0
_READ = {"word_accuracy": "domains", "word_proportions": "proportions", "gate_use": "gates"}
Numbers = dict[tuple[str, str], float]  # (group, key) -> number; group is the upper line of the head


def ceiling(knows: str, num_domains: int) -> dict[str, float]:
    """Return the highest percentage of right words of each kind that is possible with this knowledge.

    Domains have equally many sentences, and ambiguous words are equally frequent in each, so any guess among k domains
    is right once in k times.
    """
    guess = 100.0 / num_domains
    by_context = guess if knows == "nothing" else 100.0
    return {"common": 100.0, "cue": 100.0, "context": by_context, "label": 100.0 if knows == "label" else guess}


def build(spec: WordTableSpec) -> Grid:
    """Return the table of `spec`.

    Raises:
        DataError: a words.json is invalid.
    """
    reasons, measured = Reasons(), []
    for row in spec.rows:
        found = [_numbers(spec.kind, read_words(run.scores)) for run in row.runs]
        why = row.missing or (None if any(found) else f"{row.label} has no {_READ[spec.kind]}")
        measured.append((row, found, () if why is None else (reasons.mark(why),)))
    columns = list(dict.fromkeys(key for _, found, _ in measured for numbers in found for key in numbers))
    headers = _headers(spec, columns)
    rows = []
    for row, found, marks in measured:
        cells = [_cell([numbers[key] for numbers in found if key in numbers], key[1]) for key in columns]
        cells += _verdict(spec, row, found)
        runs = tuple(RowRun(seed=run.seed, folder=run.scores.parent.parent.as_posix()) for run in row.runs)
        about = {"group": row.group, "label": row.label, "method": row.method, "marks": marks, "runs": runs}
        rows.append(GridRow(cells=tuple(cells), **about))
    if spec.kind == "word_accuracy" and columns:
        rows = [*(_ceiling_row(name, spec.num_domains, columns) for name in CEILINGS), *rows]
    return Grid(
        kind="words",
        title=spec.full_title,
        headers=tuple(headers),
        rows=tuple(rows),
        reasons=tuple(reasons.texts),
        notes=(*_NOTES[spec.kind], *spec.notes),
    )


def read_words(path: Path) -> dict[str, Any]:
    """Return the contents of a words.json, written by `mdnmt word-accuracy`.

    Raises:
        DataError: the file is not a words.json.
    """
    try:
        found = dict(read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(f"{path}: expected what `mdnmt word-accuracy` writes ({error}); make it again") from error
    for key in _READ.values():
        if not isinstance(found.get(key), dict):
            raise DataError(f"{path}: expected the key {key!r}; make it again with `mdnmt word-accuracy`")
    return found


def accuracy(words: dict[str, Any]) -> dict[str, float]:
    """Return the percentage of right words of each kind, over all domains."""
    found = {}
    for kind in KINDS:
        counts = [domain[kind] for domain in words["domains"].values() if kind in domain]
        if total := sum(count["words"] for count in counts):
            found[kind] = 100.0 * sum(count["right"] for count in counts) / total
    return found


def gate_use(gates: dict[str, Any]) -> list[dict[str, float]]:
    """Return for each layer how the experts are used.

    `experts`: the exponential of the entropy of the mean gate, from 1 (one expert does everything) to their number.
    `largest`: the largest mean share of an expert, in percent. `apart`: how far the domains' gates are from their mean,
    in percent (half the sum of absolute differences): 0 if all domains use the same experts.
    """
    g_DLN = np.asarray(list(gates.values()), dtype=np.float64)
    found = []
    for g_DN in g_DLN.swapaxes(0, 1):
        centre_N = g_DN.mean(axis=0)
        entropy = -float((centre_N * np.log(np.maximum(centre_N, 1e-12))).sum())
        apart = float(np.abs(g_DN - centre_N).sum(axis=-1).mean() / 2)
        found.append({"experts": math.exp(entropy), "largest": 100 * float(centre_N.max()), "apart": 100 * apart})
    return found


def _of_accuracy(words: dict[str, Any]) -> Numbers:
    return {("Right words (%)", kind): number for kind, number in accuracy(words).items()}


def _of_proportions(words: dict[str, Any]) -> Numbers:
    return {
        (f"Layer {layer} (%)", kind): 100.0 * share
        for kind in KINDS
        for layer, share in enumerate(words["proportions"].get(kind, []), start=1)
    }


def _of_gates(words: dict[str, Any]) -> Numbers:
    layers = gate_use(words["gates"]) if words["gates"] else []
    return {(f"Layer {n}", key): number for n, layer in enumerate(layers, start=1) for key, number in layer.items()}


_OF: dict[str, Callable[[dict[str, Any]], Numbers]] = {
    "word_accuracy": _of_accuracy,
    "word_proportions": _of_proportions,
    "gate_use": _of_gates,
}


def _numbers(kind: str, words: dict[str, Any]) -> Numbers:
    return dict(sorted(_OF[kind](words).items(), key=lambda item: item[0][0]))


def _cell(values: Sequence[float], key: str) -> Cell:
    if not values:
        return Cell()
    places = 2 if key == "experts" else 1
    spread = standard_deviation(values)
    return Cell(
        text=half_up(mean(values), places),
        values=tuple(values),
        mean=mean(values),
        sd=spread,
        spread=None if spread is None else half_up(spread, places),
        num_seeds=len(values),
    )


def _verdict(spec: WordTableSpec, row: WordRow, found: Sequence[Numbers]) -> list[Cell]:
    """Return whether a row reaches its ceiling, as the last column of a table of kind word_accuracy."""
    if spec.kind != "word_accuracy":
        return []
    if not found or row.knows is None:
        return [Cell()]
    best = ceiling(row.knows, spec.num_domains)
    gaps = [_gap(mean([numbers[key] for numbers in found]), best[key[1]]) for key in found[0]]
    text = "above" if max(gaps) > 1 else "below" if min(gaps) < -1 else "yes"
    return [Cell(text=text, mean=float(text == "yes"), num_seeds=len(found))]


def _gap(value: float, best: float) -> float:
    """Return how far a number is from its ceiling, as a multiple of its tolerance."""
    return (value - best) / (TOLERANCE if best == 100.0 else GUESS_TOLERANCE)


def _ceiling_row(knows: str, num_domains: int, columns: Sequence[tuple[str, str]]) -> GridRow:
    best = ceiling(knows, num_domains)
    cells = [Cell(text=half_up(best[kind], 1), mean=best[kind]) for _, kind in columns]
    return GridRow(group=CEILING_GROUP, label=CEILINGS[knows], method=f"ceiling-{knows}", cells=(*cells, Cell()))


_LABELS = {**KINDS, "experts": "Experts in use", "largest": "Largest (%)", "apart": "Domains apart (%)"}


def _headers(spec: WordTableSpec, columns: Sequence[tuple[str, str]]) -> list[Header]:
    headers = [
        Header(key=key, label=_LABELS[key], metric=spec.kind, group=group, places=2 if key == "experts" else 1)
        for group, key in columns
    ]
    if spec.kind == "word_accuracy":
        headers.append(Header(key="reached", label="Reached?", metric="reached", group="Its ceiling"))
    return headers


_NOTES = {
    "word_accuracy": (
        "By context: ambiguous words with a word of one domain alone beside them; by label: ambiguous words with none.",
        f"Reached: every number is within {TOLERANCE:g} points ({GUESS_TOLERANCE:g} for guesses) of the best there is "
        "for what the method knows.",
    ),
    "word_proportions": (
        "The share that a sentence's own domain has in a word's proportion, before smoothing: a mean over words.",
    ),
    "gate_use": (
        "Experts in use: the exponential of the entropy of the mean gate; 1 where one expert does everything.",
        "Domains apart: how far each domain's mean gate is from that of all; 0 where all use the same experts.",
    ),
}
