"""Test a method of your own at toy size: decoding, padding, parameters, saving, random numbers, options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("file", type=Path, help="the method's module, such as plugins/my_method.py")
    parser.add_argument(
        "--architecture", default="{}", metavar="JSON", help="options of the method to test it with (default: its own)"
    )


def run(args: argparse.Namespace) -> None:
    """Load the module and run all checks.

    Raises:
        ConfigError: there is no such file, it is no method, or a check failed.
    """
    import json
    import tempfile
    import traceback

    import torch

    from mdnmt.errors import ConfigError
    from mdnmt.methods import validate
    from mdnmt.operations.method_checks import Failed

    try:
        given = dict(json.loads(args.architecture))
    except (ValueError, TypeError):
        raise ConfigError(f"--architecture: found {args.architecture!r}, expected a JSON object") from None
    builder = _builder(args.file)
    torch.set_num_threads(1)
    try:
        validate(builder, given, where=str(args.file))
    except ConfigError as error:
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        raise
    with tempfile.TemporaryDirectory() as folder:
        planned, failed = _checks(builder, given, Path(folder)), 0
        for name, check in planned.items():
            try:
                check()
            except Exception as error:
                failed += 1
                if not isinstance(error, Failed):
                    traceback.print_exception(error.__cause__ or error)
                print(f"FAILED  {name}: {error}", flush=True)
            else:
                print(f"ok      {name}", flush=True)
    if failed:
        raise ConfigError(f"{args.file}: failed {failed} of {len(planned)} checks")
    print(f"{args.file}: passed {len(planned)} checks; what it computes is for a test of your own to show")


def _checks(builder: str, options: dict[str, Any], folder: Path) -> dict[str, Callable[[], None]]:
    """Return the checks by name; decoding is checked with one domain and with several."""
    from functools import partial

    from mdnmt.methods.method import Method
    from mdnmt.operations import method_checks as checks

    def make(num_domains: int, **more: Any) -> Method:
        method = checks.random_method(builder, num_domains=num_domains, **{**options, **more})
        return checks.ready_to_train(method, num_domains)

    found: dict[str, Callable[[], None]] = {"options survive run.json": partial(checks.check_options, builder)}
    for norm in ("pre", "post"):
        for number in (3, 1):
            form, about = partial(make, number, norm=norm), f"{norm}-norm, domains: {number}"
            found[f"cached decoding equals full decoding ({about})"] = partial(
                checks.check_cached_decoding, form, number
            )
            found[f"padding never matters ({about})"] = partial(checks.check_padding, form, number)
        found[f"beams may be reordered ({norm}-norm)"] = partial(checks.check_beams, partial(make, 3, norm=norm), 3)
    three = partial(make, 3)
    found["every parameter is registered, trained and saved"] = partial(checks.check_parameters, three, 3, folder)
    found["the same seed gives the same numbers"] = partial(checks.check_deterministic, three, 3)
    found["packed batches give the same losses and gradients"] = partial(checks.check_packing, three, 3)
    found["losses are right in bf16"] = partial(checks.check_bf16, three, 3)
    return found


def _builder(file: Path) -> str:
    """Return the name of the method in a file, and let its folder be that of the plug-ins."""
    import os

    from mdnmt import methods, plugins
    from mdnmt.errors import ConfigError

    if not file.is_file() or file.suffix != ".py" or not file.stem.isidentifier():
        raise ConfigError(f"{file}: found no such module, expected a file like plugins/my_method.py")
    if file.resolve().parent != Path(methods.__file__).parent:
        os.environ[plugins.VARIABLE] = str(file.absolute().parent)
    return file.stem
