"""BLEU and chrF to the last digit of sacreBLEU's command line; the verb that writes them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU

from mdnmt.cli import main
from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.score.metrics.string_based import bleu, score
from mdnmt.score.scores_of_domains import score_domains
from mdnmt.score.test_sets import load_test_sets

TEXT = "le chat dort . la maison , économie rose 12,5 % l'or s'élève (donc) vite"
WORDS = TEXT.split()
LINES = {
    "fr": [" ".join(random.Random(seed).choices(WORDS, k=3 + seed % 9)) for seed in range(60)],
    "zh": ["我们在北京喝茶。", "经济 增长 了 5.5%。", "猫坐在垫子上", "今天天气很好,对吗?"],
}


def noisy(lines: list[str], seed: int) -> list[str]:
    chance = random.Random(seed)
    changed = []
    for line in lines:
        kept = [piece for piece in line if piece != " " or chance.random() > 0.2] if " " not in line else line.split()
        kept = [piece for piece in kept if chance.random() > 0.25]
        changed.append(("" if " " not in line else " ").join(kept))
    return changed


def make_task(folder: Path, target_lang: str = "fr", domains: tuple[str, ...] = ("economy", "trade")) -> Path:
    task = folder / "task"
    (task / "text").mkdir(parents=True)
    (task / "task.json").write_text(
        json.dumps({"source_lang": "en", "target_lang": target_lang, "domains": list(domains), "more": 1})
    )
    for number, domain in enumerate(domains):
        lines = LINES[target_lang][number:]
        (task / "text" / f"test.{domain}.{target_lang}").write_text("".join(f"{line}\n" for line in lines))
        (task / "text" / f"test.{domain}.en").write_text("".join(f"src {line}\n" for line in lines))
    return task


def make_hypotheses(task: Path, folder: Path, seed: int, target_lang: str = "fr") -> Path:
    folder.mkdir()
    for path in (task / "text").glob(f"test.*.{target_lang}"):
        lines = noisy(path.read_text().splitlines(), seed)
        (folder / f"hyp.{path.name.split('.')[1]}.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def sacrebleu(*arguments: str) -> list[dict[str, object]]:
    command = [sys.executable, "-m", "sacrebleu", *arguments, "-m", "bleu", "chrf", "-f", "json", "-w", "15", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


@pytest.mark.parametrize(("target_lang", "tokenize"), [("fr", "13a"), pytest.param("zh", "zh", marks=pytest.mark.slow)])
def test_scores_are_those_of_the_command_line(tmp_path: Path, target_lang: str, tokenize: str) -> None:
    task = make_task(tmp_path, target_lang, ("economy",))
    folder = make_hypotheses(task, tmp_path / "hyp", 3, target_lang)
    reference = task / "text" / f"test.economy.{target_lang}"
    for path in (reference, folder / "hyp.economy.txt"):  # white space at the ends of lines, as decoders leave it
        path.write_text(path.read_text().replace("\n", " \u3000\n", 3).replace("\n", "\n ", 2))
    told = sacrebleu(str(reference), "-i", str(folder / "hyp.economy.txt"), "-tok", tokenize)
    ours = score_domains(load_test_sets(task), folder)["domains"]["economy"]
    for name, said in zip(("bleu", "chrf"), told, strict=True):
        assert round(ours[name]["score"], 15) == said["score"]
        assert 1 < ours[name]["score"] < 99
        assert ours[name]["signature"] == said["signature"]
    assert f"tok:{tokenize}" in ours["bleu"]["signature"]
    assert ours["num_sentences"] == len(LINES[target_lang])


@pytest.mark.parametrize("lang", ["zh", "ZH", "zh-CN", "zh_TW"])
def test_chinese_is_known_by_every_code(lang: str) -> None:
    assert bleu.tokenization(lang) == "zh"
    assert bleu.tokenization("zhx") == bleu.tokenization("de") == "13a"


def test_a_perfect_and_an_empty_translation() -> None:
    lines = LINES["fr"]
    for metric in ("bleu", "chrf"):
        assert score(metric, lines, lines, "fr").score == pytest.approx(100)
        assert score(metric, [""] * len(lines), lines, "fr").score == 0


def test_the_mean_is_of_unrounded_scores(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    scores = score_domains(load_test_sets(task), make_hypotheses(task, tmp_path / "hyp", 3))
    for metric in ("bleu", "chrf"):
        values = [scores["domains"][domain][metric]["score"] for domain in ("economy", "trade")]
        assert scores["mean"][metric] == pytest.approx(sum(values) / 2, rel=1e-15)
        assert values[0] != values[1]


def test_the_verb_writes_the_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = make_task(tmp_path)
    folder = make_hypotheses(task, tmp_path / "hyp", 3)
    out = tmp_path / "scores.json"
    assert main(["score", "--task", str(task), "--hypotheses", str(folder), "--out", str(out)]) == 0
    assert read_json(out) == score_domains(load_test_sets(task), folder)
    assert "economy: BLEU" in capsys.readouterr().out


def test_the_limit_counts_the_first_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = make_task(tmp_path)
    folder = make_hypotheses(task, tmp_path / "hyp", 3)
    for path in folder.iterdir():
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:10]))
    arguments = ["score", "--task", str(task), "--hypotheses", str(folder), "--out", str(tmp_path / "s.json")]
    assert main([*arguments, "--limit", "10"]) == 0
    assert json.loads((tmp_path / "s.json").read_text())["domains"]["trade"]["num_sentences"] == 10
    assert main([*arguments, "--limit", "0"]) == 2
    assert main([*arguments, "--limit", "11"]) == 2
    assert "10 lines, but" in capsys.readouterr().err


def test_a_limit_beyond_the_test_set_is_all_of_it(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    folder = make_hypotheses(task, tmp_path / "hyp", 3)
    assert score_domains(load_test_sets(task, 10_000), folder) == score_domains(load_test_sets(task), folder)


def test_copying_the_source_is_a_system(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    folder, out = tmp_path / "copy", tmp_path / "s.json"
    arguments = ["score", "--task", str(task), "--hypotheses", str(folder), "--out", str(out), "--limit", "20"]
    assert main([*arguments, "--copy-source"]) == 0
    assert (folder / "hyp.trade.txt").read_text().splitlines() == [f"src {line}" for line in LINES["fr"][1:21]]
    assert json.loads(out.read_text())["domains"]["economy"]["num_sentences"] == 20


def test_what_does_not_fit_is_one_line_with_file_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = make_task(tmp_path)
    folder = make_hypotheses(task, tmp_path / "hyp", 3)
    out = tmp_path / "s.json"
    arguments = ["score", "--task", str(task), "--hypotheses", str(folder), "--out", str(out)]

    def said(*more: str) -> str:
        assert main([*arguments, *more]) == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        assert not out.exists()
        return text

    assert "no domain 'law'; the task has economy, trade" in said("--domains", "law")
    path = folder / "hyp.trade.txt"
    path.write_bytes(path.read_bytes() + b"one more\n")
    assert f"{path}: 60 lines, but {task}/text/test.trade.fr has 59 references" in said()
    path.write_bytes(b"bon\n\xff\xfe\n")
    assert f"{path}: line 2 is not UTF-8" in said()
    path.unlink()
    assert f"{path}: no such file" in said()
    assert main([*arguments, "--domains", "economy"]) == 0  # a single-domain system
    out.unlink()
    capsys.readouterr()
    (task / "task.json").write_text('{"domains": ["economy"]}')
    assert "source_lang" in said()
    (task / "task.json").write_text("[")
    assert "task.json: cannot be used" in said()
    (task / "task.json").unlink()
    assert "task.json: no such file" in said()


def test_validation_text_is_scored_a_domain_and_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = make_task(tmp_path)
    for path in list((task / "text").glob("test.*")):
        path.rename(path.with_name(path.name.replace("test.", "valid.")))
    (tmp_path / "hyp").mkdir()
    lines: dict[str, list[str]] = {"hyp": [], "ref": []}
    for number, domain in enumerate(("economy", "trade")):
        references = (task / "text" / f"valid.{domain}.fr").read_text().splitlines()
        hypotheses = noisy(references, number + 5)
        (tmp_path / "hyp" / f"hyp.{domain}.txt").write_text("".join(f"{line}\n" for line in hypotheses))
        lines["hyp"] += hypotheses
        lines["ref"] += references
    words = ["--task", str(task), "--hypotheses", str(tmp_path / "hyp"), "--out", str(tmp_path / "scores.json")]
    assert main(["score", "--split", "valid", *words]) == 0
    assert "all domains as one: BLEU " in capsys.readouterr().out
    found = read_json(tmp_path / "scores.json")
    for name in ("bleu", "chrf"):
        assert found["concatenated"][name]["score"] == score(name, lines["hyp"], lines["ref"], "fr").score
    assert found["concatenated"]["bleu"]["score"] != pytest.approx(found["mean"]["bleu"], abs=1e-6)
    assert main(["score", *words]) == DataError.exit_code  # there is no test text


def test_one_system_after_another_is_scored_against_its_own_references(tmp_path: Path) -> None:
    tasks = [make_task(tmp_path / lang, lang, ("law",)) for lang in LINES]
    both = [
        (task, make_hypotheses(task, task.parent / "hyp", 3, lang)) for task, lang in zip(tasks, LINES, strict=True)
    ]
    first, again = ([score_domains(load_test_sets(task), folder) for task, folder in both] for _ in range(2))
    assert first == again and first[0]["mean"] != first[1]["mean"]
    for lang, scored in zip(LINES, first, strict=True):
        told = BLEU(tokenize=bleu.tokenization(lang)).corpus_score(noisy(LINES[lang], 3), [LINES[lang]])
        assert scored["domains"]["law"]["bleu"]["score"] == told.score
