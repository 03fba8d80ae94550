"""The half of exported.py that runs in the other library's environment; it needs no mdnmt.

The library is the one that the folder is for: ctranslate2, transformers (with torch), or onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

BATCH = 32


def ctranslate2_side(folder: Path, ours: dict[str, Any], sources: list[list[str]]) -> dict[str, Any]:
    import ctranslate2

    translator = ctranslate2.Translator(str(folder), compute_type="float32", inter_threads=1, intra_threads=1)
    scored = translator.score_batch(sources, ours["references"], max_batch_size=BATCH)
    found = translator.translate_batch(sources, beam_size=5, max_decoding_length=ours["longest"], max_batch_size=BATCH)
    forced = [sum(one.log_probs) for one in scored]
    return {"forced": forced, "hypotheses": [one.hypotheses[0] for one in found]}


def hugging_face_side(folder: Path, ours: dict[str, Any], sources: list[list[str]]) -> dict[str, Any]:
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(1)
    model = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    source_side = AutoTokenizer.from_pretrained(folder)
    target_side = AutoTokenizer.from_pretrained(folder / "target_tokenizer")
    forced, hypotheses = [0.0] * len(sources), [[""]] * len(sources)
    order = sorted(range(len(sources)), key=lambda number: len(sources[number]))
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        batch = source_side([" ".join(sources[n]) for n in numbers], return_tensors="pt", padding=True)
        labels = target_side([" ".join(ours["references"][n]) for n in numbers], return_tensors="pt", padding=True)
        begin = torch.full_like(labels.input_ids[:, :1], model.config.decoder_start_token_id)
        inputs = torch.cat([begin, labels.input_ids[:, :-1]], dim=1)
        with torch.inference_mode():
            logits = model(**batch, decoder_input_ids=inputs).logits
            log_p = logits.log_softmax(-1).gather(2, labels.input_ids.unsqueeze(2)).squeeze(2)
            sums = (log_p * labels.attention_mask).sum(1).tolist()
            found = model.generate(**batch, max_new_tokens=ours["longest"])
        for n, total, row in zip(numbers, sums, found):  # noqa: B905
            forced[n] = total
            pieces = target_side.convert_ids_to_tokens(row)
            hypotheses[n] = [piece for piece in pieces if piece not in ("<pad>", "<s>", "</s>")]
    return {"forced": forced, "hypotheses": hypotheses}


def onnx_side(folder: Path, ours: dict[str, Any], sources: list[list[str]]) -> dict[str, Any]:
    from translate import Translator

    translator = Translator(folder, threads=1)
    domains = ours["domains"] if ours["needs_domain"] else [None] * len(sources)
    rows = list(zip(sources, ours["references"], domains))  # noqa: B905
    forced = [translator.score(source, target, domain) for source, target, domain in rows]
    found = [translator.translate(source, domain, 5, ours["longest"])[0][0] for source, _, domain in rows]
    return {"forced": forced, "hypotheses": found}


SIDES = {"model.bin": ctranslate2_side, "generation_config.json": hugging_face_side, "encoder.onnx": onnx_side}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ours", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    sys.path.insert(0, str(args.folder))  # for segment.py, which travels with the model
    from segment import Segmenter

    segmenter = Segmenter()
    ours = json.loads(args.ours.read_text(encoding="utf-8"))
    pieces = [segmenter.encode(text) for text in ours["texts"]]
    sources = pieces
    if ours["needs_domain"] and not (args.folder / "encoder.onnx").exists():
        sources = [[f"<domain:{name}>", *one] for name, one in zip(ours["domains"], pieces)]  # noqa: B905
    side = next(side for name, side in SIDES.items() if (args.folder / name).exists())
    found = side(args.folder, ours, sources)
    found["pieces"] = pieces
    found["translations"] = [segmenter.decode(one) for one in found["hypotheses"]]
    args.out.write_text(json.dumps(found, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
