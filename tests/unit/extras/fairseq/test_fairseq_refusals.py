"""What `mdnmt import` refuses: code in a checkpoint, models that we do not compute, files that do not fit."""

from __future__ import annotations

import collections
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from fairseq_files import options, weights, write

from mdnmt.cli import main

Written = tuple[Path, dict[str, Any]]


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, out: Path | None = None) -> str:
    """Return the one line that the command ends with; nothing is written."""
    out = out or folder / "run"
    command = ["import", "fairseq", str(folder / "checkpoint.pt"), "--dict-src", str(folder / "dict.en.txt")]
    command += ["--dict-tgt", str(folder / "dict.fr.txt"), "--out", str(out)]
    assert main([*command, *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    assert not (out / "run.json").exists()
    assert not list(folder.glob(".run*"))
    return err


def written(folder: Path, *, old: bool = False, **changed: Any) -> dict[str, Any]:
    given = options(**changed)
    write(folder, given, weights(given, 9, 11, old=old))
    return given


class Attack:
    """Runs a command where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


@pytest.mark.parametrize("zipped", [True, False])
def test_code_in_a_checkpoint_is_not_run(zipped: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, mark = options(), tmp_path / "mark"
    write(tmp_path, given, weights(given, 9, 11), zipped=zipped, extra_state={"x": Attack(mark)})
    message = refusal(tmp_path, capsys)
    assert ("refused, it holds an object of" in message and "pathlib" in message) or "getattr" in message, message
    assert not mark.exists()


def test_a_class_that_is_not_allowed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = options()
    write(tmp_path, given, weights(given, 9, 11), extra_state=collections.UserDict(a=1))
    assert "an object of collections.UserDict" in refusal(tmp_path, capsys)


def test_meters_of_old_versions_are_read_without_fairseq(tmp_path: Path) -> None:
    meter = type("AverageMeter", (), {"__module__": "fairseq.meters"})
    module = type(torch)("fairseq.meters")
    module.AverageMeter = meter  # type: ignore[attr-defined]
    given, one = options(), meter()
    one.avg = 1.5  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:  # pickle looks for the class where it says that it is
        patch.setitem(sys.modules, "fairseq", type(torch)("fairseq"))
        patch.setitem(sys.modules, "fairseq.meters", module)
        write(tmp_path, given, weights(given, 9, 11), extra_state={"train_meters": {"loss": one}})
    command = ["import", "fairseq", str(tmp_path / "checkpoint.pt"), "--dict-src", str(tmp_path / "dict.en.txt")]
    assert main([*command, "--dict-tgt", str(tmp_path / "dict.fr.txt"), "--out", str(tmp_path / "run")]) == 0


def test_a_damaged_file_or_another_one_of_torch_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    path = tmp_path / "checkpoint.pt"
    whole = path.read_bytes()
    for data, said in ((whole[:5000], "cannot be read"), (b"no checkpoint", "begins with b'no checkpoint")):
        path.write_bytes(data)
        assert f"checkpoint.pt: {said}" in refusal(tmp_path, capsys)
    for state in ({}, {"model": {"a": 1}}, {"model": {}, "args": None}, [1]):
        torch.save(state, path)
        assert "expected" in refusal(tmp_path, capsys)
    path.unlink()
    assert "checkpoint.pt: no such file" in refusal(tmp_path, capsys)


OPTIONS: dict[str, Any] = {
    "task": "translation_multi_simple_epoch",
    "activation_fn": "gelu",
    "encoder_learned_pos": True,
    "decoder_learned_pos": True,
    "no_token_positional_embeddings": True,
    "no_scale_embedding": True,
    "layernorm_embedding": True,
    "adaptive_softmax_cutoff": [4, 6],
    "cross_self_attention": True,
    "no_decoder_final_norm": True,
    "decoder_output_dim": 5,
    "decoder_ffn_embed_dim": 24,
    "decoder_normalize_before": True,
    "decoder_attention_heads": 2,
}


def test_an_option_that_we_do_not_compute_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in OPTIONS.items():
        written(tmp_path, **{name: value})
        message = refusal(tmp_path, capsys)
        assert name in message and repr(value) in message


def test_parameters_must_be_those_of_a_transformer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = options()
    model = weights(given, 9, 11)
    write(tmp_path, given, {**model, "encoder.layers.1.c_attn": torch.ones(3)})
    assert "has the parameter encoder.layers.1.c_attn (1 in all)" in refusal(tmp_path, capsys)
    del model["decoder.layers.2.fc2.bias"]
    write(tmp_path, given, model)
    assert "has no parameter decoder.layers.2.fc2.bias" in refusal(tmp_path, capsys)


def test_a_dictionary_must_be_the_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    path = tmp_path / "dict.en.txt"
    lines = path.read_text()
    shapes = "encoder.embed_tokens.weight has the shape [9, 12]; options and dictionaries say [10, 12]"
    for text, expected in (
        (lines + "more 1\n", shapes),
        (lines + "the 1\n", "dict.en.txt:6: 'the' has a number already"),
        (lines + "<unk> 1\n", "dict.en.txt:6: '<unk>' has a number already"),
        (lines + "the\n", "dict.en.txt:6: found 'the', expected a piece and its count"),
    ):
        path.write_text(text)
        assert expected in refusal(tmp_path, capsys)


def test_codes_must_be_those_of_subword_nmt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    codes = tmp_path / "codes"
    assert "expected one FILE, or LANG=FILE for en and fr" in refusal(tmp_path, capsys, "--bpe-codes", f"de={codes}")
    assert "found two files for everything" in refusal(tmp_path, capsys, "--bpe-codes", str(codes), str(codes))
    codes.write_text("b a 12\n")
    assert "codes:1: found 'b a 12', expected '#version: 0.2'" in refusal(tmp_path, capsys, "--bpe-codes", str(codes))
    good = codes.with_name("good")
    good.write_text("#version: 0.2\nb a\n")
    codes.write_text("#version: 0.2\nb a\n\nn k\n")
    for given in ([str(codes)], [f"en={good}", f"fr={codes}"]):
        assert f"{codes}:3: '' are not two pieces" in refusal(tmp_path, capsys, "--bpe-codes", *given)


def test_a_byte_order_mark_is_no_part_of_the_first_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    for name in ("codes", "dict.fr.txt"):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + (whole := path.read_bytes()))
        said = refusal(tmp_path, capsys, "--bpe-codes", str(tmp_path / "codes"))
        assert f"{path}:1: begins with a byte order mark" in said
        path.write_bytes(whole)


def test_domains_must_be_as_many_as_the_model_mixes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = options(damethod="bayesian", domain_nums=2, task="translation_da")
    sides = ("encoder", "decoder")
    model = weights(given, 9, 11, old=True, mixed=sides, domains=2)
    write(tmp_path, given, model)
    assert "mixes 2 domains, but --domains names 0" in refusal(tmp_path, capsys)
    name = "encoder.layers.0.self_attn.submodel.1.in_proj_weight"
    write(tmp_path, given, {**model, name: model[name][:24]})
    assert f"{name} has the shape [24, 12]" in refusal(tmp_path, capsys, "--domains", "a", "b")
    model["encoder.layers.0.self_attn.submodel.2.in_proj_weight"] = model[name]
    write(tmp_path, given, model)
    assert "has the parameter encoder.layers.0.self_attn.submodel.2" in refusal(tmp_path, capsys, "--domains", "a", "b")
    write(tmp_path, {**given, "bayesdeocderonly": True}, model)
    assert "bayesdeocderonly is True" in refusal(tmp_path, capsys, "--domains", "a", "b")


def test_the_place_of_a_studys_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path)
    place = tmp_path / "results" / "runs" / "toy" / "mixed" / "seed1-0123abcd"
    assert "is the place of a study's run" in refusal(tmp_path, capsys, out=place)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    assert "not an empty folder" in refusal(tmp_path, capsys)


def test_languages_come_from_the_checkpoint_or_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, source_lang="no language")
    assert "its source language is 'no language'; give --source-lang" in refusal(tmp_path, capsys)
    assert "both 'fr'" in refusal(tmp_path, capsys, "--source-lang", "fr")
