"""Translate plain text from standard input with a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("--run", type=Path, required=True, help="folder of a finished run")
    parser.add_argument("--domain", help="the text's domain, for methods that use it")
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
    import io
    import sys
    from itertools import islice

    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import validate_model
    from mdnmt.decode.translator import require_precision
    from mdnmt.errors import ConfigError, DataError
    from mdnmt.pretrained.translator import open_run
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
    # Python has no object for a stream that was closed before it started (`<&-`).
    if sys.stdin is None or sys.stdout is None:
        closed = "input" if sys.stdin is None else "output"
        raise ConfigError(
            f"standard {closed} is closed; give the text on standard input and read it from standard output"
        )
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    make_deterministic(SEED_OF_LOADING, args.threads)
    translator = open_run(args.run, choose_device(args.device), args.pretrained)
    require_precision(translator, config)
    say_other_code([args.run])
    if args.domain is not None:
        translator.label(args.domain)
    start = 0
    while raw := list(islice(sys.stdin.buffer, args.batch_lines)):
        try:
            lines = [line.decode("utf-8").rstrip("\r\n") for line in raw]
        except UnicodeDecodeError:
            bad = next(number for number, line in enumerate(raw, start + 1) if not _is_utf8(line))
            raise DataError(f"standard input, line {bad}: not UTF-8; convert the text first") from None
        if bad := next((number for number, line in enumerate(lines, start + 1) if "\0" in line), 0):
            raise DataError(f"standard input, line {bad}: contains a NUL character; remove it first")
        made = []
        for number, found in enumerate(translator.translate(lines, config, args.domain, start + 1), start + 1):
            if config.nbest == 1:
                made.append(found[0].text)
            else:
                made += [f"{number}\t{one.score:.4f}\t{one.text}" for one in found]
        _write(made)
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
