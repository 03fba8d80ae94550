"""Paired bootstrap as on sacreBLEU's command line, and its summary over systems and seeds."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mdnmt.cli import main
from mdnmt.errors import DataError
from mdnmt.score.paired import SEED, PairedResult, paired_bootstrap
from mdnmt.score.seeds import spread
from mdnmt.score.significance import compare_systems, verdict
from mdnmt.score.testset import load_test_sets

TEXT = "the cat sat on a mat dog house economy rose fell . , quickly 3.5 %"
WORDS = TEXT.split()
REFERENCES = [" ".join(random.Random(seed).choices(WORDS, k=4 + seed % 8)) for seed in range(40)]


def noisy(seed: int, rate: float) -> list[str]:
    chance = random.Random(seed)
    return [
        " ".join(word if chance.random() > rate else chance.choice(WORDS) for word in line.split())
        for line in REFERENCES
    ]


def write(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def make_task(folder: Path, domains: tuple[str, ...] = ("economy", "trade")) -> Path:
    write(folder / "task.json", [json.dumps({"source_lang": "fr", "target_lang": "en", "domains": domains})])
    for domain in domains:
        write(folder / "text" / f"test.{domain}.en", REFERENCES)
    return folder


def test_identical_to_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    baseline, system = noisy(1, 0.4), [f"{line} " for line in noisy(2, 0.3)]
    files = [
        str(write(tmp_path / name, lines))
        for name, lines in (("ref", REFERENCES), ("baseline", baseline), ("system", system))
    ]
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    command = [sys.executable, "-m", "sacrebleu", files[0], "-i", *files[1:], "--paired-bs", "-m", "bleu", "chrf"]
    done = subprocess.run([*command, "-f", "json", "--quiet"], capture_output=True, text=True, check=True)
    told_baseline, told = json.loads(done.stdout)
    monkeypatch.setenv("SACREBLEU_SEED", "99")  # the user's seed is not ours
    ours = paired_bootstrap(baseline, system, REFERENCES, "en")
    for name, title in (("bleu", "BLEU"), ("chrf", "chrF2")):
        result = ours[name]
        assert result.p == told[title]["p_value"]
        assert result.delta == told[title]["score"] - told_baseline[title]["score"]
        assert (result.system_score, result.system_mean, result.system_ci) == (
            told[title]["score"],
            told[title]["mean"],
            told[title]["ci"],
        )
        assert (result.baseline_score, result.baseline_mean, result.baseline_ci) == (
            told_baseline[title]["score"],
            told_baseline[title]["mean"],
            told_baseline[title]["ci"],
        )
        assert f"seed:{SEED}" in result.signature and "bs:1000" in result.signature
    assert os.environ["SACREBLEU_SEED"] == "99"


def test_swapping_the_systems_turns_the_sign_and_keeps_p() -> None:
    left, right = noisy(1, 0.4), noisy(2, 0.3)
    there, back = (paired_bootstrap(a, b, REFERENCES, "en", 200) for a, b in ((left, right), (right, left)))
    for metric in ("bleu", "chrf"):
        assert there[metric].delta == -back[metric].delta != 0
        assert there[metric].p == back[metric].p


def test_a_system_against_itself_is_no_difference_and_a_far_better_one_is() -> None:
    lines = noisy(1, 0.4)
    same = paired_bootstrap(lines, lines, REFERENCES, "en", 100)
    better = paired_bootstrap(lines, REFERENCES, REFERENCES, "en", 100)
    for metric in ("bleu", "chrf"):
        assert (same[metric].delta, same[metric].p) == (0, 1)
        assert better[metric].p == pytest.approx(1 / 101)
        assert better[metric].delta > 10


def test_counts_that_differ_are_refused() -> None:
    with pytest.raises(DataError, match="40 lines of the baseline, 39 of the system, 40 references"):
        paired_bootstrap(REFERENCES, REFERENCES[1:], REFERENCES, "en")
    with pytest.raises(DataError, match="one at least"):
        paired_bootstrap([], [], [], "en")
    with pytest.raises(DataError, match="0 resamples"):
        paired_bootstrap(REFERENCES, REFERENCES, REFERENCES, "en", 0)


def test_mean_and_spread_over_seeds() -> None:
    assert spread({"1": 2.0, "2": 4.0, "3": 9.0}).mean == 5.0
    assert spread({"1": 2.0, "2": 4.0, "3": 9.0}).sd == pytest.approx(13**0.5)
    assert (spread({"1": 2.5}).mean, spread({"1": 2.5}).sd, spread({"1": 2.5}).num_seeds) == (2.5, None, 1)
    with pytest.raises(ValueError, match="no seed"):
        spread({})


def seed_result(delta: float, p: float) -> PairedResult:
    return PairedResult(delta, p, 0.0, 0.0, 0.0, delta, delta, 0.0, "")


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([(1.0, 0.01)], "better"),
        ([(-1.0, 0.01)], "worse"),
        ([(1.0, 0.05)], None),
        ([(1.0, 0.01), (0.1, 0.049)], "better"),
        ([(-1.0, 0.01), (-0.1, 0.049)], "worse"),
        ([(9.0, 0.001), (-1.0, 0.001)], None),  # significant both, but they contradict each other
        ([(9.0, 0.001), (0.5, 0.2)], None),
        ([(9.0, 0.001), (0.0, 0.001)], None),
    ],
)
def test_a_verdict_needs_every_seed(results: list[tuple[float, float]], expected: str | None) -> None:
    assert verdict([seed_result(delta, p) for delta, p in results], 0.05) == expected


def test_seeds_that_differ_in_opposite_directions_give_no_verdict(tmp_path: Path) -> None:
    task = make_task(tmp_path / "task", ("economy",))
    good, bad = (
        write(tmp_path / name / "hyp.economy.txt", noisy(1, rate)).parent for name, rate in (("a", 0), ("b", 1))
    )

    def compared(baseline: list[Path], system: list[Path], **options: float) -> dict[str, Any]:
        named = {"mixed": baseline, "waldm": system}
        systems = {name: {str(seed): folder for seed, folder in enumerate(two)} for name, two in named.items()}
        return compare_systems(load_test_sets(task), "mixed", systems, 100, **options)

    def verdicts(*folders: list[Path], **options: float) -> list[str | None]:
        found = compared(*folders, **options)["systems"]["waldm"]["economy"]
        return [found[metric]["verdict"] for metric in ("bleu", "chrf")]

    assert verdicts([bad, bad], [good, good]) == ["better", "better"]
    assert verdicts([good, good], [bad, bad]) == ["worse", "worse"]
    assert verdicts([bad, good], [good, bad]) == [None, None]
    assert verdicts([bad, good], [good, good]) == [None, None]
    assert verdicts([bad, bad], [good, good], alpha=0.001) == [None, None]  # the least p of 100 resamples is 1 / 101
    assert compared([bad], [good])["alpha"] == 0.05
    assert compared([bad], [good], alpha=0.01)["alpha"] == 0.01


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
    return {"task": str(task), "baseline": "mixed", "limit": None, "num_resamples": 100, "systems": systems}


def run(spec: dict[str, Any], out: Path) -> int:
    return main(["significance", "--spec", json.dumps(spec), "--out", str(out)])


@pytest.mark.parametrize("seeds", [1, 3])
def test_the_verb_compares_every_system_with_the_baseline(tmp_path: Path, seeds: int) -> None:
    spec = make_study(tmp_path, seeds)
    assert run(spec, tmp_path / "s.json") == 0
    written = json.loads((tmp_path / "s.json").read_text())
    assert {key: written[key] for key in ("baseline", "num_resamples", "seed")} == {
        "baseline": "mixed",
        "num_resamples": 100,
        "seed": 12345,
    }
    assert "largest p" in written["p_rule"]
    assert set(written["systems"]) == {"waldm-edc", "single-trade"}
    assert set(written["systems"]["single-trade"]) == {"trade"}  # it translates nothing else
    for domain in ("economy", "trade"):
        expected = [
            paired_bootstrap(
                *(
                    (Path(spec["systems"][name][str(seed)]) / f"hyp.{domain}.txt").read_text().splitlines()
                    for name in ("mixed", "waldm-edc")
                ),
                REFERENCES,
                "en",
                100,
            )
            for seed in range(1, seeds + 1)
        ]
        for metric in ("bleu", "chrf"):
            found = written["systems"]["waldm-edc"][domain][metric]
            assert found["delta"] == pytest.approx(sum(one[metric].delta for one in expected) / seeds)
            assert found["p"] == max(one[metric].p for one in expected)
            assert found["verdict"] == verdict([one[metric] for one in expected], 0.05)
            assert found["seeds"] == seeds
            assert (found["sd"] is None) == (seeds == 1)
            assert found["per_seed"]["1"]["delta"] == expected[0][metric].delta


def test_the_limit_holds_for_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = make_study(tmp_path, 1) | {"limit": 20}
    assert run(spec, tmp_path / "s.json") == 2
    assert "40 lines, but" in capsys.readouterr().err
    for path in tmp_path.glob("*/1/hyp.*.txt"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:20]))
    assert run(spec, tmp_path / "s.json") == 0


def test_a_specification_that_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = make_study(tmp_path, 2)

    def said(changed: dict[str, Any]) -> str:
        assert run(changed, tmp_path / "s.json") == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        assert not (tmp_path / "s.json").exists()
        return text

    assert "no system 'mixd' to be the baseline" in said(spec | {"baseline": "mixd"})
    systems = dict(spec["systems"])
    assert "seed 2 of 'waldm-edc' has none of 'mixed'" in said(
        spec | {"systems": systems | {"mixed": {"1": systems["mixed"]["1"]}}}
    )
    assert "'waldm-edc' has no seed" in said(spec | {"systems": systems | {"waldm-edc": {}}})
    assert "no hypotheses of 'waldm-edc'" in said(
        spec | {"systems": systems | {"waldm-edc": {"1": str(tmp_path / "none")}}}
    )
    assert "unknown key 'sistems'" in said({"sistems": {}})
    assert "'task' is missing" in said({"baseline": "mixed", "systems": {}})
    assert "limit is" in said(spec | {"limit": "all"})
    assert "num_resamples is true" in said(spec | {"num_resamples": True})
    assert "systems.mixed" in said(spec | {"systems": {"mixed": ["a"]}})
    (tmp_path / "waldm-edc" / "2" / "hyp.trade.txt").unlink()  # with one seed only: an accident
    assert "hyp.trade.txt: no such file" in said(spec)
    for text in ("{", "[]"):
        assert main(["significance", "--spec", text, "--out", str(tmp_path / "s.json")]) == 2
        assert capsys.readouterr().err.count("\n") == 1
