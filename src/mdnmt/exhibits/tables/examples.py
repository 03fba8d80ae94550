"""Table of ambiguous words in test sentences, as each system translates them (Jiang et al. 2020, Table 7)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from mdnmt.config.base import Frozen
from mdnmt.exhibits.grid import Cell, Grid, GridRow, Header, Reasons, RowRun
from mdnmt.exhibits.registry import TableSpec, register
from mdnmt.exhibits.rows import Column, ScoreRow
from mdnmt.fsio import read_json

if TYPE_CHECKING:
    from mdnmt.exhibits.table_request import TableRequest

HEADERS = (Header(key="text", label="Sentence", metric="text", is_text=True),)


class Example(Frozen):
    """A test sentence with an ambiguous word, and its translations."""

    word: str  # in the source language, as the sentence has it or in lower case
    domain: str
    source: str
    reference: str
    translations: dict[str, str]  # method -> text


@register
class ExamplesTable(TableSpec):
    """Ambiguous words in test sentences, with the translations of several systems (Jiang et al. 2020, Table 7)."""

    reads_ambiguous_words: ClassVar = True
    kind: Literal["examples"] = "examples"
    ambiguity: Path | None = None  # ambiguity.json
    systems: tuple[ScoreRow, ...] = ()
    columns: tuple[Column, ...] = ()
    words: tuple[str, ...] = ()  # words that come first, ambiguous in this text or not
    word_domains: tuple[str, ...] = ()  # domains that are searched for these words
    missing: str | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def select(cls, request: TableRequest) -> Self:
        """Return the table of a study."""
        words = request.asked_words
        return cls(
            **request.common,
            words=words,
            word_domains=request.printed_domains if words else (),
            **request.ambiguous_words(),
            systems=tuple(request.score_row(row, runs) for row, runs, _ in request.rows()),
            columns=request.columns,
        )

    def inputs(self) -> list[Path]:
        """Return the files that the table is made from."""
        return [self.ambiguity] if self.ambiguity else []

    def needs(self) -> tuple[ScoreRow, ...]:
        """Return its systems."""
        return self.systems

    def build(self) -> Grid:
        """Return the table: the source, the reference and each system's translation of each sentence.

        Raises:
            DataError: the file is damaged.
        """
        reasons = Reasons()
        notes = list(self.notes)
        examples, absent = _examples(self, self.ambiguity) if self.ambiguity else ([], ())
        notes += [f'No test sentence of these domains has the word "{word}".' for word in absent]
        if not examples:
            why = self.missing or ("no ambiguous word was found" if self.ambiguity else "not made yet")
            notes = [f"No example: {why}.", *notes]
        labels = {column.name: column.label for column in self.columns}
        rows = []
        for number, example in enumerate(examples, start=1):
            group = f"{number}. {example.word} ({labels.get(example.domain, example.domain)})"
            source = Cell(text=example.source, emphasis=_found(example.word, example.source))
            rows.append(GridRow(group=group, label="Source", method="", cells=(source,)))
            rows.append(GridRow(group=group, label="Reference", method="", cells=(Cell(text=example.reference),)))
            rows += [_translation(example, group, system, reasons) for system in self.systems]
        return Grid(
            kind="examples",
            title=self.full_title,
            where=self.where,
            headers=HEADERS,
            rows=tuple(rows),
            reasons=tuple(reasons.texts),
            notes=tuple(notes),
        )


def _examples(spec: ExamplesTable, path: Path) -> tuple[list[Example], list[str]]:
    """Return the examples, those of the words in `spec` first, and the words in `spec` that have none."""
    places = {name: place for place, name in enumerate(spec.word_domains)}
    asked = [one for one in read_examples(path, "asked") if one.word in spec.words and one.domain in places]
    asked.sort(key=lambda one: (spec.words.index(one.word), places[one.domain]))
    absent = [word for word in spec.words if word not in {one.word for one in asked}]
    return [*asked, *(one for one in read_examples(path) if one.word not in spec.words)], absent


def read_examples(path: Path, key: str = "examples") -> list[Example]:
    """Return the examples of an ambiguity.json: those of ambiguous words, or those of words in a table (`asked`)."""
    found = read_json(path).get(key, [])
    return [Example.model_validate({key: each[key] for key in Example.model_fields}) for each in found]


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
