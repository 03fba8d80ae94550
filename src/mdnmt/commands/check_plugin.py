"""Test a plug-in: is it found, of which kind is it, and does it keep what its kind promises?"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from mdnmt.plugin_kinds import Kind, Plugin

Checks = dict[str, Callable[[], None]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("file", type=Path, help="the plug-in's module, such as plugins/my_method.py")
    parser.add_argument(
        "--architecture", default="{}", metavar="JSON", help="options to test a method, block or loss with"
    )


def run(args: argparse.Namespace) -> None:
    """Load the module and run the checks of each of its kinds.

    Raises:
        ConfigError: there is no such file, it is no plug-in, its name is taken, or a check failed.
    """
    import json
    import tempfile
    import traceback

    from mdnmt.errors import ConfigError
    from mdnmt.operations.method_checks import Failed
    from mdnmt.plugin_kinds import KINDS
    from mdnmt.plugins import find_own, load

    try:
        given = dict(json.loads(args.architecture))
    except (ValueError, TypeError):
        raise ConfigError(f"--architecture: found {args.architecture!r}, expected a JSON object") from None
    plugin = _plugin(args.file)
    kinds = [kind for kind in KINDS if plugin.looks_like(kind)]
    if not kinds:
        known = "; ".join(f"{kind.name}: {', '.join(kind.defines) or kind.mark}" for kind in KINDS)
        raise ConfigError(f"{args.file}: is of no kind, expected a module that defines the names of one ({known})")
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            try:
                find_own(kind, plugin.name)
                planned = _checks(kind, plugin, load(kind, plugin), given, Path(folder))
            except ConfigError as error:
                if error.__cause__ is not None:
                    traceback.print_exception(error.__cause__)
                raise
            print(f"a {kind.name}", flush=True)
            for name, check in planned.items():
                number += 1
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
        raise ConfigError(f"{args.file}: failed {failed} of {number} checks")
    print(f"{args.file}: passed {number} checks; what it computes is for a test of your own to show")


def _checks(kind: Kind, plugin: Plugin, module: ModuleType, given: dict[str, Any], folder: Path) -> Checks:
    """Return the checks of a kind by name.

    Raises:
        ConfigError: the plug-in's options are not those of its kind.
    """
    from mdnmt.plugin_kinds import BLOCK, CLAIM_RULE, LOSS, METHOD, METRIC, PROVIDER, READER, VERB

    if kind == METHOD:
        return _of_method(plugin.name, given, folder)
    if kind in (BLOCK, LOSS):  # in the plain Transformer
        key = "blocks" if kind == BLOCK else "losses"
        return _of_method("transformer", {**given, key: [plugin.name]}, folder)
    if kind == METRIC:
        return {"a perfect translation scores best": lambda: _check_metric(module)}
    if kind == VERB:
        return {"its options can be listed": lambda: module.add_arguments(argparse.ArgumentParser())}
    if kind in (READER, PROVIDER):
        return {"its options are a class that names it": lambda: _check_options(kind, plugin, module)}
    if kind == CLAIM_RULE:
        return {"its class names it and is complete": lambda: _check_rule(plugin)}
    return {"it is loaded": lambda: None}


def _check_metric(module: ModuleType) -> None:
    from mdnmt.operations.method_checks import Failed

    references = ["the cat sat on the mat", "rain falls on the town", "a green door is open"]
    metric = module.metric("en", references)
    best, worst = metric.corpus_score(references, None).score, metric.corpus_score(references[::-1], None).score
    if (best < worst) != module.INFO.lower_is_better:
        raise Failed(f"scores {best:g} for the references and {worst:g} for others: INFO.lower_is_better is wrong")
    counts = metric._extract_corpus_statistics(references, None)
    if abs(metric._aggregate_and_compute(counts).score - best) > 1e-9:
        raise Failed("its score from counted sentences is not that of corpus_score, which significance tests need")


def _check_rule(plugin: Plugin) -> None:
    import inspect

    from mdnmt.config.claim_rule import rule_class
    from mdnmt.operations.method_checks import Failed

    rule = rule_class(plugin.name)
    missing = sorted(rule.__abstractmethods__) if inspect.isabstract(rule) else []
    if missing:
        raise Failed(f"{rule.__name__} does not define {' and '.join(missing)}")
    if get_args(rule.model_fields["kind"].annotation) != (plugin.name,):
        raise Failed(f"{rule.__name__} has no field kind: Literal[{plugin.name!r}]")


def _check_options(kind: Kind, plugin: Plugin, module: ModuleType) -> None:
    from mdnmt.config.base import Frozen
    from mdnmt.operations.method_checks import Failed
    from mdnmt.plugin_kinds import READER

    if not (isinstance(module.Options, type) and issubclass(module.Options, Frozen)):
        raise Failed("Options is no class that extends mdnmt.config.base.Frozen")
    key = "name" if kind == READER else "provider"
    if key not in module.Options.model_fields:
        raise Failed(f"Options has no field {key!r}, such as {key}: Literal[{plugin.name.replace('_', '-')!r}]")


def _of_method(builder: str, options: dict[str, Any], folder: Path) -> Checks:
    """Return the checks of a method; decoding is checked with one domain and with several.

    Raises:
        ConfigError: the method does not know an option.
    """
    from functools import partial

    import torch

    from mdnmt.methods import validate
    from mdnmt.methods.method import Method
    from mdnmt.operations import method_checks as checks

    torch.set_num_threads(1)
    validate(builder, options, where=builder)

    def make(num_domains: int, **more: Any) -> Method:
        method = checks.random_method(builder, num_domains=num_domains, **{**options, **more})
        return checks.ready_to_train(method, num_domains)

    found: Checks = {"options survive run.json": partial(checks.check_options, builder)}
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


def _plugin(file: Path) -> Plugin:
    """Return the plug-in in a file, and let its folder be that of the plug-ins.

    Raises:
        ConfigError: there is no such module, or another one has its name.
    """
    import os

    from mdnmt import methods, plugin_kinds, plugins
    from mdnmt.errors import ConfigError

    if not file.is_file() or file.suffix != ".py" or not file.stem.isidentifier():
        raise ConfigError(f"{file}: found no such module, expected a file like plugins/my_method.py")
    place, name = (file.parent, file.parent.name) if file.name == "__init__.py" else (file, file.stem)
    if place.resolve().parent == Path(methods.__file__).parent:  # a method in a fork of mdnmt
        return plugin_kinds.Plugin(name, f"mdnmt.methods.{name}", str(file), file)
    if place.resolve().parent != plugin_kinds.EXTRAS:
        os.environ[plugins.VARIABLE] = str(place.absolute().parent)
    plugin = plugins.find(name)
    assert plugin is not None, file
    return plugin
