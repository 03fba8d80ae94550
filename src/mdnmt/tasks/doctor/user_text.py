"""Open the text of a task's corpora for the doctor and read it to the end, even if single lines are broken."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.corpus_source import GeneratedSource, LocalSource
from mdnmt.config.task import TaskConfig
from mdnmt.corpora import generated
from mdnmt.corpora.fetch_manifest import files_folder, read_manifest
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.formats.lines import LINE_BYTES_MAX, unix_line_ends
from mdnmt.corpora.readers import HELD_OUT, reader
from mdnmt.corpora.task_corpora import check_own, corpora_of
from mdnmt.errors import ConfigError
from mdnmt.languages import language
from mdnmt.tasks.doctor.encoding import find_encoding, what_is_wrong, wide_advice
from mdnmt.tasks.doctor.findings import Findings


@dataclass(frozen=True)
class Line:
    """A pair of segments and its location."""

    source: str
    target: str
    place: str


class SplitText(Protocol):
    """One split of one corpus."""

    @property
    def label(self) -> str:
        """Return its name for reports."""

    def place(self, number: int) -> str:
        """Return the location of a pair, whose number is counted from 1."""

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs and add problems of single lines to `found`; raise DataError if reading cannot go on."""


@dataclass
class TwoFiles:
    """Line-aligned files, read side by side; invalid UTF-8 is replaced and reported."""

    archive: Archive
    source: str
    target: str
    languages: tuple[str, str]

    @property
    def label(self) -> str:
        """Return the name of the source file; both sides have the same line numbers."""
        return f"{self.archive.label}/{self.source}"

    def place(self, number: int) -> str:
        """Return file and line."""
        return f"{self.label}:{number}"

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs as far as both files go.

        Raises:
            DataError: a file is missing or cannot be read.
        """
        names = (self.source, self.target)
        sides = [_Side(self.archive, *side, found) for side in zip(names, self.languages, strict=True)]
        count = 0
        for one, other in zip_longest(*(side.lines() for side in sides)):
            if one is not None and other is not None:
                count += 1
                yield Line(one, other, self.place(count))
        if sides[0].count != sides[1].count:
            longer = sides[sides[1].count > sides[0].count].name
            found.add(
                "error",
                f"{self.source} has {sides[0].count:,} lines, {self.target} has {sides[1].count:,}",
                "both need the same number: look for the first pair that does not belong together",
                f"{self.archive.label}/{longer}:{count + 1} has no counterpart",
            )
        for side in sides:
            if not side.count:
                found.add("error", f"{side.name} is empty", "put one segment a line into it")


@dataclass
class Segments:
    """The pairs of a reader, located by their number; the reader's own error ends the text."""

    label: str
    read: Callable[[], Iterator[tuple[str, str]]]
    look: Callable[[Findings], None] = lambda found: None  # at the file itself, before it is read

    def place(self, number: int) -> str:
        """Return the number of the pair, its only location in formats without lines."""
        return f"{self.label}, pair {number}"

    def lines(self, found: Findings) -> Iterator[Line]:
        """Yield the pairs.

        Raises:
            DataError: as the reader.
        """
        self.look(found)
        count = 0
        for count, (source, target) in enumerate(self.read(), start=1):
            yield Line(source, target, self.place(count))
        if not count:
            found.add("error", "has no segment in the task's languages", "look at its file and its reader's options")


class _Side:
    """The lines of one file, and how many there were."""

    def __init__(self, archive: Archive, name: str, lang: str, found: Findings) -> None:
        self.name, self.count = name, 0
        self._archive, self._found, self._lang = archive, found, lang

    def lines(self) -> Iterator[str]:
        self._encoding = find_encoding(partial(self._archive.blocks, self.name), language(self._lang).base)
        blocks = self._archive.blocks(self.name)
        if wide := self._encoding.wide:
            self._found.add("error", *wide_advice(wide, self.name))
            blocks = (text.encode() for text in codecs.iterdecode(blocks, wide, errors="replace"))
        rest = b""
        for block in unix_line_ends(blocks):
            *whole, rest = (rest + block).split(b"\n")
            for raw in [*whole, rest] if len(rest) > LINE_BYTES_MAX else whole:
                # A line that is too long is cut between two characters.
                fits = len(raw) <= LINE_BYTES_MAX
                yield self._line(raw if fits else raw[:LINE_BYTES_MAX].decode(errors="ignore").encode())
                if not fits:
                    what = f"a line of more than {LINE_BYTES_MAX:,} bytes; the rest was not looked at"
                    where = f"{self._archive.label}/{self.name}:{self.count}"
                    self._found.add("error", what, "one segment a line", where)
                    return
        if rest:
            yield self._line(rest)

    def _line(self, raw: bytes) -> str:
        self.count += 1
        place = f"{self._archive.label}/{self.name}:{self.count}"
        if raw.startswith(b"\xef\xbb\xbf"):
            raw = raw[3:]
            if self.count > 1:
                what = "a byte order mark within the text"
                self._found.add("warning", what, "files were joined: see whether they still are aligned", place)
        if b"\0" in raw:
            self._found.add("error", "a NUL byte", "remove it: it is no character of a text", place)
            raw = raw.replace(b"\0", b"")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            kind = "" if self._encoding.whole else f": {what_is_wrong(raw, error)}"
            what, remedy = f"{self.name} is not UTF-8{kind}", self._encoding.advice(self.name)
            self._found.add("error", what, remedy, f"{place} (byte 0x{raw[error.start]:02x})")
            return raw.decode("utf-8", errors="replace").replace("\ufffd", "?")


