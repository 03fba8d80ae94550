"""Both tests of sentences as on sacreBLEU's command line; where they differ from it, and why."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from compared_text import REFERENCES, SACREBLEU, noisy, write

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.score.significance.paired_tests import PairedResult, compare_pair, paired_result
from mdnmt.score.significance.resampling import BLOCK, bootstrap_scores, randomised_differences
from mdnmt.score.significance.sentence_statistics import SentenceCounts, accuracy_counts, comet_counts, text_counter

TITLES: dict[Metric, str] = {"bleu": "BLEU", "chrf": "chrF2", "ter": "TER"}


def pair(metric: Metric, one: list[str], other: list[str], lang: str = "en") -> tuple[SentenceCounts, SentenceCounts]:
    count = text_counter(metric, REFERENCES, lang)
    return count(one), count(other)


def told(folder: Path, outputs: list[list[str]], *options: str) -> list[dict[str, dict[str, float]]]:
    files = [str(write(folder / str(number), lines)) for number, lines in enumerate([REFERENCES, *outputs])]
    command = [*SACREBLEU, files[0], "-i", *files[1:], *options, "-f", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: list[dict[str, dict[str, float]]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "number", "metrics"),
    [("bs", 1000, ("bleu", "chrf")), ("bs", BLOCK + 300, ("bleu", "ter")), ("ar", 2 * BLOCK + 17, ("bleu", "chrf"))],
)
def test_p_values_are_those_of_the_command_line(
    tmp_path: Path, kind: str, number: int, metrics: tuple[Metric, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    # Words of one in seven lines differ from a first system's; another has trailing blanks and far fewer right words.
    outputs = [noisy(1, 0.4), noisy(2, 0.3), [f"{line} " for line in noisy(3, 0.5)]]
    found = told(tmp_path, outputs, f"--paired-{kind}", f"--paired-{kind}-n", str(number), "-m", *metrics)
    monkeypatch.setenv("SACREBLEU_SEED", "99")  # the user's seed is not ours
    for system, metric in product((1, 2), metrics):
        draws = {"num_resamples" if kind == "bs" else "num_trials": number}
        ours = compare_pair(*pair(metric, outputs[0], outputs[system]), **draws)
        theirs, base = found[system][TITLES[metric]], found[0][TITLES[metric]]
        assert (ours.p_sacrebleu if kind == "bs" else ours.p_randomisation) == theirs["p_value"]
        assert ours.system_score == pytest.approx(theirs["score"], abs=1e-9)
        assert ours.delta == pytest.approx(theirs["score"] - base["score"], abs=1e-9)


def test_the_first_draws_are_those_of_a_smaller_number() -> None:
    one, other = pair("bleu", noisy(1, 0.4), noisy(2, 0.3))
    few, many = (bootstrap_scores([one, other], number) for number in (10, 3 * BLOCK))
    assert np.array_equal(few, many[:10])
    few, many = (randomised_differences([(one, other)], number) for number in (10, 3 * BLOCK))
    assert np.array_equal(few, many[:10])


def test_one_table_at_once_is_each_pair_alone() -> None:
    one, other = pair("chrf", noisy(1, 0.4), noisy(2, 0.3))
    third = comet_counts(np.random.default_rng(1).random(len(REFERENCES)).tolist())
    together = bootstrap_scores([one, third, other], 50)
    for column, alone in enumerate((one, third, other)):
        assert together[:, column] == pytest.approx(bootstrap_scores([alone], 50)[:, 0], rel=1e-12)


def test_swapping_the_systems_turns_the_sign_and_keeps_p() -> None:
    for metric in ("bleu", "chrf"):
        one, other = pair(metric, noisy(1, 0.4), noisy(2, 0.3))
        there, back = compare_pair(one, other, 200, 200), compare_pair(other, one, 200, 200)
        assert there.delta == -back.delta != 0
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
        assert there.low < there.delta < there.high
        assert replace(there, delta=0, low=0, high=0, baseline_score=0, system_score=0) == replace(
            back, delta=0, low=0, high=0, baseline_score=0, system_score=0
        )


def test_a_system_against_itself_is_no_difference_and_a_far_better_one_is() -> None:
    for metric in ("bleu", "chrf"):
        one, best = pair(metric, noisy(1, 0.4), REFERENCES)
        same = compare_pair(one, one, 100, 100)
        assert (same.delta, same.low, same.high) == (0, 0, 0)
        assert (same.p_bootstrap, same.p_sacrebleu, same.p_randomisation) == (1, 1, 1)
        better = compare_pair(one, best, 100, 100)
        assert better.p_bootstrap == better.p_sacrebleu == better.p_randomisation == pytest.approx(1 / 101)
        assert better.delta > 10


def test_three_sentences_that_differ_are_no_proof() -> None:
    """All eight ways to swap three sentences: two of them give a difference as large. sacreBLEU finds 1 in 10,001."""
    lines = noisy(1, 0.4)
    better = [*REFERENCES[:3], *lines[3:]]
    found = compare_pair(*pair("chrf", lines, better), num_resamples=10)
    assert found.delta > 0
    assert found.p_randomisation == pytest.approx(2 / 8, abs=0.02)


def test_randomisation_of_accuracy_is_the_exact_test_of_signs() -> None:
    """One piece a sentence: the number of sentences in which one alone is right decides (McNemar's exact test)."""
    one, other = [0] * 9 + [1] * 1 + [1] * 30, [1] * 9 + [0] * 1 + [1] * 30
    found = compare_pair(accuracy_counts(one, [1] * 40), accuracy_counts(other, [1] * 40), num_trials=40_000)
    assert found.delta == pytest.approx(20)
    assert found.p_randomisation == pytest.approx(2 * (1 + 10) / 2**10, abs=0.002)


def test_comet_has_the_interval_of_a_mean() -> None:
    scores = np.random.default_rng(3).normal(0.8, 0.1, (2, 400))
    found = compare_pair(comet_counts(scores[0].tolist()), comet_counts(scores[1].tolist()), 4000, 10)
    error = 100 * (scores[1] - scores[0]).std() / 20
    assert (found.low, found.high) == pytest.approx((found.delta - 1.96 * error, found.delta + 1.96 * error), abs=0.06)


def test_sacrebleu_counts_one_tail_where_one_system_is_clearly_ahead() -> None:
    """What the page says of sacreBLEU's p: half of the two-sided one."""
    resampled = 2 + np.random.default_rng(1).normal(0, 1, 100_000)
    found = paired_result(20.0, 22.0, resampled, np.zeros(1))
    assert found.p_bootstrap == pytest.approx(0.0455, abs=0.003)
    assert found.p_sacrebleu == pytest.approx(0.0455 / 2, abs=0.003)
    assert paired_result(22.0, 20.0, -resampled, np.zeros(1)).p_bootstrap == found.p_bootstrap


def test_what_cannot_be_compared_is_refused() -> None:
    one = pair("bleu", REFERENCES, REFERENCES)[0]
    shorter = SentenceCounts(one.counts_NC[1:], one.score)
    with pytest.raises(DataError, match="40 sentences of the baseline and 39 of the system"):
        compare_pair(one, shorter)
    with pytest.raises(DataError, match="one at least"):
        compare_pair(*[SentenceCounts(one.counts_NC[:0], one.score)] * 2)
    assert isinstance(compare_pair(one, one, 1, 1), PairedResult)
