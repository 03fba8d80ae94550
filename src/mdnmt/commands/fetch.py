"""Download corpora and verify them; the first download pins its checksum."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("corpora", nargs="*", metavar="CORPUS", help="names of files in config/corpora/")
    parser.add_argument("--study", metavar="STUDY", help="the corpora of all tasks of a study")
    parser.add_argument(
        "--config", type=Path, default=Path("config"), metavar="DIR", help="the project's config (default: %(default)s)"
    )
    parser.add_argument(
        "--corpora-dir",
        type=Path,
        default=Path("resources/corpora"),
        metavar="DIR",
        help="folder of the corpora (default: %(default)s)",
    )
    text = parser.add_argument_group("to save the text of one corpus as plain files, line by line")
    text.add_argument("--text", type=Path, metavar="DIR", help="also write the text to DIR, as train.<lang>")
    text.add_argument("--pair", default="en-fr", metavar="EN-FR", help="the languages (default: %(default)s)")
    text.add_argument("--lines", type=int, metavar="N", help="only the first N lines")
    workflow = parser.add_argument_group("for the workflow: one corpus")
    workflow.add_argument("--spec", metavar="JSON", help="what to fetch, as the workflow writes it")
    workflow.add_argument("--out", type=Path, metavar="DIR", help="the folder of the corpus")
    workflow.add_argument(
        "--recorded",
        type=Path,
        metavar="FILE",
        help="fetch nothing; write the checksums that the locks have for the corpora",
    )
    workflow.add_argument("--lock", type=Path, metavar="FILE", help="record a first download beside this lock")


def run(args: argparse.Namespace) -> int | None:
    """Fetch the corpora, and print one line for each with its number of files and size."""
    from mdnmt.config.loader import parse_spec
    from mdnmt.corpora.corpus_spec import FetchSpec
    from mdnmt.corpora.fetch import fetch
    from mdnmt.corpora.fetch_by_name import corpora_of_study, fetch_by_name, new_files, recorder
    from mdnmt.errors import ConfigError, MdnmtError

    if args.spec is not None:
        if args.out is None or args.corpora or args.study:
            raise ConfigError("--spec goes with --out and with nothing else")
        spec, record = parse_spec(args.spec, FetchSpec), None
        if new := new_files(spec):
            if args.lock is None:
                raise ConfigError(f"--spec: the content of {', '.join(sorted(new))} is not known; give --lock as well")
            record = recorder(args.lock.parent, spec.corpus.name, new, _warn)
        rows = fetch(spec, args.out, record=record)
        _say(spec.corpus.name, [row.size_bytes for row in rows.values()])
        return None
    if args.recorded is not None:
        _write_recorded(args)
        return None
    corpora = dict.fromkeys(args.corpora) | (corpora_of_study(args.config, args.study) if args.study else {})
    if not corpora:
        raise ConfigError("expected names of corpora, or --study; found neither")
    if args.text is not None and len(corpora) > 1:
        raise ConfigError(f"--text takes one corpus, found {', '.join(corpora)}; use a separate folder for each")
    failed = []
    for name, corpus in corpora.items():
        try:
            rows = fetch_by_name(args.config, name, args.corpora_dir, corpus=corpus, say=_warn)
        except MdnmtError as error:
            failed.append(name)
            print(f"mdnmt fetch: {name}: {error}", file=sys.stderr)
            continue
        _say(name, [row.size_bytes for row in rows.values()])
        if args.text is not None:
            _save(args, name)
    if failed:
        print(f"mdnmt fetch: not fetched: {', '.join(failed)}", file=sys.stderr)
    return MdnmtError.exit_code if failed else None


def _write_recorded(args: argparse.Namespace) -> None:
    """Write one line for each locked file of the given corpora: name, file, checksum.

    Raises:
        FetchError: a corpus is in neither of the two locks.
    """
    from mdnmt.corpora.corpus_lock import OWN_LOCK, read_lock
    from mdnmt.errors import FetchError
    from mdnmt.fsio import write_text

    locked = read_lock(args.config).corpora
    for name in args.corpora:
        if name not in locked:
            raise FetchError(f"{name}: no longer in {OWN_LOCK}: start the same command again, which records it")
    lines = [f"{name} {row.file} sha256 {row.sha256}\n" for name in args.corpora for row in locked[name]]
    write_text(args.recorded, "".join(lines))


def _save(args: argparse.Namespace, name: str) -> None:
    """Write the corpus' text into the folder of `--text`."""
    from mdnmt.config.corpus import load_corpus
    from mdnmt.corpora.corpus_lock import read_lock
    from mdnmt.corpora.corpus_spec import fetch_spec
    from mdnmt.corpora.export_text import save_text
    from mdnmt.errors import ConfigError

    corpus = load_corpus(args.config, name)
    source, _, target = args.pair.partition("-")
    for lang in (source, target):
        if lang not in corpus.languages:
            raise ConfigError(f"--pair {args.pair}: expected two languages of {', '.join(corpus.languages)}, as en-fr")
    spec = fetch_spec(name, corpus, args.corpora_dir / "sha256.json", read_lock(args.config)).corpus
    lines = save_text(spec, args.corpora_dir / name, (source, target), args.text, args.lines)
    print(f"{args.text}: train.{source} and train.{target}, {lines:,} lines each", flush=True)


def _warn(line: str) -> None:
    print(f"mdnmt fetch: {line}", file=sys.stderr)


def _say(name: str, sizes: list[int]) -> None:
    print(f"{name}: {len(sizes)} file(s), {sum(sizes) / 1e6:.1f} MB, verified by sha256", flush=True)
