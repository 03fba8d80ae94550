"""Find the domains and languages in folders of parallel text, from the file names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.corpus_reader import TsvReader
from mdnmt.config.task import RESERVED
from mdnmt.corpora.formats.folder import Folder, packed_name
from mdnmt.corpora.formats.lines import unix_line_ends
from mdnmt.corpora.formats.text_names import (
    not_read,
    stem_and_language,
    stems,
    text_files,
    unpacked_name,
    without_role,
)
from mdnmt.corpora.readers import HELD_OUT
from mdnmt.corpora.task_corpora import KINDS
from mdnmt.errors import ConfigError
from mdnmt.operations.init.look_at_table import look_at_table, table_languages

TABLES = (*KINDS, ".xliff", ".csv")
_BYTES_MAX = 1 << 40  # of one unpacked file; text is counted in blocks, never kept


@dataclass(frozen=True)
class FoundDomain:
    """The text of a domain.

    Attributes:
        name: of the domain in the task's file.
        key: the task's key for its text: `folder`, or `files` where a folder holds several domains.
        path: the value of that key.
        pairs: lines (or units of a translation memory) of the training text.
        has_valid: whether the folder has its own validation text.
        test_pairs: lines of the folder's own test text; 0: it has none.
        reader: how its table is read, if that is not the default.
        remark: what is unusual about the choice of its text; empty: nothing.
    """

    name: str
    key: str
    path: Path
    pairs: int
    has_valid: bool = False
    test_pairs: int = 0
    reader: TsvReader | None = None
    remark: str = ""


def find_domains(paths: Sequence[Path], languages: Sequence[str] = ()) -> tuple[list[FoundDomain], tuple[str, ...]]:
    """Return the domains in folders, and their two languages in alphabetical order (empty: the files do not say).

    A folder with text is a domain, named after the folder. A folder of such folders stands for all of them. If there is
    only one folder with text and it has files of several names, each name is a domain.

    Args:
        paths: folders.
        languages: the two languages to use, if the files have more or do not say.

    Raises:
        ConfigError: a folder is missing, has no text, or its languages are not clear; or two domains have the same
            name.
    """
    folders = [inner for path in paths for inner in _with_text(path)]
    found_languages = tuple(sorted(languages)) or _languages(folders)
    if len(folders) == 1 and found_languages and len(names := _stems(folders[0], found_languages)) > 1:
        folder = folders[0]
        given = [
            FoundDomain(domain_name(stem), "files", folder / stem, _lines(folder, [stem], found_languages[0]))
            for stem in names
        ]
        # With `-src` and `-ref` in both languages, a test set of WMT is there twice: the last, `-src`, is kept.
        domains = list({(without_role(stem), one.pairs): one for stem, one in zip(names, given, strict=True)}.values())
    else:
        domains = [_domain_of_folder(folder, found_languages) for folder in folders]
    names = [one.name for one in domains]
    if twice := [name for name in names if names.count(name) > 1]:
        where = ", ".join(str(one.path) for one in domains if one.name == twice[0])
        raise ConfigError(f"{where}: both would be the domain {twice[0]!r}; rename one of the folders")
    return domains, found_languages


def _with_text(path: Path) -> list[Path]:
    path = path.expanduser()
    if not path.is_dir():
        raise ConfigError(f"{path}: no such folder; expected a folder of parallel text, or of one folder per domain")
    if _texts(path):
        return [path]
    inner = [one for one in sorted(path.iterdir()) if one.is_dir() and not one.name.startswith(".") and _texts(one)]
    if not inner:
        raise ConfigError(
            f"{path}: found no parallel text; expected files like law.en and law.fr (or law.en.txt; .tsv, .csv, .tmx, "
            f".xlf; .gz, .xz, .zst), or a folder of them per domain{_other_formats(path)}"
        )
    return inner


def _is_table(name: str) -> bool:
    return unpacked_name(name).lower().endswith(TABLES)


def _texts(folder: Path) -> list[str]:
    """Return the names of files that may hold text, without compression suffixes."""
    names = [unpacked_name(name) for name in Folder(folder, _BYTES_MAX).names() if name[0] != "."]
    return [name for name in names if _is_table(name) or stem_and_language(name)]


def _other_formats(folder: Path) -> str:
    """Return what to do with a file of another format in a folder or one below it; empty if there is none."""
    for path in (*sorted(folder.iterdir()), *sorted(folder.glob("*/*"))):
        if path.is_file() and path.name[0] != "." and (advice := not_read(path.name)):
            return f"; {path}: {advice}"
    return ""


def _languages(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the two languages that have files of the same name in every folder, or that its tables name."""
    common: set[str] | None = None
    where = ""
    for folder in folders:
        texts = _texts(folder)
        lines = [one for name in texts if not _is_table(name) and (one := stem_and_language(name))]
        of_stem: dict[str, set[str]] = {}
        for stem, lang in lines:
            of_stem.setdefault(stem, set()).add(lang)
            of_stem.setdefault(without_role(stem), set()).add(lang)
        found = {lang for langs in of_stem.values() if len(langs) > 1 for lang in langs}
        if not found and lines and len(lines) == len(texts):
            stem, lang = lines[0]
            raise ConfigError(
                f"{folder}: has {stem}.{lang}, but no {stem} in another language; put it there, with the other "
                f"language's code instead of {lang}{_other_formats(folder)}"
            )
        if not found and texts:
            found = next(
                (set(langs) for name in texts if _is_table(name) and (langs := table_languages(folder, name))), set()
            )
        if not found:
            continue
        common, where = (found if common is None else common & found), str(folder)
    if common is None:
        return ()
    if len(common) != 2:
        raise ConfigError(
            f"{where}: found the languages {', '.join(sorted(common)) or 'none in common'}, expected two; "
            "say which with --from and --to"
        )
    return tuple(sorted(common))


