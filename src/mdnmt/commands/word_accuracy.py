"""Count which words of generated text are translated correctly, and analyse the layers."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt word-accuracy`."""
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data, from generated corpora")
    parser.add_argument("--hypotheses", type=Path, required=True, help="directory with hyp.<domain>.txt, one per line")
    parser.add_argument("--limit", type=int, help="number of sentences that were decoded per domain (default: all)")
    parser.add_argument("--out", type=Path, required=True, help="words.json to write")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Write the counts and the analysis."""
    from mdnmt.analysis.ambiguity import decisions, right_words
    from mdnmt.corpora import generated
    from mdnmt.decode.translator import Translator
    from mdnmt.errors import DataError
    from mdnmt.fsio import read_json, write_sealed
    from mdnmt.paths import RunPaths
    from mdnmt.score.test_sets import load_test_sets, sums_of
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.tasks.task_spec import TaskSpec
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic
    from mdnmt.training_code import made_by

    data = TaskData.load(args.task)
    spec = TaskSpec.model_validate(read_json(args.task / "task.json")["spec"])
    kinds: dict[str, str] = {}
    for corpus in (corpus for domain in spec.domains for corpus in domain.corpora):
        if corpus.reader.name != "generated":
            raise DataError(
                f"{args.task}: the corpus {corpus.name!r} is not generated, so the right translations are not known"
            )
        kinds |= generated.kinds(corpus.reader, spec.source_lang)
    tests = load_test_sets(args.task, args.limit)
    right = {
        name: right_words(kinds, tests.sources(name), tests.references(name), tests.hypotheses(args.hypotheses, name))
        for name in tests.domains
    }
    make_deterministic(SEED_OF_LOADING, args.threads)
    translator = Translator(args.run, choose_device(args.device))
    record = RunPaths(args.run).record
    made = made_by("words", args.run, task=args.task)
    found = {"domains": right, **decisions(translator, data, kinds, args.limit)}
    write_sealed(args.out, found, [*sums_of(args.hypotheses), record], made_by=made)
