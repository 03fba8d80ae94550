"""Score a system's translations of the test (or validation) sets: BLEU, chrF and the others of each domain."""

from __future__ import annotations

import argparse
from pathlib import Path

from mdnmt.config.metrics import METRICS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt score`."""
    parser.add_argument("--task", type=Path, required=True, help="directory of the task, with task.json and text/")
    parser.add_argument(
        "--split",
        choices=("test", "valid"),
        default="test",
        help="which text was translated (default: test); of valid also all domains' text as one is scored",
    )
    parser.add_argument("--hypotheses", type=Path, required=True, help="directory with hyp.<domain>.txt, a line each")
    parser.add_argument("--out", type=Path, required=True, help="scores.json to write")
    parser.add_argument("--limit", type=int, help="first sentences of each domain that were decoded (default: all)")
    parser.add_argument("--domains", nargs="+", metavar="DOMAIN", help="score only these (default: all of the task)")
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=[name for name in METRICS if name != "comet"],
        help="compute only these (default: all but ter, which is slow); COMET has a verb of its own",
    )
    parser.add_argument(
        "--tokenised",
        type=Path,
        metavar="FOLDER",
        help="also write hyp.<domain>.txt and ref.<domain>.txt there, cut into the words that bleu_tok counts",
    )
    parser.add_argument(
        "--copy-source", action="store_true", help="first write the source text as hypotheses: the row to be beaten"
    )


def run(args: argparse.Namespace) -> None:
    """Write the scores of `args.hypotheses` and print them, one line a domain."""
    from mdnmt.errors import DataError
    from mdnmt.fsio import write_sealed
    from mdnmt.score.domains import UNASKED, score_domains
    from mdnmt.score.testset import copy_sources, load_test_sets, sums_of
    from mdnmt.score.tokenised_bleu import write_words

    test_sets = load_test_sets(args.task, args.limit, args.split)
    if args.copy_source:
        copy_sources(test_sets, args.hypotheses)
    scores = score_domains(test_sets, args.hypotheses, args.domains, args.metrics or UNASKED)
    if absent := [name for name in args.metrics or () if name not in scores["mean"]]:
        raise DataError(f"{args.hypotheses}: no likelihood.json, which {absent[0]} needs; `mdnmt decode` writes it")
    if args.tokenised is not None:
        write_words(test_sets, args.hypotheses, args.tokenised, tuple(scores["domains"]))
    write_sealed(args.out, scores, made_from=sums_of(args.hypotheses))
    for domain, values in scores["domains"].items():
        found = {name: values[name]["score"] for name in scores["mean"]}
        print(f"{domain}: {_told(found)} ({values['num_sentences']} sentences)")
    print(f"mean: {_told(scores['mean'])}")
    if "concatenated" in scores:
        print(f"all domains as one: {_told({name: one['score'] for name, one in scores['concatenated'].items()})}")


def _told(scores: dict[str, float]) -> str:
    return ", ".join(f"{METRICS[name].label} {value:.2f}" for name, value in scores.items())
