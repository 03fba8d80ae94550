"""Score translations of the test sets with COMET, offline, with weights in resources/comet; make its environment."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt comet`."""
    parser.add_argument("--task", type=Path, help="directory of the task, with task.json and text/")
    parser.add_argument("--hypotheses", type=Path, help="directory with hyp.<domain>.txt, one per line")
    parser.add_argument("--spec", default="{}", help="the model and its options, as JSON (mdnmt.config.comet)")
    parser.add_argument("--out", type=Path, help="comet.json to write; the scores of sentences go beside it")
    parser.add_argument("--limit", type=int, help="number of sentences that were decoded per domain (default: all)")
    parser.add_argument("--weights", type=Path, default="resources/comet", help="folder of the models")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")
    parser.add_argument(
        "--make-environment",
        action="store_true",
        help="make .venv-comet in this folder, whose bin/python -m mdnmt comet then scores; score nothing",
    )


def run(args: argparse.Namespace) -> None:
    """Write the scores of `args.hypotheses` and print them, one line per domain; or make the environment."""
    from mdnmt.config.comet import CometConfig
    from mdnmt.config.loader import parse_spec
    from mdnmt.errors import ConfigError
    from mdnmt.score.test_sets import load_test_sets, sums_of

    if args.make_environment:
        from mdnmt.score.metrics import comet_environment

        comet_environment.make()
        print(f"{comet_environment.FOLDER}: made; score with `{comet_environment.PYTHON} -m mdnmt comet`")
        return
    if absent := [name for name in ("task", "hypotheses", "out") if getattr(args, name) is None]:
        raise ConfigError(f"--{absent[0]} is missing; expected --task, --hypotheses and --out")
    config = parse_spec(args.spec, CometConfig)
    test_sets = load_test_sets(args.task, args.limit)

    from mdnmt.score.metrics.comet import score_domains, write_scores
    from mdnmt.score.metrics.comet_files import NEEDED, TOY
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic

    toy = args.weights / TOY
    if config.name == TOY and not all((toy / name).is_file() for name in NEEDED):
        from mdnmt.score.metrics.toy_comet import make_toy

        make_toy(toy)  # two jobs that do so at once write the same bytes
    make_deterministic(SEED_OF_LOADING, args.threads)
    device = choose_device(args.device)
    scores, segments = score_domains(test_sets, args.hypotheses, config, args.weights, device)
    write_scores(args.out, scores, segments, sums_of(args.hypotheses))
    for domain, values in scores["domains"].items():
        print(f"{domain}: COMET {values['comet']['score']:.2f} ({values['num_sentences']} sentences)")
    print(f"mean: COMET {scores['mean']['comet']:.2f}{' (a toy: says nothing)' if scores['model']['toy'] else ''}")
