"""A table's systems against its baseline: what the verb writes, which comparison decides, and what earns a star."""

from __future__ import annotations

import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared_text import REFERENCES, make_task, noisy, write

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.fsio import read_json, write_sums
from mdnmt.score.significance import compare_systems as module
from mdnmt.score.significance.compare_systems import compare_systems, write_comparison
from mdnmt.score.significance.holm import holm
from mdnmt.score.significance.paired_tests import PairedResult, compare_pair
from mdnmt.score.significance.seeds import Comparison, compare_seeds, decide
from mdnmt.score.significance.sentence_statistics import text_counter
from mdnmt.score.significance.variance_components import SeedTest


def one(pairs: list[tuple[float, float]], p_seeds: float | None = None, p_bootstrap: float | None = None) -> Comparison:
    """Return a comparison with (delta, p of the randomisation) of each seed."""
    results = {
        str(seed): PairedResult(delta, delta, delta, p if p_bootstrap is None else p_bootstrap, 0.0, p, 0.0, delta)
        for seed, (delta, p) in enumerate(pairs)
    }
    delta = statistics.fmean(delta for delta, _ in pairs)
    return Comparison(
        delta=delta,
        least=min(delta for delta, _ in pairs),
        most=max(delta for delta, _ in pairs),
        low=delta,
        high=delta,
        over="sentences" if p_seeds is None else "seeds and sentences",
        seeds=len(pairs),
        p_bootstrap=max(result.p_bootstrap for result in results.values()),
        p_sacrebleu=0.0,
        p_randomisation=max(result.p_randomisation for result in results.values()),
        per_seed=results,
        over_seeds=None if p_seeds is None else SeedTest(delta, delta, delta, p_seeds, 4.0, 1.0, 1.0, 1.0),
    )


def decided(comparison: Comparison, metric: Metric = "bleu", correction: Any = "holm", others: int = 0) -> Comparison:
    """Return it, decided together with others that are sure."""
    found = {"a": {"law": {metric: comparison}}}
    found |= {f"b{number}": {"law": {metric: one([(1.0, 1e-9)])}} for number in range(others)}
    assert decide(found, correction, 0.05) == {metric: 1 + others}
    return found["a"]["law"][metric]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(1.0, 0.01)], "better"),
        ([(-1.0, 0.01)], "worse"),
        ([(1.0, 0.05)], None),
        ([(0.0, 0.01)], None),
        ([(1.0, 0.01), (0.1, 0.049)], "better"),
        ([(-1.0, 0.01), (-0.1, 0.049)], "worse"),
        ([(9.0, 0.001), (-1.0, 0.001)], None),  # significant both, but they contradict each other
        ([(9.0, 0.001), (0.5, 0.2)], None),
    ],
)
def test_by_sentences_alone_every_seed_must_say_so(pairs: list[tuple[float, float]], expected: str | None) -> None:
    found = decided(one(pairs))
    assert (found.verdict, found.seeds_verdict) == (expected, "inconclusive")
    assert found.p == max(p for _, p in pairs)
    lower = decided(one(pairs), metric="ter")  # the fewer the better
    assert lower.verdict == {"better": "worse", "worse": "better", None: None}[expected]


def test_one_seed_gets_no_star_for_beating_the_worst_seed_of_the_baseline() -> None:
    beats_one = replace(one([(1.0, 0.001)]), least=-0.5)  # better than the same seed, worse than another one
    assert decided(beats_one).verdict is None
    assert decided(replace(beats_one, least=0.1)).verdict == "better"
    scores = np.array([22.0, 25.0, 24.0]), np.array([24.5])
    found = compare_seeds(beats_one.per_seed, scores, (scores[0][None], scores[1][None]), 100)
    assert (found.least, found.most) == (-0.5, 2.5)


def test_with_three_seeds_their_test_decides() -> None:
    pairs = [(1.0, 0.9), (2.0, 0.001), (-0.1, 0.9)]
    found = decided(one(pairs, p_seeds=0.01))
    assert (found.verdict, found.seeds_verdict, found.p) == ("better", "better", 0.01)
    found = decided(one([(1.0, 0.001)] * 3, p_seeds=0.06))
    assert (found.verdict, found.seeds_verdict, found.p) == (None, "no difference", 0.06)


