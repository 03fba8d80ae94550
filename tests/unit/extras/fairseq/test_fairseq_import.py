"""An imported model computes what fairseq's does, layer by layer, and is a run for translation, not for a study."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fairseq_files import HEADS, options, weights, write
from reference import fairseq as slow
from torch import Tensor

from mdnmt.cli import main
from mdnmt.decode.translator import Translator
from mdnmt.fsio import read_json
from mdnmt.models.context import DomainContext

PLAIN: dict[str, tuple[dict[str, Any], bool]] = {
    "post, untied": ({}, False),
    "post, untied, old names": ({}, True),
    "pre, output tied": (
        {
            "encoder_normalize_before": True,
            "decoder_normalize_before": True,
            "share_decoder_input_output_embed": True,
        },
        False,
    ),
    "post, all tied": ({"share_all_embeddings": True}, False),
    "pre, all tied, old names": (
        {"encoder_normalize_before": True, "decoder_normalize_before": True, "share_all_embeddings": True},
        True,
    ),
}
WALDM: list[tuple[tuple[str, ...], int, bool]] = [
    (("encoder", "decoder"), 2, False),
    (("encoder", "decoder"), 3, True),
    (("encoder",), 2, True),
    (("encoder",), 3, False),
]
# Token numbers of fairseq. Of those below 4, text has only 2 and 3: </s> and <unk>.
SOURCE, TARGET = [6, 3, 8, 5, 6, 2], [9, 4, 3, 7, 2]
OURS = {0: 1, 1: 0}  # fairseq's <s> and <pad>; all other pieces have the same number


def imported(folder: Path, *arguments: str) -> Path:
    command = ["import", "fairseq", str(folder / "checkpoint.pt")]
    command += ["--dict-src", str(folder / "dict.en.txt"), "--dict-tgt", str(folder / "dict.fr.txt")]
    assert main([*command, "--out", str(folder / "run"), *arguments]) == 0
    return folder / "run"


def waldm(
    folder: Path, mixed: tuple[str, ...], domains: int, *, pre_norm: bool
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    given = options(
        arch="transformer_da_bayes_iwslt_de_en",
        task="translation_da",
        damethod="bayesian",
        domain_nums=str(domains),
        bayesmooth=0.2,
        bayesenocderonly="decoder" not in mixed,
        encoder_normalize_before=pre_norm,
        decoder_normalize_before=pre_norm,
    )
    model = weights(given, 9, 11, old=True, mixed=mixed, domains=domains)
    model["maskcls.attlinear1.weight"] = torch.ones(2, 2)  # of WL; translation does not use it
    write(folder, given, model)
    return given, model


def our_states(run: Path) -> tuple[Translator, list[Tensor], list[Tensor], Tensor, DomainContext]:
    """Return the outputs of all layers and the logits [T, V] of an imported run in float64."""
    translator = Translator(run, torch.device("cpu"))
    model = translator.model.double()
    found: dict[str, list[Tensor]] = {"encoder": [], "decoder": []}
    for side in found:
        for layer in getattr(model, side).layers:
            layer.register_forward_hook(lambda _, __, output, side=side: found[side].append(output[0].detach()))
    source = torch.tensor([SOURCE])
    context = DomainContext()
    with torch.no_grad():
        memory = model.encode(source, source != 0, context)
        y_BTD = model.decoder(model.target_embedding(torch.tensor([[1, *TARGET[:-1]]])), memory, context)
        logits = model.token_logits(y_BTD[0])
    return translator, found["encoder"], found["decoder"], logits, context


def compare(given: dict[str, Any], model: dict[str, Tensor], run: Path, shape: slow.Shape) -> DomainContext:
    expected = slow.run({name: value.double() for name, value in model.items()}, SOURCE, TARGET[:-1], shape)
    translator, encoder, decoder, logits, context = our_states(run)
    for side, ours, theirs in (("encoder", encoder, expected.encoder), ("decoder", decoder, expected.decoder)):
        assert len(ours) == len(theirs) == given[f"{side}_layers"]
        for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5, msg=f"{side} layer {number}")
    order = [OURS.get(number, number) for number in range(len(translator.target_vocab))]
    torch.testing.assert_close(logits[:, order], expected.logits, rtol=1e-5, atol=1e-5)
    compare_proportions(context, expected, shape)
    return context


def compare_proportions(context: DomainContext, expected: slow.States, shape: slow.Shape) -> None:
    ours = [
        (1 - shape.smoothing) * logits_BTK[0].softmax(-1) + shape.smoothing / shape.num_domains
        for side in ("encoder", "decoder")
        for logits_BTK in context.recorded("proportion", side)  # type: ignore[arg-type]
    ]
    assert len(ours) == len(expected.proportions)
    for one, other in zip(ours, expected.proportions, strict=True):
        # Of two domains the released code's first share is that of label 1; ours is that of the first domain.
        torch.testing.assert_close(one, other.flip(-1) if shape.num_domains == 2 else other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PLAIN)
def test_layers_and_logits_are_fairseqs(name: str, tmp_path: Path) -> None:
    changed, old = PLAIN[name]
    given = options(**changed)
    sizes = (11, 11) if given.get("share_all_embeddings") else (9, 11)
    model = weights(given, *sizes, old=old)
    write(tmp_path, given, model, zipped=not old)
    shape = slow.Shape(HEADS, (2, 3), given["encoder_normalize_before"])
    compare(given, model, imported(tmp_path), shape)


@pytest.mark.parametrize(("mixed", "domains", "pre_norm"), WALDM)
def test_layers_and_logits_are_those_of_the_released_code(
    mixed: tuple[str, ...], domains: int, pre_norm: bool, tmp_path: Path
) -> None:
    given, model = waldm(tmp_path, mixed, domains, pre_norm=pre_norm)
    run = imported(tmp_path, "--domains", "news", "ted", *["law"][: domains - 2])
    shape = slow.Shape(HEADS, (2, 3), pre_norm, domains, mixed, smoothing=0.2)
    context = compare(given, model, run, shape)
    assert len(context.recorded("proportion", "memory")) == ("decoder" in mixed)


def test_half_precision_is_widened(tmp_path: Path) -> None:
    given = options()
    model = {name: value.half() for name, value in weights(given, 9, 11).items()}
    write(tmp_path, given, model)
    compare(given, model, imported(tmp_path), slow.Shape(HEADS, (2, 3), False))


def test_options_of_newer_versions_are_read(tmp_path: Path) -> None:
    given = options()
    del given["task"]
    given |= {"source_lang": None, "target_lang": None}  # left to the names of the dictionaries
    task = {"_name": "translation", "source_lang": None, "max_source_positions": 1024}
    model = weights(given, 9, 11)
    write(tmp_path, {}, model, args=None, cfg={"task": task, "model": given})
    compare(given, model, imported(tmp_path), slow.Shape(HEADS, (2, 3), False))


def test_cached_decoding_scores_what_the_logits_say(tmp_path: Path) -> None:
    given = options(share_all_embeddings=True)
    model = weights(given, 11, 11)
    write(tmp_path, given, model)
    translator = Translator(imported(tmp_path), torch.device("cpu"))
    translator.model.double()
    expected = slow.run(
        {name: value.double() for name, value in model.items()}, SOURCE, TARGET[:-1], slow.Shape(HEADS, (2, 3), False)
    )
    scores = expected.logits.log_softmax(-1)[range(len(TARGET)), TARGET]
    state = translator.model.start(torch.tensor([SOURCE]), torch.ones(1, len(SOURCE), dtype=torch.bool))
    found = [
        float(translator.model.step(torch.tensor([word]), state).log_softmax(-1)[0, wanted].detach())
        for word, wanted in zip([1, *TARGET[:-1]], TARGET, strict=True)
    ]
    np.testing.assert_allclose(found, scores, rtol=1e-5)


def test_the_run_translates_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = options()
    write(tmp_path, given, weights(given, 9, 11))
    run = imported(tmp_path, "--bpe-codes", str(tmp_path / "codes"))
    assert Translator(run, torch.device("cpu")).encode(["the bank"])[0].tolist() == [4, 5, 6, 2]
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the bank\n\n")))
    assert main(["translate", "--run", str(run), "--device", "cpu", "--threads", "1"]) == 0
    first, second = capsys.readouterr().out.split("\n")[:2]
    assert first and not second
    assert main(["translate", "--run", str(run), "--device", "cpu", "--predict-domain"]) == 2
    assert "was imported, so no task has text to train a classifier" in capsys.readouterr().err


@pytest.mark.parametrize("end", ["\r\n", "\r", "  \n"])
def test_line_ends_of_codes_and_dictionaries_mean_nothing(end: str, tmp_path: Path) -> None:
    given = options()
    write(tmp_path, given, weights(given, 9, 11))
    (tmp_path / "dict.en.txt").write_text(
        "the 9\nba@@ -1\nnk -2\ncourt 6 #fairseq:overwrite\nrule 5\n"
    )  # scores of sentencepiece
    for name in ("codes", "dict.en.txt", "dict.fr.txt"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(b"\n", end.encode()))
    run = imported(tmp_path, "--bpe-codes", str(tmp_path / "codes"))
    assert (run / "segmentation/codes.bpe").read_bytes() == b"#version: 0.2\nb a\nn k</w>\nt h\nth e</w>\n"
    assert Translator(run, torch.device("cpu")).encode(["the bank"])[0].tolist() == [4, 5, 6, 2]


def test_the_record_says_that_the_run_was_imported(tmp_path: Path) -> None:
    import hashlib

    given = options()
    path = write(tmp_path, given, weights(given, 9, 11))
    record = read_json(imported(tmp_path) / "run.json")
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    said = record["imported"]
    assert (said["from"], said["sha256"], said["updates"]) == ("fairseq", sha256, 40)
    assert record["spec"]["task_fingerprint"] == f"fairseq-{sha256}"
    assert not {"task", "method", "seed", "updates", "validation"} & record.keys()


def test_codes_of_domains_take_text_apart_by_its_domain(tmp_path: Path) -> None:
    waldm(tmp_path, ("encoder",), 2, pre_norm=False)
    codes = tmp_path / "codes"
    (tmp_path / "other").write_text("#version: 0.2\n", encoding="utf-8")
    run = imported(tmp_path, "--domains", "news", "ted", "--bpe-codes", f"news={codes}", f"ted={tmp_path / 'other'}")
    translator = Translator(run, torch.device("cpu"))
    assert [len(translator.encode(["bank"], name)[0]) for name in ("news", "ted")] == [3, 5]
    assert json.loads((run / "segmentation" / "segmentation.json").read_text())["bpe"] == "domain"
