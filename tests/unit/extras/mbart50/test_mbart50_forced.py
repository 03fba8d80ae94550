"""Forced decoding of mBART-50: held against transformers' own logits, sentence by sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import MBart50Tokenizer, MBartForConditionalGeneration

from mdnmt.config.decoding import Decoding
from mdnmt.extras.mbart50.run import make_run
from mdnmt.extras.mbart50.translator import MbartTranslator
from mdnmt.extras.mbart50.weight_files import folder_of
from mdnmt.tasks.task_data import TaskData


def test_references_are_predicted_as_by_transformers_without_their_language_code(
    mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    make_run(mbart_spec("zero-shot"), toy_task, tmp_path, root=pretrained_root)
    folder = folder_of("facebook/mbart-large-50-many-to-many-mmt", pretrained_root)
    tokenizer = MBart50Tokenizer(str(folder / "sentencepiece.bpe.model"), src_lang="en_XX", tgt_lang="fr_XX")
    model = MBartForConditionalGeneration.from_pretrained(folder).eval()
    data = TaskData.load(toy_task)
    translator = MbartTranslator(tmp_path, torch.device("cpu"), pretrained_root)
    found = translator.force_split(data, "test", Decoding(max_sentences=3, batch_tokens=40), "law")
    sides = (data.text("test", "law", lang)[:3] for lang in ("en", "fr"))
    for number, (source, target) in enumerate(zip(*sides, strict=True)):
        batch = tokenizer(source, text_target=target, return_tensors="pt")
        with torch.inference_mode():
            log_p_TV = model(**batch).logits[0].double().log_softmax(-1)[1:]
        labels = batch["labels"][0, 1:]  # the code comes first, and is told to the decoder when it translates
        assert found.pieces[number] == len(labels)
        assert found.nll[number] == pytest.approx(-log_p_TV.gather(1, labels[:, None]).sum().item(), rel=1e-5)
        assert found.correct[number] == int((log_p_TV.argmax(-1) == labels).sum())
    assert len(found.pieces) == 3 and sum(found.correct) > 0
    assert translator.vocabulary.startswith(f"{len(tokenizer)}-")
