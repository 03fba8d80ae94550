"""Translate plain text from standard input with a finished run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--domain", help="the text's domain, for methods that use it")
    parser.add_argument("--domains", type=Path, metavar="FILE", help="the domain of each line of the text, one a line")
    parser.add_argument("--predict-domain", action="store_true", help="predict the domain of each line from its words")
    parser.add_argument("--task", type=Path, help="data to train --predict-domain's classifier (default: the run's)")
    parser.add_argument("--beam-size", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--length-penalty", type=float, default=1.0, help="default: %(default)s")
    parser.add_argument("--nbest", type=int, default=1, help="above 1: lines `number TAB score TAB text`")
    parser.add_argument("--precision", default="fp32", help="fp32, or the faster bf16 or int8 (default: %(default)s)")
    parser.add_argument("--batch-lines", type=int, default=64, help="lines to read before translating them")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads")


def run(args: argparse.Namespace) -> None:
    """Translate standard input to standard output, line by line; both are UTF-8 whatever the locale."""
    import sys
    from collections import Counter

    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import validate_model
    from mdnmt.decode.labels import label_of, read_labels
    from mdnmt.decode.translator import open_run, read_record, require_precision
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.paths import RunPaths
    from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic
    from mdnmt.training_code import say_other_code

    options = {
        "beam_size": args.beam_size,
        "length_penalty": args.length_penalty,
        "nbest": args.nbest,
        "precision": args.precision,
    }
    config = validate_model(options, Decoding, "options")
    if args.batch_lines < 1:
        raise ConfigError(f"found --batch-lines {args.batch_lines}, expected 1 or more")
    sources = {"--domain": args.domain, "--domains": args.domains, "--predict-domain": args.predict_domain or None}
    given = [option for option, value in sources.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"found {' and '.join(given)}, expected one of them: remove the others")
    _prepare_streams()
    make_deterministic(SEED_OF_LOADING, args.threads)
    device = choose_device(args.device)
    domains = tuple(map(str, read_record(RunPaths(args.run).record)[0]["domains"]))
    batches, labels, classifier = _batches(args.batch_lines), None, None
    if args.domain is not None:
        label_of(args.domain, domains)
    elif args.domains is not None:
        labels = read_labels(args.domains, domains)
        text = list(batches)
        if len(labels) != (count := sum(map(len, text))):
            raise DataError(
                f"{args.domains}: has {len(labels)} labels, expected {count}, one for each line of the text"
            )
        batches = iter(text)
    elif args.predict_domain:
        from mdnmt.analysis.run_domain_classifier import RunDomainClassifier

        classifier = RunDomainClassifier(args.run, args.task)
    translator = open_run(args.run, device, args.pretrained, labelled=bool(given))
    require_precision(translator, config)
    say_other_code([args.run])
    start, counts = 0, Counter[str]()
    for lines in batches:
        domain = args.domain if labels is None else labels[start : start + len(lines)]
        if classifier is not None:
            domain = classifier.predict(lines)
            counts.update(name for name, line in zip(domain, lines, strict=True) if line.strip())
        made = []
        for number, found in enumerate(translator.translate(lines, config, domain, start + 1), start + 1):
            if config.nbest == 1:
                made.append(found[0].text)
            else:
                made += [f"{number}\t{one.score:.4f}\t{one.text}" for one in found]
        _write(made)
        start += len(lines)
    if classifier is not None:
        print(f"predicted domains: {', '.join(f'{name} {counts[name]}' for name in domains)}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make standard output UTF-8.

    Raises:
        ConfigError: standard input or output is closed.
    """
    import io
    import sys

    from mdnmt.errors import ConfigError

    # Python has no object for a stream that was closed before it started (`<&-`).
    if sys.stdin is None or sys.stdout is None:
        closed = "input" if sys.stdin is None else "output"
        raise ConfigError(
            f"standard {closed} is closed; give the text on standard input and read it from standard output"
        )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")


def _batches(batch_lines: int) -> Iterator[list[str]]:
    """Yield the lines of standard input, as many at a time as are translated together.

    Raises:
        DataError: a line is not UTF-8 or contains a NUL character.
    """
    import sys
    from itertools import islice

    from mdnmt.errors import DataError

    start = 0
    while raw := list(islice(sys.stdin.buffer, batch_lines)):
        try:
            lines = [line.decode("utf-8").rstrip("\r\n") for line in raw]
        except UnicodeDecodeError:
            bad = next(number for number, line in enumerate(raw, start + 1) if not _is_utf8(line))
            raise DataError(f"standard input, line {bad}: not UTF-8; convert the text first") from None
        if bad := next((number for number, line in enumerate(lines, start + 1) if "\0" in line), 0):
            raise DataError(f"standard input, line {bad}: contains a NUL character; remove it first")
        yield lines
        start += len(raw)


def _write(lines: list[str]) -> None:
    """Print lines; Ctrl-C waits until they are written, so no partial line is left."""
    import signal
    import sys

    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
