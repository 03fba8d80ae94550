"""Scores of many sums at once are those of sacreBLEU, sum by sum; files beside the hypotheses are read as they are."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from compared_text import REFERENCES, make_task, noisy, write
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.score.metrics import tokenised_bleu
from mdnmt.score.metrics.string_based import STRING_BASED, score
from mdnmt.score.significance.sentence_statistics import (
    bleu_scores,
    chrf_scores,
    comet_counts,
    counter,
    perplexity_counts,
    text_counter,
)
from mdnmt.score.test_sets import load_test_sets


def counts(columns: int) -> st.SearchStrategy[np.ndarray]:
    return arrays.arrays(np.int64, (5, columns), elements=st.sampled_from([0, 0, 1, 2, 3, 7, 40, 999]))


@settings(max_examples=100, deadline=None)
@given(counts(10))
def test_bleu_of_any_counts(sums: np.ndarray) -> None:
    sums[:, 2:6] = np.minimum(sums[:, 2:6], sums[:, 6:])  # no more matches than n-grams
    sums[:, 0] = sums[:, 6]  # as many words as unigrams
    for smooth, metric in ((True, BLEU()), (False, BLEU(smooth_method="none"))):
        expected = [metric._compute_score_from_stats(row.tolist()).score for row in sums]
        assert bleu_scores(sums, smooth=smooth) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(counts(18))
def test_chrf_of_any_counts(sums: np.ndarray) -> None:
    sums[:, 2::3] = np.minimum(sums[:, 2::3], np.minimum(sums[:, ::3], sums[:, 1::3]))
    expected = [CHRF()._compute_score_from_stats(row.tolist()).score for row in sums]
    assert chrf_scores(sums) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("lang", ["fr", "zh"])
def test_totals_are_the_scores_of_the_files(lang: str) -> None:
    references, hypotheses = (
        ["我们在北京喝茶。", "猫坐在垫子上", "天气 很好"] * 5,
        ["我们在南京喝茶。", "猫坐在床上", "天气 好"] * 5,
    )
    if lang == "fr":  # each metric cuts the punctuation in its own way
        references, hypotheses = (
            [f"L'eau (à 5 %), {line}..." for line in side] for side in (REFERENCES, noisy(1, 0.3))
        )
    assert STRING_BASED.keys() >= {"bleu", "chrf", "ter"}
    for name in STRING_BASED:
        found = text_counter(name, references, lang)(hypotheses)  # type: ignore[arg-type]
        assert found.total == pytest.approx(score(name, hypotheses, references, lang).score, rel=1e-12)
    if lang == "fr":
        expected = tokenised_bleu.score(hypotheses, references, lang, "moses").score
        assert text_counter("bleu_tok", references, lang)(hypotheses).total == pytest.approx(expected, rel=1e-12)


def test_files_beside_the_hypotheses(tmp_path: Path) -> None:
    test_sets = load_test_sets(make_task(tmp_path / "task"))
    folder = write(tmp_path / "run/hyp/hyp.economy.txt", noisy(1, 0.3)).parent
    segments = write(tmp_path / "run/comet-1.segments.json", [json.dumps({"domains": {"economy": [0.5, 0.7]}})])

    def total(metric: Metric) -> float | None:
        found = counter(metric, test_sets, "economy")(folder, segments)
        return found and found.total

    assert total("comet") == pytest.approx(60)
    assert counter("comet", test_sets, "economy")(folder, None) is None
    assert total("accuracy") is None and total("perplexity") is None
    one = {"pieces": [4, 6, 0], "nll": [2.0, 5.0, 0.0], "correct": [3, 4, 0]}
    write(folder / "likelihood.json", [json.dumps({"vocabulary": "v", "domains": {"economy": one}})])
    assert total("accuracy") == pytest.approx(70)
    assert total("perplexity") == pytest.approx(math.exp(0.7))
    with pytest.raises(DataError, match=r"segments.json: expected COMET's score of each sentence of trade"):
        counter("comet", test_sets, "trade")(folder, segments)


def test_means_of_other_lengths_are_means() -> None:
    assert comet_counts([0.1, 0.2, 0.6]).total == pytest.approx(30)
    assert perplexity_counts([0.0, 0.0], [3, 1]).total == 1
