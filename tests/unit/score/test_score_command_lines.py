"""Every score equals what the command line of its authors prints for the same files, to the last digit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from reference.bleu import multi_bleu

from mdnmt.cli import main
from mdnmt.config.metrics import METRICS
from mdnmt.fsio import write_json, write_lines
from mdnmt.score.metrics import string_based, tokenised_bleu
from mdnmt.score.scores_of_domains import score_domains
from mdnmt.score.significance.sentence_statistics import text_counter
from mdnmt.score.test_sets import load_test_sets
from mdnmt.tasks.segmentation.segmenter import round_trip

ROOT = Path(__file__).resolve().parents[3]
# Prose with all that a tokenizer stumbles over: paths, numbers, brackets, quotation marks.
PAGES = [ROOT / "docs" / f"{name}.md" for name in ("how-it-works", "tutorial", "comet")]
ENGLISH = [line.strip() for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if line.strip()]
CHINESE = ["我们在北京喝茶。", "经济 增长 了 5.5%。", "猫坐在垫子上", "今天天气很好,对吗?", "法院 裁定 COMET 无效!"] * 3
JAPANESE = [
    "私は毎朝駅まで歩きます。",
    "この本はとても 面白い です。",
    "猫は窓の下にいる",
    "明日は雨が降るでしょう?",
] * 3


def noisy(lines: list[str]) -> list[str]:
    """Return lines with words left out and others in another order, one of them empty."""
    chance, changed = random.Random(5), []
    for line in lines:
        words = line.split(" ") if " " in line else list(line)
        words = [word for word in words if chance.random() > 0.15]
        if len(words) > 4 and chance.random() > 0.5:
            words[1], words[3] = words[3], words[1]
        changed.append((" " if " " in line else "").join(words))
    return ["", *changed[1:]]


def make_task(folder: Path, lang: str, tokenizer: str, references: list[str]) -> list[str]:
    """Write a task of one domain and translations of it; return the options of `mdnmt score`."""
    sides = {lang: references, "xx": [f"src {line}" for line in references]}
    write_json(folder / "task" / "task.json", {"source_lang": "xx", "target_lang": lang, "domains": ["law"]})
    write_json(folder / "task" / "segmentation.json", {"bpe": "joint", "forms": {}, "tokenizers": {lang: tokenizer}})
    for name, lines in sides.items():
        write_lines(folder / "task" / "text" / f"test.law.{name}", lines)
    write_lines(folder / "hyp" / "hyp.law.txt", noisy(references))
    return ["--task", str(folder / "task"), "--hypotheses", str(folder / "hyp"), "--out", str(folder / "scores.json")]


def command_line(reference: Path, hypotheses: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(hypotheses), "-f", "json", "-w", "15"]
    done = subprocess.run([*command, "--quiet", *options], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    return {one["name"]: one for one in (told if isinstance(told, list) else [told])}


CASES = {
    "en": ("moses", ENGLISH, ("-tok", "13a")),
    "zh": ("jieba", CHINESE, ("-tok", "zh", "--ter-normalized", "--ter-asian-support")),
    "zho": ("reversible", CHINESE, ("-tok", "zh", "--ter-normalized", "--ter-asian-support")),
    "ja": ("reversible", JAPANESE, ("-tok", "char", "--ter-normalized", "--ter-asian-support")),
}


@pytest.mark.slow
@pytest.mark.parametrize("lang", CASES)
def test_scores_of_text_are_those_of_sacrebleu(tmp_path: Path, lang: str) -> None:
    tokenizer, references, options = CASES[lang]
    score = make_task(tmp_path, lang, tokenizer, references)
    names = ["bleu", "chrf", "ter", "bleu_tok"]
    assert main(["score", *score, "--metrics", *names, "--tokenised", str(tmp_path / "words")]) == 0
    ours = json.loads((tmp_path / "scores.json").read_text())["domains"]["law"]
    plain = tmp_path / "task" / "text" / f"test.law.{lang}", tmp_path / "hyp" / "hyp.law.txt"
    told = command_line(*plain, "-m", "bleu", "chrf", "ter", *options)
    words = tmp_path / "words" / "ref.law.txt", tmp_path / "words" / "hyp.law.txt"
    of_words = command_line(*words, "-m", "bleu", "-tok", "none", "--smooth-method", "none", "--force")
    for name, said in zip(names, (told["BLEU"], told["chrF2"], told["TER"], of_words["BLEU"]), strict=True):
        assert round(ours[name]["score"], 15) == said["score"], name
        assert ours[name]["signature"].partition("|words:")[0] == said["signature"]
        assert 1 < ours[name]["score"] < 99
    assert len({ours[name]["score"] for name in names}) >= 3  # of characters both BLEUs are the same
    cut_by = {"moses": "sacremoses-0.2.0", "jieba": "jieba-0.42.1", "reversible": "reversible"}[tokenizer]
    assert ours["bleu_tok"]["signature"].endswith(f"|words:{cut_by}-{lang}")


def test_thai_is_scored_by_characters_in_every_metric(tmp_path: Path) -> None:
    """Sentences without spaces are one word each, so BLEU by words would be 0 and TER 100."""
    thai = [f"ฉันเดินเล่นในสวนทุกเช้าวันที่{number}" for number in range(9)]
    hypotheses = [line.replace("เดินเล่น", "นั่งเล่น") for line in thai]
    found = {name: string_based.score(name, hypotheses, thai, "tha") for name in ("bleu", "ter")}
    by_character = [" ".join(line) for line in hypotheses], [[" ".join(line) for line in thai]]
    assert found["bleu"].score == pytest.approx(sacrebleu.corpus_bleu(*by_character, tokenize="none", force=True).score)
    assert found["ter"].score == pytest.approx(sacrebleu.corpus_ter(*by_character).score)
    assert all("tok:char" in score.signature for score in found.values())
    counts = {name: text_counter(name, thai, "tha")(hypotheses).total for name in found}
    assert counts == {name: pytest.approx(score.score) for name, score in found.items()}


@pytest.mark.parametrize(("tokenizer", "is_scored"), [("moses", False), ("character", False), ("reversible", True)])
def test_no_score_takes_thai_sentences_for_words(tmp_path: Path, tokenizer: str, is_scored: bool, capsys: Any) -> None:
    score = make_task(tmp_path, "th", tokenizer, [f"ฉันเดินเล่นในสวนทุกเช้าวันที่{number}" for number in range(9)])
    assert main(["score", *score]) == 0
    entry = json.loads((tmp_path / "scores.json").read_text())["domains"]["law"]
    assert ("bleu_tok" in entry) == is_scored and "tok:char" in entry["bleu"]["signature"]
    assert main(["score", *score, "--metrics", "bleu_tok"]) == (0 if is_scored else 2)
    assert ("take sentences for words" in capsys.readouterr().err) != is_scored


def test_the_ceiling_is_that_of_the_task_s_tokenizer(tmp_path: Path) -> None:
    french = ["“Bonjour”, dit-il. “C’est ainsi.”", "L’été 1999 / 2000, Aujourd’hui : info@example.org"] * 3
    for tokenizer in ("moses", "reversible"):
        score = make_task(tmp_path, "fr", tokenizer, french)
        assert main(["score", *score, "--metrics", "bleu", "ter", "bleu_tok"]) == 0
        entry = json.loads((tmp_path / "scores.json").read_text())["domains"]["law"]
        assert set(entry["ceiling"]) == {"bleu", "ter"}
        back = round_trip(french, "fr", tokenizer)
        assert entry["ceiling"]["bleu"] == pytest.approx(sacrebleu.corpus_bleu(back, [french]).score)
        assert (entry["ceiling"]["ter"] == 0) == (tokenizer == "reversible")


@pytest.mark.parametrize("lang", CASES)
def test_bleu_of_words_is_that_of_its_definition(tmp_path: Path, lang: str) -> None:
    tokenizer, references, _ = CASES[lang]
    make_task(tmp_path, lang, tokenizer, references)
    ours = score_domains(load_test_sets(tmp_path / "task"), tmp_path / "hyp")["domains"]["law"]["bleu_tok"]["score"]

    def defined(hypotheses: list[str], references: list[str]) -> float:
        return multi_bleu(*(tokenised_bleu.words(side, lang, tokenizer) for side in (hypotheses, references)))

    assert ours == pytest.approx(defined(noisy(references), references), rel=1e-12)
    back = [["f e d c b a", "a b c"], ["a b c d e f", "a b c"]]  # no four words in their order: a count of 0
    assert tokenised_bleu.score(*back, lang, tokenizer).score == defined(*back) == 0.0
    longer = [[f"{line} {line}" for line in references], references]
    assert tokenised_bleu.score(*longer, lang, tokenizer).score == pytest.approx(defined(*longer), rel=1e-12)


def test_words_are_cut_as_the_task_cuts_them() -> None:
    line = "L'économie  n’est-elle pas (trop) chère?"
    assert tokenised_bleu.words([line], "fr", "moses") == ["L' économie n ’ est-elle pas ( trop ) chère ?"]
    assert tokenised_bleu.words([line], "fr", "none") == ["L'économie n’est-elle pas (trop) chère?"]
    assert tokenised_bleu.words(["我们喝茶。"], "zh", "character") == ["我 们 喝 茶 。"]
    assert tokenised_bleu.words(["我们喝茶。"], "zh", "jieba") == ["我们 喝茶 。"]


def test_every_metric_says_how_it_was_made(tmp_path: Path) -> None:
    """Whatever a table may name has a column head, and whatever is scored a signature."""
    score = make_task(tmp_path, "en", "moses", ENGLISH[:9])
    assert main(["score", *score]) == 0
    entry = json.loads((tmp_path / "scores.json").read_text())["domains"]["law"]
    assert [name for name in entry if name in METRICS] == ["bleu", "bleu_tok", "chrf"]  # the others need a model
    assert all("version:" in entry[name]["signature"] for name in entry if name in METRICS)