def test_the_correction_takes_stars_away() -> None:
    assert decided(one([(1.0, 0.02)]), others=1).verdict == "better"  # 1e-9 x 2, 0.02 x 1
    found = {f"s{k}": {"law": {"bleu": one([(1.0, 0.02)])}} for k in range(3)}
    assert decide(found, "holm", 0.05) == {"bleu": 3}  # type: ignore[arg-type]
    assert [each["law"]["bleu"].p_corrected for each in found.values()] == pytest.approx([0.06] * 3)
    assert [each["law"]["bleu"].verdict for each in found.values()] == [None] * 3
    # Another metric is another family.
    found = {f"s{k}": {"law": {"bleu": one([(1.0, 0.02)]), "chrf": one([(1.0, 0.02)])}} for k in range(2)}
    decide(found, "holm", 0.05)  # type: ignore[arg-type]
    assert all(each["law"][name].verdict == "better" for each in found.values() for name in each["law"])


def test_the_papers_own_star_is_an_uncorrected_bootstrap() -> None:
    found = {f"s{k}": {"law": {"bleu": one([(1.0, 0.2)] * 3, p_seeds=0.5, p_bootstrap=0.03)}} for k in range(9)}
    decide(found, "none", 0.05)  # type: ignore[arg-type]
    for each in found.values():
        comparison = each["law"]["bleu"]
        assert (comparison.verdict, comparison.p, comparison.p_corrected) == ("better", 0.03, 0.03)
        assert comparison.seeds_verdict == "no difference"


def test_equal_systems_are_rarely_starred() -> None:
    """A small form of benchmarks/star_errors.py: pairs made of two systems by swapping their sentences at random."""
    count = text_counter("bleu", REFERENCES, "en")
    first, second = count(noisy(1, 0.4)).counts_NC, count(noisy(2, 0.3)).counts_NC
    score, generator, pairs = count(REFERENCES).score, np.random.default_rng(4), 60
    stars = {"bootstrap": 0, "randomisation": 0}
    p_values = []
    for _ in range(pairs):
        tossed = generator.integers(2, size=(len(first), 1), dtype=bool)
        sides = [type(count(REFERENCES))(np.where(toss, first, second), score) for toss in (tossed, ~tossed)]
        found = compare_pair(*sides, num_resamples=400, num_trials=400)
        stars["bootstrap"] += found.delta > 0 and found.p_bootstrap < 0.05
        stars["randomisation"] += found.delta > 0 and found.p_randomisation < 0.05
        p_values.append(found.p_randomisation)
    at_most = pairs * 0.05 + 2 * (pairs * 0.05 * 0.95) ** 0.5
    assert all(number <= at_most for number in stars.values())
    assert min(holm(p_values)) > 0.05
    assert statistics.fmean(p_values) == pytest.approx(0.5, abs=0.1)  # neither blind nor too sharp


def test_the_interval_of_two_seeds_is_over_sentences() -> None:
    generator = np.random.default_rng(1)
    scores = (np.array([20.0, 20.4]), np.array([21.0, 21.2]))
    resampled = tuple(side + generator.normal(0, 0.5, (4000, 1)) for side in scores)
    pairs = {seed: PairedResult(1.0, 0.0, 2.0, 0.01, 0.005, 0.02, 20.0, 21.0) for seed in "12"}
    found = compare_seeds(pairs, scores, resampled, 100)  # type: ignore[arg-type]
    assert (found.over, found.over_seeds, found.delta) == ("sentences", None, pytest.approx(0.9))
    reach = 1.96 * 0.5 * 2**0.5
    assert (found.low, found.high) == pytest.approx((0.9 - reach, 0.9 + reach), abs=0.08)


