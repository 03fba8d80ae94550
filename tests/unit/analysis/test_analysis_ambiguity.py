"""Which words of generated text count as right, and what is said of the layers' decisions."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.analysis.ambiguity import decisions, right_words
from mdnmt.cli import main
from mdnmt.decode.translator import Translator
from mdnmt.models.context import DomainContext
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.run import train_run

KINDS = {"a": "common", "b": "common", "x": "label"}


def test_a_word_is_right_at_its_own_place_only() -> None:
    found = right_words(KINDS, ["a x b", "x"], ["A X B", "X"], ["A B X", "X extra"])
    assert found == {"common": {"words": 2, "right": 1}, "label": {"words": 2, "right": 1}}


def test_a_translation_that_is_too_short_is_wrong_where_it_ends() -> None:
    assert right_words(KINDS, ["a b x"], ["A B X"], [""])["common"] == {"words": 2, "right": 0}
    assert right_words(KINDS, ["a b x"], ["A B X"], ["A"])["common"] == {"words": 2, "right": 1}


def test_a_word_that_the_grammar_lacks_is_no_word_of_this_text() -> None:
    with pytest.raises(KeyError):
        right_words(KINDS, ["q"], ["Q"], ["Q"])


def toy_kinds(data: TaskData) -> dict[str, str]:
    """Call every second piece of the toy text common, the others cues."""
    return {piece: ("common", "cue")[n % 2] for n, piece in enumerate(data.source_vocab.tokens[4:])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ambiguity")


@pytest.fixture
def translator(folder: Path, make_spec: Any, toy_task: Path) -> Translator:
    if not (folder / "run.json").exists():
        train_run(make_spec("waldm", max_updates=4), toy_task, folder, device="cpu")
    return Translator(folder, torch.device("cpu"))


def test_proportions_are_means_over_the_words_of_a_kind(translator: Translator, toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    kinds = toy_kinds(data)
    found = decisions(translator, data, kinds, limit=3)
    split, expected = data.split("test"), {"common": [], "cue": []}  # type: ignore[var-annotated]
    for label in (0, 1):
        for number in np.flatnonzero(split.domains == label)[:3]:
            with torch.inference_mode():
                context = translator.model(collate(split, np.array([number]), bos=1)).context
            p_TK = context.recorded("proportion", "encoder")[0].softmax(-1)[0]
            for piece, p_K in zip(data.source_vocab.decode(split.source[number].tolist()), p_TK, strict=False):
                expected[kinds[piece]].append(float(p_K[label]))
    assert found["gates"] == {}
    for kind, values in expected.items():
        assert values and found["proportions"][kind] == pytest.approx([np.mean(values)])


@pytest.mark.parametrize("words", [1, None])
def test_gates_of_a_sentence_or_of_each_word_are_means_over_real_words(
    translator: Translator, toy_task: Path, words: int | None
) -> None:
    """A stand-in whose gate is 1 for the expert with the number of the domain, 0 for all others."""
    data = TaskData.load(toy_task)

    def model(batch: Any) -> Any:
        context = DomainContext(domain_B=batch.domain_B)
        gate_BN = torch.nn.functional.one_hot(batch.domain_B, 3).float()
        gate_BTN = gate_BN[:, None].expand(-1, words or batch.source_BS.size(1), -1)
        if words is None:  # what pads and ends a sentence has another gate, which must not count
            gate_BTN = torch.where(batch.source_BS[..., None] < 4, torch.tensor([0.0, 0.0, 1.0]), gate_BTN)
        context.record("gate", "encoder", gate_BTN)
        return SimpleNamespace(context=context)

    stand_in: Any = SimpleNamespace(
        model=model, source_vocab=data.source_vocab, target_vocab=data.target_vocab, device=torch.device("cpu")
    )
    found = decisions(stand_in, data, toy_kinds(data), limit=None)
    assert found["gates"] == {data.domains[0]: [[1.0, 0.0, 0.0]], data.domains[1]: [[0.0, 1.0, 0.0]]}
    assert found["proportions"] == {}


def test_text_whose_right_translation_nobody_knows_is_refused(
    translator: Translator, folder: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--run", str(folder), "--task", str(toy_task), "--hypotheses", str(tmp_path)]
    assert main(["word-accuracy", *arguments, "--out", str(tmp_path / "words.json")]) == 2
    assert "is not generated" in capsys.readouterr().err and not (tmp_path / "words.json").exists()


def test_nothing_of_this_is_lost_in_json(translator: Translator, toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    found = decisions(translator, data, toy_kinds(data), limit=2)
    assert json.loads(json.dumps(found)) == found
