"""Translate the test or validation sets of a task with a finished run, and force-decode the references."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--split", choices=("test", "valid"), default="test", help="which text (default: test)")
    parser.add_argument("--spec", default="{}", help="beam search as JSON (mdnmt.config.decoding.Decoding)")
    parser.add_argument("--out", type=Path, required=True, help="folder for hyp.<domain>.txt, likelihood.json")
    parser.add_argument("--predicted", type=Path, help="labels from `mdnmt predict-labels`, for predicted labels")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Translate and force-decode the split, domain by domain, and write the results."""
    import json
    import time

    import numpy as np

    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import parse_spec
    from mdnmt.decode.labels import labels_under, read_predicted, translation_address
    from mdnmt.decode.likelihood import LIKELIHOOD, Likelihoods, write_likelihoods
    from mdnmt.decode.translator import Translator, open_run, require_precision
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.fsio import write_lines, write_sums, write_text
    from mdnmt.machine import require_address
    from mdnmt.paths import RunPaths
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic
    from mdnmt.training_code import made_by, say_other_code

    config = parse_spec(args.spec, Decoding)
    if args.split != "test" and config.labels == "predicted":
        raise ConfigError(f"--split {args.split}: predicted labels exist only for test sentences; choose other labels")
    require_address(args.out.parent, translation_address(config, args.split))
    data = TaskData.load(args.task)
    make_deterministic(SEED_OF_LOADING, args.threads)
    translator = open_run(args.run, choose_device(args.device), args.pretrained, config.weights)
    require_precision(translator, config)
    say_other_code([args.run])
    if isinstance(translator, Translator):
        for side in ("source", "target"):
            if getattr(data, f"{side}_vocab").tokens != getattr(translator, f"{side}_vocab").tokens:
                raise DataError(
                    f"{args.task}: its {side} vocabulary is not that of {args.run}; give the run's own task"
                )
    guesses = read_predicted(args.predicted) if args.predicted is not None else None
    split, forced = data.split(args.split), {}
    for label, domain in enumerate(data.domains):
        started = time.monotonic()
        if isinstance(translator, Translator):
            rows = np.flatnonzero(split.domains == label)[: config.max_sentences].tolist()
            sources, targets = [split.source[row] for row in rows], [split.target[row] for row in rows]
            labels = labels_under(config.labels, data.domains, domain, len(rows), guesses)
            # The task's ids are segmented under gold labels. With BPE by domain, other labels segment differently.
            if config.labels != "given":
                sources = translator.encode(data.text(args.split, domain, data.source_lang)[: len(rows)], labels)
            found = translator.translate_ids(sources, config, labels)
            forced[domain] = translator.force_ids(sources, targets, config, labels)
        else:
            found = translator.translate_split(data, args.split, config, domain)
            forced[domain] = translator.force_split(data, args.split, config, domain)
        write_lines(args.out / f"hyp.{domain}.txt", [best[0].text for best in found])
        if config.nbest > 1:
            lines = [
                json.dumps([{"score": one.score, "text": one.text} for one in best], ensure_ascii=False)
                for best in found
            ]
            write_text(args.out / f"nbest.{domain}.jsonl", "".join(f"{line}\n" for line in lines))
        print(f"{domain}: {len(found)} sentences in {time.monotonic() - started:.1f} s", flush=True)
    write_likelihoods(args.out, Likelihoods(translator.vocabulary, forced))
    names = [LIKELIHOOD, *(f"hyp.{domain}.txt" for domain in data.domains)]
    made_from = [RunPaths(args.run).record, *([args.predicted] if args.predicted is not None else [])]
    write_sums(args.out, names, made_from=made_from, made_by=made_by("decode", args.run, task=args.task))
