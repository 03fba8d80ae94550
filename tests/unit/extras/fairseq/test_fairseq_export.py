"""An imported run is exported like another, and its model card says where it came from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fairseq_files import options, weights, write

from mdnmt.cli import main
from mdnmt.decode.translator import Translator
from mdnmt.extras.export.plain_transformer import plain_transformer


def test_an_imported_run_is_exported(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is an optional package")
    given = options(share_all_embeddings=True, arch="big")
    checkpoint = write(tmp_path, given, weights(given, 11, 11))
    dictionaries = ["--dict-src", str(tmp_path / "dict.en.txt"), "--dict-tgt", str(tmp_path / "dict.fr.txt")]
    run, out = tmp_path / "run", tmp_path / "out"
    assert main(["import", "fairseq", str(checkpoint), *dictionaries, "--out", str(run)]) == 0
    assert main(["export", str(run), "--to", "huggingface", "--out", str(out)]) == 0
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "It was trained with fairseq" in card and "architecture: big" in card
    assert "The checkpoint does not name them." in card

    translator = Translator(run, torch.device("cpu"))
    assert torch.equal(
        *(getattr(plain_transformer(run, translator, "x"), f"{side}_embedding") for side in ("source", "target"))
    )
    source, target = torch.tensor([[6, 3, 8, 5, 2]]), torch.tensor([[1, 9, 4, 3, 7]])
    theirs = transformers.AutoModelForSeq2SeqLM.from_pretrained(out)
    with torch.no_grad():
        found = theirs(input_ids=source, decoder_input_ids=target).logits[0]
        state = translator.model.start(source, source != 0)
        ours = torch.cat([translator.model.step(word, state) for word in target[0].split(1)])
    torch.testing.assert_close(found[:, : ours.size(1)], ours, rtol=1e-4, atol=1e-4)
