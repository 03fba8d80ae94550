"""Counts of n-grams that scores leave are those that significance tests take."""

from __future__ import annotations

from pathlib import Path

import pytest

from mdnmt.score.metrics import string_based, tokenised_bleu
from mdnmt.score.metrics.sentence_counts import shared
from mdnmt.score.significance.sentence_statistics import text_counter

REFERENCES = ["The committee adopted it.", "Members met on Monday (again).", "It rains."]
HYPOTHESES = ["The committee has adopted it.", "Members meet on Monday.", "It is raining."]


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter", "bleu_tok"])
def test_shared_counts_give_the_same_scores_and_are_made_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def both() -> tuple[float, float]:
        if name == "bleu_tok":
            score = tokenised_bleu.score(HYPOTHESES, REFERENCES, "en", "moses")
        else:
            score = string_based.score(name, HYPOTHESES, REFERENCES, "en")
        return score.score, text_counter(name, REFERENCES, "en")(HYPOTHESES).total  # type: ignore[arg-type]

    alone = both()
    with shared(tmp_path / "counts"):
        assert both() == alone
    (file,) = (tmp_path / "counts").iterdir()
    with shared(tmp_path / "counts"):
        assert both() == alone
        (same,) = (tmp_path / "counts").iterdir()
        assert same == file
        # They are read, not counted again; other text has other counts.
        monkeypatch.setattr("mdnmt.score.metrics.sentence_counts.np.load", lambda *_, **__: pytest.fail("read"))
        with pytest.raises(pytest.fail.Exception):
            both()
        text_counter(name, REFERENCES, "en")(HYPOTHESES[::-1])  # type: ignore[arg-type]
    assert len(list((tmp_path / "counts").iterdir())) == 2