def _stems(folder: Path, languages: Sequence[str]) -> list[str]:
    """Return the names that have a file in both languages, without held-out text."""
    texts = [name for name in _texts(folder) if not _is_table(name)]
    return [stem for stem in stems(texts, languages)[0] if stem not in HELD_OUT]


def _domain_of_folder(folder: Path, languages: Sequence[str]) -> FoundDomain:
    texts = _texts(folder)
    name = domain_name(folder.resolve().name)
    of_split = {split: _lines(folder, [split], languages[0]) for split in HELD_OUT} if languages else {}
    pairs = _lines(folder, _stems(folder, languages), languages[0]) if languages else 0
    whole = {*stems(texts, languages)[0], *(Path(one).stem for one in texts if _is_table(one))} if languages else ()
    has_valid, tests = "valid" in whole, max(1, of_split["test"]) if "test" in whole else 0
    tables = [one for one in texts if _is_table(one) and Path(one).stem not in HELD_OUT]
    if not tables and not pairs and of_split.get("valid"):
        remark = "there is no train, so valid is the text, and validation and test sentences are drawn from it"
        return FoundDomain(name, "files", folder / "valid", of_split["valid"], remark=remark)
    if not tables or pairs:
        return FoundDomain(name, "folder", folder, pairs, has_valid, tests)
    there, reader = packed_name(Folder(folder, _BYTES_MAX), tables[0]) or tables[0], None
    if languages:  # else `init` asks for them first
        pairs, reader = look_at_table(folder, there, languages)
    if reader is None:
        return FoundDomain(name, "folder", folder, pairs, has_valid, tests)
    return FoundDomain(name, "files", folder / there, pairs, reader=reader)


def _lines(folder: Path, wanted: Iterable[str], language: str) -> int:
    """Count the lines of the files of these names in a language; `mdnmt doctor` checks them one by one."""
    archive, total = Folder(folder, _BYTES_MAX), 0
    for name in text_files(archive, list(wanted), language):
        if name is None:
            continue
        count, last = 0, b""
        for block in unix_line_ends(archive.blocks(name)):
            count, last = count + block.count(b"\n"), block or last
        total += count + (last[-1:] not in (b"", b"\n"))
    return total


def domain_name(text: str) -> str:
    """Return a valid name for a domain, as close as possible to the name of its folder or file.

    Raises:
        ConfigError: no valid character is left, or the first one is not a letter.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    name = f"{name}-text" if name in RESERVED else name
    if not name or not name[0].isalpha():
        raise ConfigError(f"{text!r} gives no name for a domain; rename the folder or file: letters first, a to z")
    return name
