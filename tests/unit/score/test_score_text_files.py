"""`mdnmt score --pairs` and `mdnmt compare A B --reference REF`: sacreBLEU's numbers, and one-line errors."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compared_text import REFERENCES, SACREBLEU, noisy, write

from mdnmt.cli import main

CHARACTERS = "我们在北京喝茶经济增长了百分之五猫坐垫子上今天气很好对吗"
CHINESE = ["".join(random.Random(seed).choices(CHARACTERS, k=6 + seed % 9)) for seed in range(40)]


def replaced(seed: int, rate: float) -> list[str]:
    """Return the Chinese lines with a share of their characters replaced."""
    chance = random.Random(seed)
    return ["".join(c if chance.random() > rate else chance.choice(CHARACTERS) for c in line) for line in CHINESE]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    lines = {"ref": REFERENCES, "a": noisy(1, 0.4), "b": noisy(2, 0.3), "src": REFERENCES}
    lines |= {"short": REFERENCES[:-1], "zh": CHINESE, "zh-a": replaced(1, 0.3), "zh-b": replaced(2, 0.2), "empty": []}
    return {name: str(write(tmp_path / name, text)) for name, text in lines.items()}


def sacrebleu(*options: str) -> Any:
    command = [*SACREBLEU, *options, "-f", "json", "-w", "15", "--quiet"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def test_scores_are_those_of_sacrebleu(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = ["--pairs", files["src"], files["b"], files["ref"]]
    out = tmp_path / "out.json"
    assert main(["score", *pairs, "--metrics", "bleu", "chrf", "ter", "--out", str(out)]) == 0
    printed, ours = capsys.readouterr().out.splitlines(), json.loads(out.read_text())
    theirs = sacrebleu(files["ref"], "-i", files["b"], "-m", "bleu", "chrf", "ter")
    for line, mine, one in zip(printed, ours.values(), theirs, strict=True):
        assert line.endswith(f"  {one['signature']}") and f" {one['score']:.2f}  " in line
        assert (round(mine["score"], 15), mine["signature"]) == (one["score"], one["signature"])


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_comparisons_are_those_of_sacrebleu(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], lang: str
) -> None:
    names = ("ref", "a", "b") if lang == "en" else ("zh", "zh-a", "zh-b")
    ref, one, other = (files[name] for name in names)
    options = ["--target-lang", "zh"] if lang == "zh" else []
    assert main(["compare", one, other, "--reference", ref, *options, "--json"]) == 0
    ours = {found["metric"]: found for found in json.loads(capsys.readouterr().out)}
    for kind, key in (("bs", "p_sacrebleu"), ("ar", "p_randomisation")):
        tok = "zh" if lang == "zh" else "13a"
        theirs = sacrebleu(ref, "-i", one, other, f"--paired-{kind}", "-m", "bleu", "chrf", "-tok", tok)
        for metric, title in (("bleu", "BLEU"), ("chrf", "chrF2")):
            found = ours[metric]["result"]
            assert found["system_score"] == pytest.approx(theirs[1][title]["score"], abs=1e-9)
            assert found["baseline_score"] == pytest.approx(theirs[0][title]["score"], abs=1e-9)
            assert found[key] == theirs[1][title]["p_value"]
    assert f"|ar:10000|bs:1000|seed:12345|case:mixed|eff:no|tok:{tok}|" in ours["bleu"]["signature"]


def test_the_text_says_what_people_agree_with(files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    metrics = ["--metrics", "bleu", "ter"]
    assert main(["compare", files["a"], files["b"], "--reference", files["ref"], *metrics]) == 0
    told = capsys.readouterr().out
    assert "people: prefer the same system in about 88 % of pairs" in told
    assert "people: not known; MT-Thresholds has no curve for this metric" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "a", "short", "--reference", "ref"], "short: 39 lines, but"),
        (["compare", "a", "empty", "--reference", "ref"], "empty: is empty"),
        (["compare", "a", "none", "--reference", "ref"], "none: no such file"),
        (["compare", "a", "--reference", "ref"], "expected `mdnmt compare A B --reference FILE`"),
        (["compare", "zh-a", "zh-b", "--reference", "zh"], "add `--target-lang zh`"),
        (["score", "--pairs", "zh-a", "zh-b", "zh", "--target-lang", "qaa"], "in Han script, without spaces"),
        (["compare", "a", "b", "--target-lang", "zh"], "add --reference FILE"),
        (["score", "--pairs", "src", "short", "ref"], "short: 39 lines, but"),
        (["score", "--pairs", "short", "a", "ref"], "short: 39 lines, but"),
        (["score", "--pairs", "src", "a", "ref", "--metrics", "accuracy"], "needs a task"),
        (["score", "--pairs", "src", "a", "ref", "--task", "a"], "leave out the options of a task"),
        (["score", "--task", "a", "--out", "b"], "--hypotheses is missing"),
    ],
)
def test_mistakes_are_one_line(
    files: dict[str, str], capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    known = {**files, "none": str(Path(files["a"]).with_name("none"))}
    assert main([words[0], *(known.get(word, word) for word in words[1:])]) == 2
    told = capsys.readouterr().err
    assert message in told and told.count("\n") == 1


def test_text_in_another_encoding_is_refused_with_its_line(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path(files["b"]).write_bytes(b"good\n" + "caf\u00e9\n".encode("latin-1"))
    assert main(["compare", files["a"], files["b"], "--reference", files["ref"]]) == 2
    assert "b: line 2 is not UTF-8" in capsys.readouterr().err
