"""The verbs find the plug-in of pretrained models by its builder."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.decode.labels import translation_address


@pytest.mark.slow
def test_train_decode_and_translate(
    pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, root = pretrained_spec("zero-shot"), ["--pretrained", str(pretrained_root)]
    run = tmp_path / f"seed1-{spec.fingerprint}"
    words = ["train", "--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", str(run), "--device", "cpu"]
    assert main([*words, *root]) == 0
    config = Decoding(beam_size=1, max_sentences=2)
    out = run / f"test-{translation_address(config, 'test')}" / "hyp"
    words = ["decode", "--run", str(run), "--task", str(toy_task), "--spec", config.model_dump_json()]
    assert main([*words, "--out", str(out), "--device", "cpu", *root]) == 0
    assert len((out / "hyp.law.txt").read_text().splitlines()) == 2
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"bank court\n")))
    assert main(["translate", "--run", str(run), "--beam-size", "1", "--device", "cpu", *root]) == 0
