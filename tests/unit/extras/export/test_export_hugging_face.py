"""transformers computes what we do with an exported model, loaded by a plain `from_pretrained`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from foreign_scores import LONGEST, Ours

from mdnmt.extras.export.export_run import export_run

transformers = pytest.importorskip("transformers", reason="transformers is an optional package")

FORMS: list[tuple[str, dict[str, Any], str]] = [
    ("transformer", {"norm": "pre", "share_embeddings": "all"}, "PegasusForConditionalGeneration"),
    ("transformer", {"norm": "post", "share_embeddings": "none", "size": "enlarged"}, "MarianMTModel"),
    ("domain_tag", {"tag_position": "last", "norm": "post"}, "MarianMTModel"),
    ("transformer", {"norm": "pre", "share_embeddings": "none"}, "PegasusForConditionalGeneration"),
    ("transformer", {"norm": "post", "share_embeddings": "all"}, "MarianMTModel"),
    ("multitask", {"norm": "post", "share_embeddings": "decoder"}, "MarianMTModel"),
    ("domain_tag", {"tag_position": "first", "share_embeddings": "all"}, "PegasusForConditionalGeneration"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("builder", "options", "class_name"),
    [*FORMS[:3], *(pytest.param(*form, marks=pytest.mark.long) for form in FORMS[3:])],
)
def test_forced_scores_and_translations_are_ours(
    builder: str,
    options: dict[str, Any],
    class_name: str,
    finished: Callable[..., Path],
    configuration: Path,
    toy_task: Path,
    tmp_path: Path,
) -> None:
    run, out = finished(builder, **options), tmp_path / "out"
    export_run(run, "huggingface", out, configuration)
    ours = Ours.of(run, toy_task, options.get("tag_position", "first"))
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(out, output_loading_info=True)
    assert type(model).__name__ == class_name and not any(report.values())
    source_side = transformers.AutoTokenizer.from_pretrained(out)
    target_side = transformers.AutoTokenizer.from_pretrained(out / "target_tokenizer")
    batch = source_side([" ".join(one) for one in ours.sources], return_tensors="pt", padding=True)
    labels = target_side([" ".join(one) for one in ours.references], return_tensors="pt", padding=True)
    begin = torch.full_like(labels.input_ids[:, :1], model.config.decoder_start_token_id)
    inputs = torch.cat([begin, labels.input_ids[:, :-1]], dim=1)
    with torch.inference_mode():
        logits = model.eval()(**batch, decoder_input_ids=inputs).logits
        found = model.generate(**batch, num_beams=3, max_new_tokens=LONGEST)
    log_p = logits.log_softmax(-1).gather(2, labels.input_ids.unsqueeze(2)).squeeze(2)
    pieces = [target_side.convert_ids_to_tokens(row) for row in found]
    kept = [[piece for piece in row if piece not in ("<pad>", "<s>", "</s>")] for row in pieces]
    ours.check((log_p * labels.attention_mask).sum(1).tolist(), kept)
