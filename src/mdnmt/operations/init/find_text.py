"""Find the domains and languages in folders of parallel text, from the file names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.task import AVERAGES
from mdnmt.corpora.formats.folder import COMPRESSION_SUFFIXES, Folder
from mdnmt.errors import ConfigError
from mdnmt.languages import PATTERN

HELD_OUT = ("valid", "test")
TABLES = (".tsv", ".tmx")
_LANGUAGE = re.compile(PATTERN)
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
        has_test: whether the folder has its own test text.
    """

    name: str
    key: str
    path: Path
    pairs: int
    has_valid: bool = False
    has_test: bool = False


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
    if len(folders) == 1 and found_languages and len(stems := _stems(folders[0], found_languages)) > 1:
        domains = [_domain_of_files(folders[0], stem, found_languages[0]) for stem in stems]
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
            f"{path}: found no parallel text; expected files like law.en and law.fr (or .tsv, .tmx; .gz, .xz, .zst), "
            "or a folder of them per domain"
        )
    return inner


def _plain(name: str) -> str:
    """Return a file's name without its compression suffix."""
    return next((name.removesuffix(end) for end in COMPRESSION_SUFFIXES[1:] if name.endswith(end)), name)


def _texts(folder: Path) -> list[str]:
    """Return the names of files that may hold text, without compression suffixes."""
    names = [_plain(path.name) for path in sorted(folder.iterdir()) if path.is_file() and path.name[0] != "."]
    return [name for name in names if name.endswith(TABLES) or _LANGUAGE.fullmatch(Path(name).suffix[1:])]


def _languages(folders: Iterable[Path]) -> tuple[str, ...]:
    """Return the two languages that have files of the same name in every folder of plain text."""
    common: set[str] | None = None
    where = ""
    for folder in folders:
        texts = [name for name in _texts(folder) if not name.endswith(TABLES)]
        if not texts:
            continue
        of_stem: dict[str, set[str]] = {}
        for name in texts:
            of_stem.setdefault(Path(name).stem, set()).add(Path(name).suffix[1:])
        paired = {lang for langs in of_stem.values() if len(langs) > 1 for lang in langs}
        if not paired:
            alone = texts[0]
            raise ConfigError(f"{folder}: has {alone}, but no {Path(alone).stem} in another language; put it there")
        common, where = (paired if common is None else common & paired), str(folder)
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
    texts = _texts(folder)
    stems = dict.fromkeys(Path(name).stem for name in texts if not name.endswith(TABLES))
    return [stem for stem in stems if stem not in HELD_OUT and all(f"{stem}.{lang}" in texts for lang in languages)]


def _domain_of_files(folder: Path, stem: str, language: str) -> FoundDomain:
    return FoundDomain(domain_name(stem), "files", folder / stem, _count(folder, f"{stem}.{language}"))


def _domain_of_folder(folder: Path, languages: Sequence[str]) -> FoundDomain:
    texts = _texts(folder)
    held = {split: any(Path(name).stem == split for name in texts) for split in HELD_OUT}
    tables = [name for name in texts if name.endswith(TABLES) and Path(name).stem not in HELD_OUT]
    if tables:
        pairs = _count(folder, tables[0])
    else:
        pairs = sum(_count(folder, f"{stem}.{languages[0]}") for stem in _stems(folder, languages)) if languages else 0
    name = domain_name(folder.resolve().name)
    return FoundDomain(name, "folder", folder, pairs, held["valid"], held["test"])


def _count(folder: Path, name: str) -> int:
    """Count the lines of a file, or the units of a translation memory; `mdnmt doctor` checks them one by one."""
    archive = Folder(folder, _BYTES_MAX)
    there = next(one for one in archive.names() if _plain(one) == name)
    sought = b"</tu>" if name.endswith(".tmx") else b"\n"
    count, last = 0, b""
    for block in archive.blocks(there):
        count += block.count(sought)
        if len(sought) > 1:  # a match may span two blocks
            count += (last[-(len(sought) - 1) :] + block[: len(sought) - 1]).count(sought)
        last = block
    return count + (sought == b"\n" and last[-1:] not in (b"", b"\n"))


def domain_name(text: str) -> str:
    """Return a valid name for a domain, as close as possible to the name of its folder or file.

    Raises:
        ConfigError: no valid character is left, or the first one is not a letter.
    """
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    name = f"{name}-text" if name in AVERAGES else name
    if not name or not name[0].isalpha():
        raise ConfigError(f"{text!r} gives no name for a domain; rename the folder or file: letters first, a to z")
    return name
