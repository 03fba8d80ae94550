"""Forced decoding: held against the model asked word by word, against validation, and down to scores.json."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from chosen_cases import chosen_cases
from torch import nn

from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.forced_decoding import decoder_states, force_decode
from mdnmt.decode.likelihood import Likelihood, Likelihoods, read_likelihoods, write_likelihoods
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DataError
from mdnmt.methods import BUILDERS
from mdnmt.models.transformer import Transformer
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.run import train_run
from mdnmt.train.validation import Validation

CPU = torch.device("cpu")
SOURCES = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [2], [3, 2]]
TARGETS = [[12, 13, 14, 2], [15, 2], [16, 17, 3, 19, 20, 21, 2], [2]]
DOMAINS = torch.tensor([0, 1, 0, 1])
POSITIONS = {"start": 1, "pad": 0, "max_source": 30, "max_target": 30, "batch_tokens": 14}


def ids(rows: list[list[int]]) -> list[Any]:
    return [np.array(row, dtype=np.int32) for row in rows]


def word_by_word(model: Transformer, source: list[int], target: list[int], label: int) -> tuple[int, float, int]:
    """Return pieces, -ln p and right pieces of one sentence, each word asked for by itself."""
    source_BS = torch.tensor([source])
    state = model.start(source_BS, source_BS != 0, torch.tensor([label]))
    nll, right, before = 0.0, 0, 1
    for word in target:
        p = model.step(torch.tensor([before]), state)[0].double().softmax(-1)
        nll -= math.log(p[word].item())
        right += int(p.argmax().item() == word)
        before = word
    return len(target), nll, right


@pytest.mark.slow
@pytest.mark.parametrize("kernels", chosen_cases(["cpu", "plain"], "cpu"), indirect=True)
@pytest.mark.parametrize("builder", BUILDERS)
def test_every_model_is_asked_what_decoding_asks(random_method: Any, builder: str) -> None:
    model = random_method(builder).model.eval()
    chance = random.Random(3)
    more = [[*(chance.randrange(3, 29) for _ in range(length)), 2] for length in (20, 25, 29, 14, 28, 22)]
    sources, targets = SOURCES + more, TARGETS + more[::-1]
    domains = torch.tensor([0, 1, 0, 1, 0, 0, 1, 1, 0, 1])
    found = force_decode(decoder_states(model, domains), model.output_weight, ids(sources), ids(targets), **POSITIONS)
    with torch.inference_mode():
        each = [word_by_word(model, *one) for one in zip(sources, targets, domains.tolist(), strict=True)]
    pieces, nll, correct = zip(*each, strict=True)
    assert found.pieces == pieces
    assert found.nll == pytest.approx(nll, rel=1e-5)
    assert found.correct == correct and 0 < sum(correct) < sum(pieces)


def test_what_is_too_long_is_left_out_and_a_code_that_is_told_counts_for_nothing(random_method: Any) -> None:
    model = random_method("transformer").model.eval()
    ask = [decoder_states(model, None), model.output_weight, ids(SOURCES), ids(TARGETS)]
    whole = force_decode(*ask, **POSITIONS)
    short = force_decode(*ask, **{**POSITIONS, "max_target": 4, "max_source": 3})
    assert short.pieces == (4, 0, 0, 1) and short.left_out == 2
    assert short.nll == pytest.approx([whole.nll[0], 0.0, 0.0, whole.nll[3]], rel=1e-6)
    assert short.correct == (whole.correct[0], 0, 0, whole.correct[3])
    told = force_decode(*ask, **POSITIONS, given=1)
    assert told.pieces == (3, 1, 6, 0)
    firsts = force_decode(*ask[:3], ids([row[:1] for row in TARGETS]), **POSITIONS)
    assert told.nll == pytest.approx([a - b for a, b in zip(whole.nll, firsts.nll, strict=True)], abs=1e-4)


def test_a_batch_changes_nothing_but_rounding(random_method: Any) -> None:
    model = random_method("waldm").model.eval()
    ask = [decoder_states(model, DOMAINS), model.output_weight, ids(SOURCES), ids(TARGETS)]
    whole, alone = (force_decode(*ask, **{**POSITIONS, "batch_tokens": tokens}) for tokens in (1000, 1))
    assert (whole.pieces, whole.correct) == (alone.pieces, alone.correct)
    assert whole.nll == pytest.approx(alone.nll, rel=1e-5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def run(runs: Path, make_spec: Any, toy_task: Path) -> Path:
    if not (runs / "run.json").exists():
        train_run(make_spec(architecture={"mixed_sides": "both"}, max_updates=20), toy_task, runs, device="cpu")
    return runs


def test_numbers_are_those_of_validation_on_the_same_text(run: Path, toy_task: Path) -> None:
    data, translator = TaskData.load(toy_task), Translator(run, CPU)
    recipe = Training.model_validate({"validation_bleu_sentences": 0, "max_tokens": 40})
    expected = Validation(data, data.domains, recipe, 0.1)(translator.model, CPU, None)
    split = data.split("valid")
    for label, domain in enumerate(data.domains):
        rows = np.flatnonzero(split.domains == label).tolist()
        sides = ([side[row] for row in rows] for side in (split.source, split.target))
        found = translator.force_ids(*sides, Decoding(), domain)
        assert math.exp(math.fsum(found.nll) / sum(found.pieces)) == pytest.approx(expected[domain]["ppl"], rel=1e-5)
        assert sum(found.correct) / sum(found.pieces) == expected[domain]["accuracy"]
        assert expected[domain]["ppl"] > 1


@pytest.mark.slow
def test_the_verbs_write_them_beside_the_translations_and_among_the_scores(
    run: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "set_deterministic_debug_mode", lambda mode: None)  # of this process, not of one test
    hyp, out, task = tmp_path / "hyp", tmp_path / "scores.json", ["--task", str(toy_task)]
    decode = [
        "decode",
        "--run",
        str(run),
        *task,
        "--out",
        str(hyp),
        "--device",
        "cpu",
        "--spec",
        '{"max_sentences": 4}',
    ]
    score = ["score", *task, "--hypotheses", str(hyp), "--out", str(out), "--limit", "4"]
    assert (main(decode), main(score)) == (0, 0)
    scores, found, data = json.loads(out.read_text()), read_likelihoods(hyp), TaskData.load(toy_task)
    assert found is not None
    split, translator = data.split("test"), Translator(run, CPU)
    for label, domain in enumerate(data.domains):
        rows = np.flatnonzero(split.domains == label)[:4].tolist()
        each = [word_by_word(translator.model, list(split.source[r]), list(split.target[r]), label) for r in rows]
        pieces, nll, right = (sum(values) for values in zip(*each, strict=True))
        entry = scores["domains"][domain]
        # As fairseq prints it: 2 to the power of the mean over pieces of -log2 p.
        assert entry["perplexity"]["score"] == pytest.approx(2 ** (nll / math.log(2) / pieces), rel=1e-5)
        assert entry["accuracy"]["score"] == 100 * right / pieces
        assert sum(found.domains[domain].pieces) == pieces
        assert list(found.domains[domain].nll) == [round(value, 4) for value in found.domains[domain].nll]
        vocabulary = f"vocab:{len(data.target_vocab)}-"
        assert vocabulary in entry["perplexity"]["signature"] and "smooth:none" in entry["accuracy"]["signature"]
    both = [scores["domains"][name]["perplexity"]["score"] for name in data.domains]
    assert scores["mean"]["perplexity"] == sum(both) / 2
    assert f"Perplexity {both[0]:.2f}, Accuracy" in capsys.readouterr().out
    before = (hyp / "likelihood.json").read_bytes()
    assert main(decode) == 0 and (hyp / "likelihood.json").read_bytes() == before


def test_likelihoods_that_do_not_fit_are_one_line(
    run: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hyp = tmp_path / "hyp"
    score = ["score", "--task", str(toy_task), "--hypotheses", str(hyp), "--out", str(tmp_path / "s.json")]

    def said(*more: str) -> str:
        assert main([*score, *more]) == 2
        text = capsys.readouterr().err
        assert text.count("\n") == 1
        return text

    assert main([*score, "--copy-source"]) == 0  # of no model: no perplexity
    assert "perplexity" not in json.loads((tmp_path / "s.json").read_text())["domains"]["law"]
    assert "no likelihood.json, which accuracy needs" in said("--metrics", "bleu", "accuracy")
    one = Likelihood((3,) * 4, (1.5,) * 4, (1,) * 4)
    write_likelihoods(hyp, Likelihoods("9-x", {"economy": one, "law": one}))
    assert "4 sentences of economy, expected 5" in said()
    write_likelihoods(hyp, Likelihoods("9-x", {"law": one}))
    assert "nothing of economy, expected 5" in said()
    (hyp / "likelihood.json").write_text('{"vocabulary": "9-x", "domains": {"law": {"pieces": [1], "nll": []}}}')
    assert "likelihood.json: cannot be used" in said()
    with pytest.raises(DataError, match="line 2 of law: the likelihood of its reference is not a finite number"):
        write_likelihoods(hyp, Likelihoods("9-x", {"law": replace(one, nll=(1.0, math.nan, 1.0, 1.0))}))


@pytest.mark.slow
def test_a_run_that_needs_the_domain_is_told_it(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    train_run(make_spec("domain_tag", max_updates=4, validate_every=4), toy_task, tmp_path, device="cpu")
    translator, data = Translator(tmp_path, CPU), TaskData.load(toy_task)
    split = data.split("test")
    sides = [split.source[0]], [split.target[0]]
    with pytest.raises(ConfigError, match="--domain"):
        translator.force_ids(*sides, Decoding())
    nn.init.normal_(translator.model.domain_tag.weight, std=5.0)  # type: ignore[union-attr,arg-type]
    told = {translator.force_ids(*sides, Decoding(), domain).nll for domain in data.domains}
    assert len(told) == 2
    assert translator.force_ids(*sides, Decoding(), ["law"]).nll in told
