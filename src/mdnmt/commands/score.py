"""Score a system's translations of the test sets: BLEU and chrF of each domain."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt score`."""
    parser.add_argument("--task", type=Path, required=True, help="directory of the task, with task.json and text/")
    parser.add_argument("--hypotheses", type=Path, required=True, help="directory with hyp.<domain>.txt, a line each")
    parser.add_argument("--out", type=Path, required=True, help="scores.json to write")
    parser.add_argument("--limit", type=int, help="first sentences of each domain that were decoded (default: all)")
    parser.add_argument("--domains", nargs="+", metavar="DOMAIN", help="score only these (default: all of the task)")
    parser.add_argument(
        "--copy-source", action="store_true", help="first write the source text as hypotheses: the row to be beaten"
    )


def run(args: argparse.Namespace) -> None:
    """Write the scores of `args.hypotheses` and print them, one line a domain."""
    from mdnmt.fsio import write_json
    from mdnmt.score.domains import score_domains
    from mdnmt.score.testset import copy_sources, load_test_sets

    test_sets = load_test_sets(args.task, args.limit)
    if args.copy_source:
        copy_sources(test_sets, args.hypotheses)
    scores = score_domains(test_sets, args.hypotheses, args.domains)
    write_json(args.out, scores)
    for domain, values in scores["domains"].items():
        bleu, chrf = values["bleu"]["score"], values["chrf"]["score"]
        print(f"{domain}: BLEU {bleu:.2f}, chrF {chrf:.2f} ({values['num_sentences']} sentences)")
    print(f"mean: BLEU {scores['mean']['bleu']:.2f}, chrF {scores['mean']['chrf']:.2f}")
