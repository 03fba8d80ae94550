"""Read translations that were made elsewhere, check them, and align them with a test set.

`hyp.<domain>.txt` has one translation per line, in the order of the test set. `hyp.<domain>.tsv` has on each line the
sha256 of a source line, a tab and its translation, in any order.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.loader import did_you_mean
from mdnmt.corpora.formats.lines import checked_lines
from mdnmt.errors import DataError, refuse_special_file
from mdnmt.fsio import write_lines, write_sums
from mdnmt.score.test_sets import TestSets, hypothesis_path

ALIGNED, KEYED = "txt", "tsv"
_NAME = re.compile(rf"hyp\.(?P<domain>[^.]+)\.({ALIGNED}|{KEYED})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ExternalText:
    """The translations of one domain as their file holds them.

    Attributes:
        path: the file.
        sha256: of its bytes.
        lines: the translations.
        keys: the sha256 of the source line of each; None if they are in the order of the test set.
    """

    path: Path
    sha256: str
    lines: tuple[str, ...]
    keys: tuple[str, ...] | None


def source_key(line: str) -> str:
    """Return the key of a source line: the sha256 of its UTF-8 bytes, without the line's end."""
    return hashlib.sha256(line.encode("utf-8")).hexdigest()


def read_folder(folder: Path, domains: Iterable[str]) -> dict[str, ExternalText]:
    """Return the translations of each domain, checked as far as they can be without the test set.

    Raises:
        DataError: the folder or the file of a domain is missing, a domain has two files, a file belongs to no domain of
            the task, or a file is not UTF-8 text with one translation per line.
    """
    known = list(domains)
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; expected translations in hyp.<domain>.txt or hyp.<domain>.tsv")
    files: dict[str, Path] = {}
    for path in sorted(folder.glob("hyp.*")):
        found = _NAME.fullmatch(path.name)
        domain = found["domain"] if found else ""
        if domain not in known:
            raise DataError(
                f"{path}: no file of a domain of the task{did_you_mean(domain, known)}; expected hyp.<domain>.txt or "
                f"hyp.<domain>.tsv for {', '.join(known)}"
            )
        if domain in files:
            raise DataError(f"{path}: {files[domain].name} has translations of {domain} too; remove one of the two")
        files[domain] = path
    for domain in known:
        if domain not in files:
            raise DataError(f"{folder}: no translations of {domain}; expected hyp.{domain}.txt or hyp.{domain}.tsv")
    return {domain: read_text(files[domain]) for domain in known}


def read_text(path: Path) -> ExternalText:
    r"""Return the translations in one file.

    Raises:
        DataError: it cannot be read, is not plain UTF-8 text with `\n` at the end of each line, has an empty line or
            one above 1 MiB, or has a line without a key or with the key of an earlier line.
    """
    refuse_special_file(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if data.startswith(codecs.BOM_UTF8):
        raise DataError(f"{path}: begins with a byte order mark; save it as UTF-8 without one")
    lines = list(checked_lines([data], str(path)))
    keys: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        if line.endswith("\r"):
            raise DataError(f"{where}: ends with a carriage return; save the file with Unix line ends")
        text = line
        if path.suffix == f".{KEYED}":
            key, tab, text = line.partition("\t")
            if not tab or not _KEY.fullmatch(key):
                raise DataError(
                    f"{where}: expected the sha256 of a source line (64 hexadecimal digits), a tab, and text"
                )
            if key in keys:
                raise DataError(
                    f"{where}: has the key of line {keys[key]}; expected one translation for each source line"
                )
            keys[key] = number
        if control := _CONTROL.search(text):
            raise DataError(f"{where}: has the control character U+{ord(control[0]):04X}; expected plain text")
        if not text.strip():
            raise DataError(f"{where}: is empty; expected a translation of every sentence")
        lines[number - 1] = text
    sha256 = hashlib.sha256(data).hexdigest()
    return ExternalText(path, sha256, tuple(lines), tuple(keys) if path.suffix == f".{KEYED}" else None)


def check_count(text: ExternalText, expected: int, what: str) -> None:
    """Check the number of translations in the order of the test set; `what` says where `expected` comes from.

    Raises:
        DataError: there are more or fewer.
    """
    if text.keys is None and len(text.lines) != expected:
        raise DataError(f"{text.path}: {len(text.lines)} lines, but {what}; expected one for each test sentence")


def align(text: ExternalText, sources: Sequence[str], where: Path) -> list[str]:
    """Return the translation of each source line.

    Args:
        text: the translations of one domain.
        sources: all source lines of its test set.
        where: the file that holds them, for messages.

    Raises:
        DataError: counts differ, a source line has no translation, or a key matches no source line.
    """
    check_count(text, len(sources), f"{where} has {len(sources)}")
    if text.keys is None:
        return list(text.lines)
    of_key = dict(zip(text.keys, text.lines, strict=True))
    wanted = [source_key(line) for line in sources]
    if unknown := of_key.keys() - set(wanted):
        number, key = next((n, key) for n, key in enumerate(text.keys, start=1) if key in unknown)
        raise DataError(
            f"{text.path}:{number}: the key {key[:12]}... is of no line of {where}; expected the sha256 of a "
            "source line, in UTF-8 and without the line's end"
        )
    for number, key in enumerate(wanted, start=1):
        if key not in of_key:
            raise DataError(f"{text.path}: no translation of line {number} of {where}, whose key is {key}")
    return [of_key[key] for key in wanted]


def align_folder(test_sets: TestSets, folder: Path) -> dict[str, tuple[ExternalText, list[str]]]:
    """Return domain -> (the text of its file, its translations aligned with the test set).

    Args:
        test_sets: all test sentences of the task, without a limit.
        folder: the translations.

    Raises:
        DataError: as `read_folder` and `align`.
    """
    found = {}
    for domain, text in read_folder(folder, test_sets.domains).items():
        where = test_sets.task_dir / "text" / f"test.{domain}.{test_sets.source_lang}"
        found[domain] = (text, align(text, test_sets.sources(domain), where))
    return found


def import_folder(
    test_sets: TestSets, folder: Path, out: Path, limit: int | None = None, sums: Mapping[str, str] | None = None
) -> None:
    """Write translations from elsewhere as hypotheses, like those of a run.

    Args:
        test_sets: all test sentences of the task, without a limit.
        folder: the translations.
        out: the folder to write to.
        limit: only this many first sentences of each domain; None: all.
        sums: name -> sha256 that the files must have; None: any.

    Raises:
        DataError: as `align_folder`, or a file has another sha256.
    """
    found = align_folder(test_sets, folder)
    for text, _ in found.values():
        if sums is not None and sums.get(text.path.name) != text.sha256:
            raise DataError(f"{text.path}: has changed since snakemake was started; start it again")
    for domain, (_, lines) in found.items():
        write_lines(hypothesis_path(out, domain), lines[:limit])
    write_sums(out, [hypothesis_path(out, domain).name for domain in found], made_by={"code": dict(test_sets.code)})
