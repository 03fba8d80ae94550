"""Write a task and a study for your own text: from folders of parallel files to a plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mdnmt.operations.init.find_text import FoundDomain


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="a domain, or a folder of domains")
    parser.add_argument("--name", help="of the task and the study (default: mine)")
    parser.add_argument("--from", dest="source", metavar="LANG", help="source language (default: en if there is any)")
    parser.add_argument("--to", dest="target", metavar="LANG", help="target language")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="of config/methods, `mixed` among them")
    parser.add_argument("--seeds", type=int, help="runs of each method (default: 1)")
    parser.add_argument("--yes", action="store_true", help="ask nothing, take every default")
    parser.add_argument("--config", type=Path, default=Path("config"), metavar="DIR", help="default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Find the text, ask or take defaults, write the two files, and show the doctor's findings and the plan."""
    import sys

    from mdnmt.commands import doctor, plan
    from mdnmt.config.comet import CometConfig
    from mdnmt.config.loader import NAME_PATTERN, NAME_RULE, READ_AS_MISSING
    from mdnmt.config.method import MethodIndex
    from mdnmt.errors import ConfigError
    from mdnmt.operations.init.find_text import find_domains
    from mdnmt.operations.init.write_study import (
        METHODS,
        Choices,
        check_amount,
        study_text,
        summary,
        task_text,
        write_new,
    )
    from mdnmt.score.metrics.comet_files import COMET, why_missing

    is_asked = sys.stdin.isatty() and not args.yes
    ask = _asker(not is_asked)
    folders = args.folders or [Path(one) for one in ask("Folders of parallel text, one per domain", "texts").split()]
    given = [lang for lang in (args.source, args.target) if lang]
    domains, languages = find_domains(folders, given if len(given) == 2 else ())
    source, target = _direction(args.source, args.target, languages, ask)
    names, index = args.methods or ask("Methods", " ".join(METHODS)).split(), MethodIndex(args.config)
    methods = {method: index.load(method) for method in names}
    if "mixed" not in methods:
        raise ConfigError("methods: found no `mixed`, expected it as the baseline of all others; add it")
    name = args.name or ask("Name of the task and the study", "mine")
    if not NAME_PATTERN.fullmatch(name) or name in READ_AS_MISSING:
        raise ConfigError(f"--name: found {name!r}, expected {NAME_RULE}, such as my-texts")
    task, study = args.config / "tasks" / f"{name}.yaml", args.config / "studies" / f"{name}.yaml"
    _require_free((task, study))
    choices = Choices(
        name,
        source,
        target,
        methods,
        seeds=args.seeds if args.seeds is not None else 1,
        on_gpu=_has_gpu(),
        max_sentences=_max_sentences(domains, ask),
        has_comet=why_missing(COMET, CometConfig().name) is None,
    )
    check_amount(domains)
    print(summary(domains, choices), flush=True)
    if not (is_asked or args.yes):
        raise ConfigError("nothing is written: found no terminal to ask on; expected --yes, which takes every default")
    write_new({task: task_text(domains, choices), study: study_text(domains, choices)})
    print(f"\nwritten: {task}, {study}\n", flush=True)
    try:
        errors, warnings = doctor.findings(
            argparse.Namespace(task=name, config=args.config, corpora=Path("resources/corpora"))
        )
        if errors:
            raise ConfigError("the doctor found errors, so the two files were removed; fix the text, then start again")
        print()
        parser = argparse.ArgumentParser()
        plan.add_arguments(parser)
        plan.run(parser.parse_args([name, "--config-folder", str(args.config)]))
    except BaseException:
        for path in (task, study):
            path.unlink(missing_ok=True)
        raise
    print(f"\nLook at the doctor's warnings. Then start it with: mdnmt run {name}" if warnings else
          f"\nStart it with: mdnmt run {name}")  # fmt: skip
    return 0


def _require_free(files: tuple[Path, ...]) -> None:
    """Refuse a name under which the package has a task or study, which the new files would hide.

    Raises:
        ConfigError: it has one.
    """
    from mdnmt.errors import ConfigError
    from mdnmt.workspace import config_file

    for path in files:
        kind = path.parent
        if config_file(kind.parent, f"{kind.name}/{path.name}") != path:
            raise ConfigError(f"--name: mdnmt has {path.stem!r} in {kind.name} already; choose another name")


def _max_sentences(domains: Sequence[FoundDomain], ask: Callable[[str, str], str]) -> int | None:
    """Return how many test sentences of a domain to translate; None: all, as few as there are.

    Raises:
        ConfigError: the answer is not a number.
    """
    from mdnmt.errors import ConfigError
    from mdnmt.operations.init.write_study import MANY_TESTS

    largest = max(domains, key=lambda one: one.test_pairs)
    if largest.test_pairs <= MANY_TESTS:
        return None
    question = f"{largest.name} has {largest.test_pairs:,} test sentences. How many does each system translate"
    answer = ask(f"{question} (all: every one)", str(MANY_TESTS))
    if answer != "all" and not (answer.isdecimal() and int(answer)):
        raise ConfigError(f"test sentences: found {answer!r}, expected a number or `all`")
    return None if answer == "all" else int(answer)


def _asker(takes_defaults: bool) -> Callable[[str, str], str]:
    """Return a function (question, default) that asks and returns the answer; Enter gives the default."""

    def ask(question: str, default: str) -> str:
        if takes_defaults:
            return default
        from rich.prompt import Prompt

        return Prompt.ask(question, default=default)

    return ask


def _direction(
    source: str | None, target: str | None, languages: tuple[str, ...], ask: Callable[[str, str], str]
) -> tuple[str, str]:
    """Return source and target language.

    Raises:
        ConfigError: a language is not known, or does not fit the text.
    """
    from mdnmt.errors import ConfigError

    if not languages and not (source and target):
        raise ConfigError("the names of the files do not say their languages; give them with --from and --to")
    if source is None and target is not None:
        source = next(lang for lang in languages if lang != target)
    default = "en" if "en" in languages else languages[0] if languages else ""
    source = source or ask(f"Translate from ({' or '.join(languages)})", default)
    if languages and source not in languages:
        raise ConfigError(f"found text in {' and '.join(languages)}, none in {source!r}; choose another --from")
    target = target or next(lang for lang in languages if lang != source)
    if source == target or (languages and target not in languages):
        raise ConfigError(f"cannot translate from {source!r} to {target!r}; found text in {' and '.join(languages)}")
    return source, target


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
