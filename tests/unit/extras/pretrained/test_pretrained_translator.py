"""Translations are what transformers' own `generate` gives, called by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM
from unit.extras.pretrained.conftest import KINDS, with_languages

from mdnmt.config.decoding import Decoding
from mdnmt.decode.translator import open_run
from mdnmt.errors import DataError
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.run import make_run
from mdnmt.extras.pretrained.translator import PretrainedTranslator
from mdnmt.extras.pretrained.weights import folder_of
from mdnmt.fsio import read_json

CPU = torch.device("cpu")
LINES = ["bank rate price growth", "court", "judge order party rule court bank", "index survey", "price price rate"]


@pytest.fixture
def run(pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path) -> Path:
    make_run(pretrained_spec("zero-shot"), toy_task, tmp_path / "run", root=pretrained_root)
    return tmp_path / "run"


def without_code(text: str) -> str:
    """Remove what M2M100's tokenizer leaves of the language."""
    return text.removeprefix("__fr__").lstrip()


# What the tiny model was taught is French: only a forced first word makes it write another language.
@pytest.mark.parametrize(("kind", "target"), [*((kind, "fr") for kind in KINDS), ("mbart50", "de")])
@pytest.mark.parametrize(("beam", "penalty", "nbest"), [(1, 1.0, 1), (4, 1.0, 1), (4, 0.0, 3), (3, 2.0, 2)])
def test_translations_and_scores_equal_those_of_generate(
    pretrained_spec: Any,
    toy_task: Path,
    pretrained_root: Path,
    tmp_path: Path,
    kind: str,
    target: str,
    beam: int,
    penalty: float,
    nbest: int,
) -> None:
    run = tmp_path / "run"
    make_run(pretrained_spec("zero-shot", kind), toy_task, run, root=pretrained_root)
    folder = folder_of(PretrainedConfig(weights=f"tiny/{kind}"), pretrained_root)
    tokenizer, model = with_languages(folder, kind, target), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    # As transformers' documentation calls each class.
    forced = {} if kind == "marian" else {"forced_bos_token_id": tokenizer(text_target="x")["input_ids"][0]}
    record = read_json(run / "run.json")
    (run / "run.json").write_text(json.dumps({**record, "target_lang": target}))
    config = Decoding(beam_size=beam, length_penalty=penalty, nbest=nbest, max_length_ratio=2.0, max_length_extra=3)
    found = open_run(run, CPU, pretrained_root).translate(LINES, config)
    bound = 2 * max(len(tokenizer(line)["input_ids"]) for line in LINES) + 3  # all stand in one batch
    for line, ours in zip(LINES, found, strict=True):
        inputs = tokenizer(line, return_tensors="pt")
        theirs = model.generate(
            **inputs,
            **forced,
            forced_eos_token_id=tokenizer.eos_token_id,
            suppress_tokens=None if forced else [tokenizer.pad_token_id],
            num_beams=beam,
            num_return_sequences=nbest,
            length_penalty=penalty,
            early_stopping=beam > 1,
            max_length=None,
            max_new_tokens=bound,
            return_dict_in_generate=True,
            output_scores=True,
        )
        said = tokenizer.batch_decode(theirs.sequences, skip_special_tokens=True)
        assert theirs.sequences[:, 1].tolist() == [forced["forced_bos_token_id"]] * nbest if forced else True
        assert [one.text for one in ours] == [without_code(text) for text in said]
        assert len({one.pieces for one in ours}) == nbest
        # An end that was forced at the greatest length counts as certain there, and for what it is here.
        ended = [len(ids) - 1 < bound for ids in theirs.sequences.tolist()]
        if beam > 1 and all(ended):
            assert [one.score for one in ours] == pytest.approx(theirs.sequences_scores.tolist(), rel=1e-4, abs=1e-5)
    assert sum(bool(ours[0].text) for ours in found) > 2


def test_bf16_rounds_the_products_and_scores_stay_close(run: Path, pretrained_root: Path) -> None:
    translator = open_run(run, CPU, pretrained_root)
    exact, rounded = (
        translator.translate(LINES, Decoding(beam_size=1, precision=precision)) for precision in ("fp32", "bf16")
    )
    scores = [[line[0].score for line in found] for found in (exact, rounded)]
    assert scores[0] != scores[1]
    assert scores[1] == pytest.approx(scores[0], rel=0.1, abs=0.1)


def test_a_line_alone_and_in_a_batch_give_the_same(run: Path, pretrained_root: Path) -> None:
    translator = PretrainedTranslator(run, CPU, pretrained_root)
    config = Decoding(beam_size=3, max_length_ratio=0.01, max_length_extra=30)  # one bound for all lines
    together = translator.translate(LINES, config)
    for line, found in zip(LINES, together, strict=True):
        [alone] = translator.translate([line], config)
        assert [one.text for one in alone] == [one.text for one in found]
        assert alone[0].score == pytest.approx(found[0].score, rel=1e-4)


def test_a_line_that_is_too_long_is_named(run: Path, pretrained_root: Path) -> None:
    translator = PretrainedTranslator(run, CPU, pretrained_root)
    with pytest.raises(DataError, match="line 8: has 62 pieces with its ends, the model takes 40; split the line"):
        translator.translate(["bank", "bank " * 60], Decoding(), first_line=7)


def test_outputs_are_bounded_by_the_positions(run: Path, pretrained_root: Path) -> None:
    translator = PretrainedTranslator(run, CPU, pretrained_root)
    [[found]] = translator.translate(["bank " * 38], Decoding(beam_size=1, max_length_ratio=9.0))
    assert len(found.pieces) <= 38


def test_a_task_of_other_languages_is_refused(run: Path, toy_task: Path, pretrained_root: Path, tmp_path: Path) -> None:
    from mdnmt.tasks.task_data import TaskData

    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    record = read_json(copy / "run.json")
    (copy / "run.json").write_text(json.dumps({**record, "source_lang": "fr", "target_lang": "en"}))
    with pytest.raises(DataError, match="is en to fr, but the run translates fr to en"):
        task = TaskData.load(toy_task)
        PretrainedTranslator(copy, CPU, pretrained_root).translate_split(task, "test", Decoding(), "law")


def test_runs_of_other_builders_are_opened_as_ever(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no finished run is there"):
        open_run(tmp_path, CPU)


def test_the_folder_above_a_run_is_answered_with_the_run(tmp_path: Path) -> None:
    (tmp_path / "tiny/mixed/seed1-01234567").mkdir(parents=True)
    (tmp_path / "tiny/mixed/seed1-01234567/run.json").write_text("{}")
    for folder in (tmp_path, tmp_path / "tiny", tmp_path / "tiny/mixed"):
        with pytest.raises(DataError, match=r"name a run in it, such as .*/tiny/mixed/seed1-01234567$"):
            open_run(folder, CPU)
