"""Translate the test set of every domain of a task with a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--spec", default="{}", help="beam search as JSON (mdnmt.config.decoding.Decoding)")
    parser.add_argument("--out", type=Path, required=True, help="folder for hyp.<domain>.txt")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="where weights of others stand")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Decode."""
    import json
    import time

    import numpy as np

    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import parse_spec
    from mdnmt.decode.translator import Translator
    from mdnmt.errors import DataError
    from mdnmt.fsio import write_lines, write_text
    from mdnmt.pretrained.translator import open_run
    from mdnmt.tasks.data import TaskData
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic

    config = parse_spec(args.spec, Decoding)
    data = TaskData.load(args.task)
    make_deterministic(SEED_OF_LOADING, args.threads)
    translator = open_run(args.run, choose_device(args.device), args.pretrained)
    if isinstance(translator, Translator) and data.source_vocab.tokens != translator.source_vocab.tokens:
        raise DataError(f"{args.task}: its source vocabulary is not that of {args.run}; give the task the run is of")
    split = data.split("test")
    for label, domain in enumerate(data.domains):
        started = time.monotonic()
        if isinstance(translator, Translator):
            rows = np.flatnonzero(split.domains == label)[: config.max_sentences]
            found = translator.translate_ids([split.source[row] for row in rows.tolist()], config, domain)
        else:
            found = translator.translate_test(data, config, domain)
        write_lines(args.out / f"hyp.{domain}.txt", [best[0].text for best in found])
        if config.nbest > 1:
            lines = [
                json.dumps([{"score": one.score, "text": one.text} for one in best], ensure_ascii=False)
                for best in found
            ]
            write_text(args.out / f"nbest.{domain}.jsonl", "".join(f"{line}\n" for line in lines))
        print(f"{domain}: {len(found)} sentences in {time.monotonic() - started:.1f} s", flush=True)