@pytest.mark.slow
def test_seeds_that_differ_in_opposite_directions_give_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = make_task(tmp_path / "task", ("economy",))
    good, bad = (
        write(tmp_path / name / "hyp.economy.txt", noisy(1, rate)).parent for name, rate in (("a", 0), ("b", 1))
    )

    def verdicts(baseline: list[Path], system: list[Path], correction: str = "holm") -> list[str | None]:
        named = {"mixed": baseline, "waldm": system}
        systems = {name: {str(seed): folder for seed, folder in enumerate(two)} for name, two in named.items()}
        spec = {"task": task, "limit": None, "baseline": "mixed", "systems": systems, "comet": {}}
        spec |= {"metrics": ["bleu", "chrf"], "num_resamples": 1000, "num_trials": 10_000, "correction": correction}
        found = compare_systems(spec)["systems"]["waldm"]["economy"]
        return [found[metric]["verdict"] for metric in ("bleu", "chrf")]

    assert verdicts([bad, bad], [good, good]) == ["better", "better"]
    assert verdicts([good, good], [bad, bad]) == ["worse", "worse"]
    assert verdicts([bad, good], [good, bad]) == [None, None]
    assert verdicts([bad, good], [good, good]) == [None, None]
    monkeypatch.setattr(module, "ALPHA", 0.0001)
    none = verdicts([bad, bad], [good, good], "none")
    assert none == [None, None]  # the least p of 1000 resamples is 1 / 1001


def make_study(folder: Path, seeds: int) -> dict[str, Any]:
    task = make_task(folder / "task")
    systems: dict[str, dict[str, str]] = {"mixed": {}, "waldm-edc": {}, "single-trade": {}}
    for number, name in enumerate(systems):
        for seed in range(1, seeds + 1):
            target = folder / name / str(seed)
            systems[name][str(seed)] = str(target)
            for domain in ("economy", "trade"):
                if (name, domain) != ("single-trade", "economy"):
                    rate = 0.4 - 0.1 * number
                    write(target / f"hyp.{domain}.txt", noisy(100 * number + 10 * seed + len(domain), rate))
    options = {"baseline": "mixed", "limit": None, "num_resamples": 100, "num_trials": 100, "correction": "holm"}
    return {"task": str(task), "systems": systems, "metrics": ["bleu", "chrf"], "comet": {}, **options}


@pytest.mark.parametrize("seeds", [1, 3])
def test_every_system_is_compared_with_the_baseline(tmp_path: Path, seeds: int) -> None:
    spec = make_study(tmp_path, seeds)
    write_comparison(spec, tmp_path / "s.json")
    written = read_json(tmp_path / "s.json")
    # Three comparisons of each metric need 40 x 3 / 0.05 draws.
    assert {key: value for key, value in written.items() if key != "systems"} == {
        **{"baseline": "mixed", "alpha": 0.05, "correction": "holm", "seed": 12345},
        **{"num_resamples": 2400, "num_trials": 2400, "comparisons": {"bleu": 3, "chrf": 3}},
    }
    assert set(written["systems"]) == {"waldm-edc", "single-trade"}
    assert set(written["systems"]["single-trade"]) == {"trade"}  # it translates nothing else
    for domain in ("economy", "trade"):
        for metric in ("bleu", "chrf"):
            count = text_counter(metric, REFERENCES, "en")  # type: ignore[arg-type]
            expected = [
                compare_pair(
                    *(
                        count((Path(spec["systems"][name][str(seed)]) / f"hyp.{domain}.txt").read_text().splitlines())
                        for name in ("mixed", "waldm-edc")
                    ),
                    2400,
                    2400,
                )
                for seed in range(1, seeds + 1)
            ]
            found = written["systems"]["waldm-edc"][domain][metric]
            assert found["delta"] == pytest.approx(sum(pair.delta for pair in expected) / seeds)
            assert found["p_bootstrap"] == max(pair.p_bootstrap for pair in expected)
            assert found["p_sacrebleu"] == max(pair.p_sacrebleu for pair in expected)
            assert found["p_randomisation"] == max(pair.p_randomisation for pair in expected)
            assert found["per_seed"]["1"]["delta"] == pytest.approx(expected[0].delta)
            assert found["seeds"] == seeds and found["low"] < found["delta"] < found["high"]
            if seeds < 3:
                assert (found["over"], found["over_seeds"]) == ("sentences", None)
                assert found["p"] == found["p_randomisation"] and found["seeds_verdict"] == "inconclusive"
            else:
                assert found["over"] == "seeds and sentences" and found["seeds_verdict"] != "inconclusive"
                assert found["p"] == found["over_seeds"]["p"] <= found["p_corrected"]
                assert found["low"] == found["over_seeds"]["low"]


