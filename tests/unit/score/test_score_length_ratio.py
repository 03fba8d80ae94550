"""The length ratio: what sacreBLEU prints as `ratio`, and no measure of quality."""

from __future__ import annotations

import pytest
import sacrebleu

from mdnmt.exhibits.grid import Cell, GridRow, Header, mark_best
from mdnmt.score.metrics import string_based

REFERENCES = ["The cat sat on the mat.", "It rained, so we stayed at home.", "Nothing else happened."]
SHORT = ["The cat sat.", "It rained.", "Nothing else happened."]
CHINESE = ["\u732b\u5750\u5728\u57ab\u5b50\u4e0a\u3002", "\u4e0b\u96e8\u4e86\u3002"]


@pytest.mark.parametrize(
    ("language", "hypotheses", "references", "tokenize"),
    [
        ("en", SHORT, REFERENCES, "13a"),
        ("en", REFERENCES, REFERENCES, "13a"),
        ("zh", [CHINESE[0][:4], CHINESE[1] * 2], CHINESE, "zh"),
    ],
)
def test_it_is_sacrebleus_ratio(language: str, hypotheses: list[str], references: list[str], tokenize: str) -> None:
    theirs = sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenize)
    found = string_based.score("length_ratio", hypotheses, references, language)
    assert found.score == pytest.approx(100 * theirs.sys_len / theirs.ref_len)
    assert f"tok:{tokenize}" in found.signature
    bleu = string_based.score("bleu", hypotheses, references, language)
    assert bleu.score == pytest.approx(theirs.score), "the references of the two metrics are not mixed up"


def test_no_row_is_best() -> None:
    headers = [Header(key="law", label="law", metric=name) for name in ("bleu", "length_ratio")]
    cells = [[Cell(text=f"{v:.2f}", mean=v, num_seeds=1) for v in values] for values in ((20.0, 95.0), (30.0, 104.0))]
    rows = [GridRow(group="", label=str(n), method=str(n), cells=tuple(row)) for n, row in enumerate(cells)]
    marked = mark_best(rows, headers)
    assert [[cell.best for cell in row.cells] for row in marked] == [[False, False], [True, False]]
