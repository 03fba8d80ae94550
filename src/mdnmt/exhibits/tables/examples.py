"""Build the table of ambiguous words in test sentences, as each system translates them (Jiang et al. 2020, Table 7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mdnmt.config.base import Frozen
from mdnmt.errors import DataError
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons, RowRun
from mdnmt.exhibits.spec_fields import ScoreRow
from mdnmt.exhibits.specs import ExamplesTableSpec
from mdnmt.fsio import read_json

HEADERS = (Header(key="text", label="Sentence", metric="text", is_text=True),)


class Example(Frozen):
    """A test sentence with an ambiguous word, and its translations."""

    word: str  # in the source language, as the sentence has it or in lower case
    domain: str
    source: str
    reference: str
    translations: dict[str, str]  # method -> text


def build(spec: ExamplesTableSpec) -> Grid:
    """Return the table of `spec`: the source, the reference and each system's translation of each sentence.

    Raises:
        DataError: the file is invalid.
    """
    reasons = Reasons()
    notes = list(spec.notes)
    examples, absent = _examples(spec, spec.ambiguity) if spec.ambiguity else ([], ())
    notes += [f'No test sentence of these domains has the word "{word}".' for word in absent]
    if not examples:
        why = spec.missing or ("no ambiguous word was found" if spec.ambiguity else "not made yet")
        notes = [f"No example: {why}.", *notes]
    labels = {column.name: column.label for column in spec.columns}
    rows = []
    for number, example in enumerate(examples, start=1):
        group = f"{number}. {example.word} ({labels.get(example.domain, example.domain)})"
        source = Cell(text=example.source, emphasis=_found(example.word, example.source))
        rows.append(GridRow(group=group, label="Source", method="", cells=(source,)))
        rows.append(GridRow(group=group, label="Reference", method="", cells=(Cell(text=example.reference),)))
        rows += [_translation(example, group, system, reasons) for system in spec.systems]
    return Grid(
        kind="examples",
        title=spec.full_title,
        where=spec.where,
        headers=HEADERS,
        rows=tuple(rows),
        reasons=tuple(reasons.texts),
        notes=tuple(notes),
    )


def _examples(spec: ExamplesTableSpec, path: Path) -> tuple[list[Example], list[str]]:
    """Return the examples, those of the words in `spec` first, and the words in `spec` that have none."""
    places = {name: place for place, name in enumerate(spec.word_domains)}
    asked = [one for one in read_examples(path, "asked") if one.word in spec.words and one.domain in places]
    asked.sort(key=lambda one: (spec.words.index(one.word), places[one.domain]))
    absent = [word for word in spec.words if word not in {one.word for one in asked}]
    return [*asked, *(one for one in read_examples(path) if one.word not in spec.words)], absent


def read_examples(path: Path, key: str = "examples") -> list[Example]:
    """Return the examples of an ambiguity.json: those of ambiguous words, or those of words in a table (`asked`).

    Raises:
        DataError: the file is not an ambiguity.json.
    """
    try:
        written = read_json(path)
        found: list[dict[str, Any]] = written.get(key, []) if key == "asked" else written[key]
        return [Example.model_validate({key: each.get(key) for key in Example.model_fields}) for each in found]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
        reason = " ".join(str(error).split())
        raise DataError(f"{path}: expected an ambiguity.json with examples ({reason}); analyse again") from error


def _translation(example: Example, group: str, system: ScoreRow, reasons: Reasons) -> GridRow:
    text = example.translations.get(system.method)
    marks = () if text is not None else (reasons.mark(system.missing or "not translated"),)
    runs = tuple(RowRun(seed=run.seed, folder=run.scores.parent.parent.as_posix()) for run in system.runs[:1])
    cell = Cell() if text is None else Cell(text=text)
    return GridRow(group=group, label=system.label, method=system.method, cells=(cell,), marks=marks, runs=runs)


def _found(word: str, sentence: str) -> tuple[int, int] | None:
    """Return where the word begins and ends in the sentence; None if it is not there as a whole word."""
    found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", sentence, re.IGNORECASE) if word else None
    return found.span() if found else None