def test_metrics_that_stand_beside_the_hypotheses(tmp_path: Path) -> None:
    spec = make_study(tmp_path, 1)
    comet: dict[str, dict[str, str]] = {}
    for number, (name, folders) in enumerate(spec["systems"].items()):
        values = {domain: np.random.default_rng(number).normal(0.7 + number / 10, 0.02, 40) for domain in ("trade",)}
        path = tmp_path / f"{name}.segments.json"
        write(path, [json.dumps({"domains": {domain: found.tolist() for domain, found in values.items()}})])
        comet[name] = {"1": str(path)}
        if name != "single-trade":  # one without a likelihood.json is left out
            correct = [min(9, 6 + number + k % 3) for k in range(40)]
            one_domain = {"pieces": [9] * 40, "nll": [2.0] * 40, "correct": correct}
            likelihood = {"vocabulary": "v", "domains": dict.fromkeys(("economy", "trade"), one_domain)}
            write(Path(folders["1"]) / "likelihood.json", [json.dumps(likelihood)])
    spec |= {"metrics": ["comet", "accuracy", "perplexity"], "comet": comet}
    for path in tmp_path.glob("*/1/hyp.economy.txt"):
        path.unlink()
    write_comparison(spec, tmp_path / "s.json")
    written = read_json(tmp_path / "s.json")
    assert written["comparisons"] == {"comet": 2, "accuracy": 1, "perplexity": 1}
    edc, single = (written["systems"][name]["trade"] for name in ("waldm-edc", "single-trade"))
    assert edc["comet"]["verdict"] == single["comet"]["verdict"] == "better"
    assert edc["comet"]["delta"] == pytest.approx(10, abs=2)
    assert edc["accuracy"]["verdict"] == "better" and set(single) == {"comet"}
    assert (edc["perplexity"]["verdict"], edc["perplexity"]["p"]) == (None, 1.0)


def test_the_limit_holds_for_all(tmp_path: Path) -> None:
    spec = make_study(tmp_path, 1) | {"limit": 20}
    with pytest.raises(DataError, match="40 lines, but"):
        write_comparison(spec, tmp_path / "s.json")
    for path in tmp_path.glob("*/1/hyp.*.txt"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:20]))
    write_comparison(spec, tmp_path / "s.json")


def test_a_removed_translation_is_an_error_and_not_a_comparison_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = make_study(tmp_path, 1)
    folder = Path(spec["systems"]["mixed"]["1"])
    files = sorted(folder.glob("hyp.*.txt"))
    write_sums(folder, [file.name for file in files])
    write_comparison(spec, tmp_path / "s.json")
    files[0].unlink()
    with pytest.raises(DataError, match="is gone, though sums") as caught:
        write_comparison(spec, tmp_path / "t.json")
    assert files[0].name in str(caught.value)
    assert len(files) > 1 and not (tmp_path / "t.json").exists()


def test_systems_that_cannot_be_compared_are_one_line(tmp_path: Path) -> None:
    spec = make_study(tmp_path, 2)

    def said(changed: dict[str, Any]) -> str:
        with pytest.raises(DataError) as caught:
            write_comparison(changed, tmp_path / "s.json")
        assert not (tmp_path / "s.json").exists()
        return str(caught.value)

    assert "no system 'mixd' to be the baseline" in said(spec | {"baseline": "mixd"})
    systems = dict(spec["systems"])
    assert "seed 2 of 'waldm-edc' has none of 'mixed'" in said(
        spec | {"systems": systems | {"mixed": {"1": systems["mixed"]["1"]}}}
    )
    assert "'waldm-edc' has no seed" in said(spec | {"systems": systems | {"waldm-edc": {}}})
    assert "no hypotheses of 'waldm-edc'" in said(
        spec | {"systems": systems | {"waldm-edc": {"1": str(tmp_path / "none")}}}
    )
    (tmp_path / "waldm-edc" / "2" / "hyp.trade.txt").unlink()  # with one seed only: an accident
    assert "hyp.trade.txt: no such file" in said(spec)
