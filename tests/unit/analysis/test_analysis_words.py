"""What is written of words: which word a piece is part of, what layers decided on it, how the training text uses it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.analysis.model_internals import PLACES, analyse, training_counts
from mdnmt.analysis.word_records import END, START, MeanGates
from mdnmt.cli import main
from mdnmt.config.study import AnalysisConfig
from mdnmt.decode.translator import Translator
from mdnmt.fsio import read_json
from mdnmt.models.context import DomainContext
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate, spread
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
ROUNDING = 0.51 * 10**-PLACES  # of the values that `analyse` stores
FEW = AnalysisConfig(proportion_sentences=3, vector_sentences=4, sample_sentences=2)
BUILDERS: dict[str, dict[str, Any]] = {
    "waldm": {},
    "domain_aware_attention": {"guidance_weight": 1.0, "num_clusters": 3},
    "dmoe": {"gate_input": "mix"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {builder: tmp_path_factory.mktemp(f"words-{builder}") for builder in BUILDERS}


@pytest.fixture
def run(runs: dict[str, Path], make_spec: Any, toy_task: Path) -> Any:
    """Return a function: builder -> a run of it, trained for a few updates."""

    def trained(builder: str) -> Path:
        if not (runs[builder] / "run.json").exists():
            spec = make_spec(builder, architecture=BUILDERS[builder], max_updates=4)
            train_run(spec, toy_task, runs[builder], device="cpu")
        return runs[builder]

    return trained


def test_pieces_are_joined_to_words() -> None:
    vocab = Vocab(["<pad>", "<s>", "</s>", "<unk>", "mi@@", "lk", "the", "co@@", "w@@"])
    assert vocab.words([6, 4, 5, 7, 8, 5, 2]) == [("the", 1), ("milk", 2), ("cowlk", 3)]
    assert vocab.words([4]) == [("mi", 1)]  # cut off


def expected(data: TaskData, side: str) -> list[tuple[str, int, int]]:
    """Return (word, position, domain) of every piece of the analysed sentences, by the text itself."""
    split = data.split("valid")
    vocab, text = (data.target_vocab, split.target) if side == "decoder" else (data.source_vocab, split.source)
    found = []
    for label in range(len(data.domains)):
        for row in spread(np.flatnonzero(split.domains == label), FEW.proportion_sentences):
            pieces = vocab.decode(text[int(row)].tolist())
            whole = " ".join(pieces).replace("@@ ", "\0").split(" ")
            words = [word.replace("\0", "") for word in whole for _ in range(word.count("\0") + 1)]
            words = ["<s>", *words] if side == "decoder" else [*words, "</s>"]
            found += [(word, position, label) for position, word in enumerate(words)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("builder", "name", "sides"),
    [
        ("waldm", "proportions", {"encoder", "memory", "decoder"}),
        ("domain_aware_attention", "attention", {"encoder", "decoder"}),
    ],
)
def test_every_piece_is_said_to_be_of_its_word_place_and_domain(
    builder: str, name: str, sides: set[str], run: Any, toy_task: Path, tmp_path: Path
) -> None:
    data = TaskData.load(toy_task)
    analyse(Translator(run(builder), CPU), data, FEW, tmp_path)
    stored = np.load(tmp_path / f"{name}.npz")
    lexicon = json.loads((tmp_path / "lexicon.json").read_text())
    assert {key for key in stored.files if "_" not in key} == sides
    for side in sides:
        words = lexicon["target" if side == "decoder" else "source"]["words"]
        names = {**dict(enumerate(words)), END: "</s>", START: "<s>"}
        columns = zip(*(stored[f"{side}_{part}"].tolist() for part in ("word", "position", "domain")), strict=True)
        found = [(names[word], position, domain) for word, position, domain in columns]
        assert Counter(found) == Counter(expected(data, side))
        # Pieces share an occurrence exactly where a word goes on.
        starts = np.diff(stored[f"{side}_occurrence"], prepend=-1)
        assert len(np.unique(stored[f"{side}_occurrence"])) == sum(starts != 0)
        np.testing.assert_allclose(stored[side].sum(-1), 1.0, atol=2e-3)


def test_a_piece_carries_what_the_layers_decided_on_it(run: Any, toy_task: Path, tmp_path: Path) -> None:
    data, translator = TaskData.load(toy_task), Translator(run("domain_aware_attention"), CPU)
    analyse(translator, data, FEW, tmp_path, slots=data.domains)
    stored = np.load(tmp_path / "attention.npz")
    words = json.loads((tmp_path / "lexicon.json").read_text())["source"]["words"]
    split = data.split("valid")
    row = spread(np.flatnonzero(split.domains == 0), FEW.proportion_sentences)[0]
    with torch.inference_mode():
        context = translator.model(collate(split, np.array([row]), bos=1)).context
    want_LTN = torch.stack([a.softmax(-1)[0] for a in context.recorded("domain_attention", "encoder")]).numpy()
    own = [word for word, size in data.source_vocab.words(split.source[int(row)]) for _ in range(size)]
    number_T = [words.index(word) for word in own] + [END]
    width = len(number_T)
    starts = [
        at
        for at in range(stored["encoder"].shape[1] - width + 1)
        if stored["encoder_word"][at : at + width].tolist() == number_T and stored["encoder_position"][at] == 0
    ]
    assert any(np.allclose(stored["encoder"][:, at : at + width], want_LTN, rtol=0, atol=ROUNDING) for at in starts)
    assert json.loads((tmp_path / "meta.json").read_text())["slots"] == list(data.domains)
    sentence = json.loads((tmp_path / "sentences.json").read_text())[0]
    assert np.shape(sentence["attention"]) == (1, len(sentence["source_tokens"]), 3)
    assert sentence["encoder"] is None and sentence["decoder"] is None


def test_words_are_counted_in_the_training_text_of_each_domain(toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    found = training_counts(data, "source", ["bank", "rate", "nothing"])
    texts = {domain: " ".join(data.text("train", domain, "en")).split() for domain in data.domains}
    for word, counts in zip(found["words"], found["counts"], strict=True):
        assert counts == [texts[domain].count(word) for domain in data.domains]
    assert found["totals"] == [len(texts[domain]) for domain in data.domains]


def test_gates_are_means_over_real_words_of_each_domain() -> None:
    context, gates = DomainContext(), MeanGates()
    gate_BTN = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [[0.2, 0.8], [0.2, 0.8], [9.0, 9.0]]])
    context.record("gate", "encoder", gate_BTN)
    context.record("gate", "encoder", torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]))  # of a sentence
    mask_BS = torch.tensor([[True, True, False], [True, True, False]])
    batch: Any = SimpleNamespace(source_mask_BS=mask_BS)
    gates.add(context, batch, np.array([1, 0]))
    found = gates.values(("law", "news"))
    assert np.allclose(found["news"], [[0.75, 0.25], [1.0, 0.0]])
    assert np.allclose(found["law"], [[0.2, 0.8], [0.0, 1.0]])
    assert MeanGates().values(("law",)) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("builder", "slots"), [("domain_aware_attention", ["economy", "law"]), ("dmoe", [])])
def test_the_verb_names_what_training_ties_to_domains(
    builder: str, slots: list[str], run: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec = FEW.model_dump_json()
    arguments = ["--run", str(run(builder)), "--task", str(toy_task), "--spec", spec, "--device", "cpu"]
    assert main(["analyse", *arguments, "--threads", "1", "--out", str(tmp_path)]) == 0
    assert json.loads((tmp_path / "meta.json").read_text())["slots"] == slots
    gates = read_json(tmp_path / "gates.json")
    assert set(gates) == (set() if slots else {"economy", "law"})
    if gates:
        np.testing.assert_allclose(np.sum(list(gates.values()), axis=-1), 1.0, rtol=1e-5)