def _look_at_table(archive: Archive, name: str, lang: str, found: Findings) -> None:
    """Report the encoding of a file that its reader would refuse at the first line."""
    encoding = find_encoding(partial(archive.blocks, name), language(lang).base)
    if encoding.wide:
        found.add("error", *wide_advice(encoding.wide, name))
    elif encoding.invalid:
        found.add("error", f"{encoding.invalid:,} line(s) of {name} are not UTF-8", encoding.advice(name))


Texts = dict[str, dict[str, list[SplitText]]]


@contextmanager
def texts_of(task: TaskConfig, config_dir: Path, corpora: Path) -> Iterator[tuple[Texts, dict[str, list[str]]]]:
    """Yield domain -> split -> texts, and domain -> its corpora that were not fetched and so cannot be checked.

    Raises:
        ConfigError: a corpus is not configured, or does not have the task's languages.
        DataError: the training files of a user's corpus are missing.
    """
    texts: Texts = {}
    missing: dict[str, list[str]] = {}
    check_own(task)
    configured = corpora_of(config_dir, task)
    with ExitStack() as opened:
        for domain, options in task.domains.items():
            texts[domain] = {"train": []}
            for name in options.corpora:
                corpus = configured[name]
                _check_languages(task, name, corpus)
                if isinstance(corpus.source, LocalSource):
                    found = _local(corpus, corpus.source, task)
                elif read_manifest(corpora / name) is None and not isinstance(corpus.source, GeneratedSource):
                    missing.setdefault(domain, []).append(name)
                    continue
                else:
                    found = _fetched(name, corpus, corpora / name, task, opened)
                for split, some in found.items():
                    texts[domain].setdefault(split, []).extend(some)
        yield texts, missing


def _check_languages(task: TaskConfig, name: str, corpus: CorpusConfig) -> None:
    for lang in (task.source_lang, task.target_lang):
        if lang not in corpus.languages:
            raise ConfigError(f"corpus {name!r} has no {lang!r}; it has {', '.join(corpus.languages)}")


def _local(corpus: CorpusConfig, source: LocalSource, task: TaskConfig) -> dict[str, list[SplitText]]:
    """Return the splits of a user's folder; line-aligned files are read even if they have errors."""
    folder = Path(source.folder).expanduser()
    archive = Folder(folder, corpus.unpacked_bound)
    languages = (task.source_lang, task.target_lang)
    texts: dict[str, list[SplitText]] = {}
    for split in ("train", *HELD_OUT):
        files = reader(corpus.reader.name).split_files(archive, split, languages, corpus.reader)
        if not files:
            continue
        if corpus.reader.name in ("plain", "files"):
            texts[split] = [TwoFiles(archive, *sides, languages) for sides in zip(files[::2], files[1::2], strict=True)]
        else:
            read = partial(_read, corpus.reader, archive, split, *languages)
            segments = Segments(f"{archive.label}/{files[0]}", read)
            if corpus.reader.name == "tsv":
                lang = task.source_lang if language(task.target_lang).base == "en" else task.target_lang
                segments.look = partial(_look_at_table, archive, files[0], lang)
            texts[split] = [segments]
    return texts


def _fetched(
    name: str, corpus: CorpusConfig, folder: Path, task: TaskConfig, opened: ExitStack
) -> dict[str, list[SplitText]]:
    languages = (task.source_lang, task.target_lang)
    options: Any = corpus.reader
    if isinstance(corpus.source, GeneratedSource):
        return {"train": [Segments(name, partial(generated.pairs, options, *languages))]}
    manifest = read_manifest(folder)
    assert manifest is not None  # checked by the caller
    where = files_folder(folder)
    paths = [where / file["name"] for file in manifest["files"]]
    archive = opened.enter_context(open_files(paths, corpus.unpacked_bound))
    texts: dict[str, list[SplitText]] = {
        "train": [Segments(name, partial(_read, options, archive, "train", *languages))]
    }
    for split in HELD_OUT:
        if reader(options.name).held_out(archive, split, *languages, options) is not None:
            texts[split] = [Segments(f"{name}, {split}", partial(_read, options, archive, split, *languages))]
    return texts


def _read(options: Any, archive: Archive, split: str, source: str, target: str) -> Iterator[tuple[str, str]]:
    if split == "train":
        yield from reader(options.name).read(archive, source, target, options)
    else:
        yield from reader(options.name).held_out(archive, split, source, target, options) or ()
