"""Score translations: of a task's test or validation sets for each domain, or of one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from mdnmt.config.metrics import METRICS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt score`."""
    parser.add_argument(
        "--pairs",
        nargs=3,
        type=Path,
        metavar=("SRC", "HYP", "REF"),
        help="score this file of translations, aligned line by line, in place of a task's; prints the signatures",
    )
    parser.add_argument(
        "--target-lang",
        metavar="LANG",
        help="with --pairs: language of HYP and REF, a code of ISO 639; BLEU's tokenisation follows it",
    )
    parser.add_argument("--task", type=Path, help="directory of the task, with task.json and text/")
    parser.add_argument(
        "--split",
        choices=("test", "valid"),
        default="test",
        help="the translated split (default: test); for valid, all domains are also scored as one text",
    )
    parser.add_argument("--hypotheses", type=Path, help="directory with hyp.<domain>.txt, one per line")
    parser.add_argument("--out", type=Path, help="scores.json to write")
    parser.add_argument("--limit", type=int, help="number of sentences that were decoded per domain (default: all)")
    parser.add_argument("--domains", nargs="+", metavar="DOMAIN", help="score only these (default: all of the task)")
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=[name for name in METRICS if name != "comet"],
        help="compute only these (default: all but ter and length_ratio); COMET has its own command",
    )
    parser.add_argument(
        "--tokenised",
        type=Path,
        metavar="FOLDER",
        help="also write hyp.<domain>.txt and ref.<domain>.txt there, split into the words that bleu_tok counts",
    )
    parser.add_argument(
        "--copy-source",
        action="store_true",
        help="first write the source text as hypotheses, for the row of the copied source",
    )


def run(args: argparse.Namespace) -> None:
    """Write the scores of `args.hypotheses` and print them, one line per domain."""
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.fsio import made_by_of, write_sealed
    from mdnmt.score.metrics.tokenised_bleu import write_words
    from mdnmt.score.scores_of_domains import DEFAULT_METRICS, score_domains
    from mdnmt.score.test_sets import copy_sources, load_test_sets, sums_of

    if args.pairs is not None:
        _score_pairs(args)
        return
    for name in ("task", "hypotheses", "out"):
        if getattr(args, name) is None:
            raise ConfigError(f"--{name} is missing; expected --task, --hypotheses and --out, or --pairs SRC HYP REF")
    test_sets = load_test_sets(args.task, args.limit, args.split)
    if args.copy_source:
        copy_sources(test_sets, args.hypotheses)
    scores = score_domains(test_sets, args.hypotheses, args.domains, args.metrics or DEFAULT_METRICS)
    if absent := [name for name in args.metrics or () if name not in scores["mean"]]:
        if absent[0] == "bleu_tok":
            about = f"the task's tokenizer {test_sets.target_tokenizer} does not split {test_sets.target_lang}"
            raise DataError(f"{args.task}: {about}, so bleu_tok would take sentences for words; leave it out")
        raise DataError(f"{args.hypotheses}: no likelihood.json, which {absent[0]} needs; `mdnmt decode` writes it")
    if args.tokenised is not None:
        write_words(test_sets, args.hypotheses, args.tokenised, tuple(scores["domains"]))
    sums = sums_of(args.hypotheses)
    # Kept for when the translations are removed to save space.
    write_sealed(args.out, scores, sums, made_by=made_by_of(sums[0]) if sums else None)
    for domain, values in scores["domains"].items():
        found = {name: values[name]["score"] for name in scores["mean"]}
        print(f"{domain}: {_scores_text(found)} ({values['num_sentences']} sentences)")
    print(f"mean: {_scores_text(scores['mean'])}")
    if "concatenated" in scores:
        print(
            f"all domains as one: {_scores_text({name: one['score'] for name, one in scores['concatenated'].items()})}"
        )


def _score_pairs(args: argparse.Namespace) -> None:
    from dataclasses import asdict

    from mdnmt.errors import ConfigError
    from mdnmt.fsio import write_json
    from mdnmt.score.metrics.string_based import STRING_BASED
    from mdnmt.score.text_files import DEFAULT_METRICS, score_files

    if wrong := [name for name in args.metrics or () if name not in STRING_BASED]:
        raise ConfigError(f"--metrics {wrong[0]}: needs a task; with --pairs there are {', '.join(STRING_BASED)}")
    if args.task or args.hypotheses or args.domains or args.tokenised or args.copy_source or args.limit:
        raise ConfigError("--pairs scores one file; leave out the options of a task")
    source, hypotheses, reference = args.pairs
    found = score_files(reference, hypotheses, source, args.metrics or DEFAULT_METRICS, args.target_lang)
    for name, score in found.items():
        print(f"{METRICS[name].label} {score.score:.2f}  {score.signature}")
    if args.out:
        write_json(args.out, {name: asdict(score) for name, score in found.items()})


def _scores_text(scores: dict[str, float]) -> str:
    return ", ".join(f"{METRICS[name].label} {value:.2f}" for name, value in scores.items())
