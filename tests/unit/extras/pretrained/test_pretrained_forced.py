"""Forced decoding: held against transformers' own logits, sentence by sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM
from unit.extras.pretrained.conftest import CODES, KINDS, with_languages

from mdnmt.config.decoding import Decoding
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.run import make_run
from mdnmt.extras.pretrained.translator import PretrainedTranslator
from mdnmt.extras.pretrained.weights import folder_of
from mdnmt.tasks.task_data import TaskData


@pytest.mark.parametrize("kind", KINDS)
def test_references_are_predicted_as_by_transformers_without_their_language_code(
    kind: str, pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    make_run(pretrained_spec("zero-shot", kind), toy_task, tmp_path, root=pretrained_root)
    folder = folder_of(PretrainedConfig(weights=f"tiny/{kind}"), pretrained_root)
    tokenizer, model = with_languages(folder, kind), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    data, given = TaskData.load(toy_task), int(bool(CODES[kind][1]))
    translator = PretrainedTranslator(tmp_path, torch.device("cpu"), pretrained_root)
    found = translator.force_split(data, "test", Decoding(max_sentences=3, batch_tokens=40), "law")
    sides = (data.text("test", "law", lang)[:3] for lang in ("en", "fr"))
    for number, (source, target) in enumerate(zip(*sides, strict=True)):
        batch = tokenizer(source, text_target=target, return_tensors="pt")
        with torch.inference_mode():
            log_p_TV = model(**batch).logits[0].double().log_softmax(-1)[given:]
        labels = batch["labels"][0, given:]  # the language code comes first; translation forces it
        assert found.pieces[number] == len(labels)
        assert found.nll[number] == pytest.approx(-log_p_TV.gather(1, labels[:, None]).sum().item(), rel=1e-5)
        assert found.correct[number] == int((log_p_TV.argmax(-1) == labels).sum())
    assert len(found.pieces) == 3 and sum(found.correct) > 0
