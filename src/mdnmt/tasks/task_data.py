"""A finished task as training and decoding read it: verified and memory-mapped, with numpy only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.errors import DamagedTask, DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import read_json, read_lines, unreadable
from mdnmt.tasks.segmentation.vocabulary import Vocab

Indices = NDArray[np.int64]  # of sentences in a split

MANIFEST = "task.json"
SPLITS = ("train", "valid", "test")


class Ragged:
    """Sentences of different lengths in one flat array; each ends with </s>."""

    def __init__(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        # Plain views: indexing the subclass np.memmap costs more than the sentences of a small batch.
        self.tokens, self.offsets = np.asarray(tokens), np.asarray(offsets)
        # Lengths in pieces, </s> included.
        self.lengths: NDArray[np.int64] = np.diff(offsets)
        self.longest = int(self.lengths.max(initial=0))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> NDArray[np.int32]:
        """Return sentence `index`, </s> included; a view, not a copy."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"sentence {index} of {len(self)}")
        index %= len(self)
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True)
class Split:
    """One split of a task: both sides and the domain label of each sentence."""

    source: Ragged
    target: Ragged
    domains: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True)
class TaskData:
    """The data of a task; label k means `domains[k]`."""

    folder: Path
    name: str
    fingerprint: str
    source_lang: str
    target_lang: str
    domains: tuple[str, ...]
    source_vocab: Vocab = field(repr=False)
    target_vocab: Vocab = field(repr=False)

    @classmethod
    def load(cls, folder: Path, verify: bool = True) -> TaskData:
        """Return the task in `folder`.

        Args:
            folder: the task's folder.
            verify: compare size and sha256 of every file with the manifest.

        Raises:
            DataError: the task is not finished, or a file is missing or was altered.
        """
        path = folder / MANIFEST
        try:
            manifest = read_json(path)
        except FileNotFoundError:
            raise DataError(f"{path}: missing: the task's data is not finished; make it with `mdnmt task`") from None
        except OSError as error:
            raise unreadable(path, error) from None
        try:
            if verify and (found := difference(folder, manifest["files"], MANIFEST)):
                raise DamagedTask(found)
            source_lang, target_lang = str(manifest["source_lang"]), str(manifest["target_lang"])
            return cls(
                folder=folder,
                name=str(manifest["name"]),
                fingerprint=str(manifest["fingerprint"]),
                source_lang=source_lang,
                target_lang=target_lang,
                domains=tuple(str(domain) for domain in manifest["domains"]),
                source_vocab=Vocab.load(folder / f"vocab.{source_lang}.txt"),
                target_vocab=Vocab.load(folder / f"vocab.{target_lang}.txt"),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DamagedTask(f"{path}: is not a task manifest ({error!r})") from None

    def split(self, name: str) -> Split:
        """Return the split `train`, `valid` or `test`, memory-mapped.

        Raises:
            DataError: there is no such split, or its arrays do not fit together.
        """
        if name not in SPLITS:
            raise DataError(f"{self.folder}: no split {name!r}; there are: {', '.join(SPLITS)}")
        source, target = self._ragged(name, self.source_lang), self._ragged(name, self.target_lang)
        domains = self._array(f"{name}.domains.npy")
        if not len(source) == len(target) == len(domains):
            counts = f"{len(source)}, {len(target)} and {len(domains)}"
            raise DamagedTask(f"{self.folder}: {name} has {counts} sentences, targets and labels")
        return Split(source, target, domains)

    def text(self, split: str, domain: str, lang: str) -> list[str]:
        """Return the plain segments of a split and domain in one language, in the order of the arrays.

        Raises:
            DataError: there is no such file.
        """
        path = self.folder / "text" / f"{split}.{domain}.{lang}"
        if domain not in self.domains or lang not in (self.source_lang, self.target_lang):
            domains = ", ".join(self.domains)
            raise DataError(f"{path}: no such text; domains: {domains}; {self.source_lang}, {self.target_lang}")
        try:
            return read_lines(path)
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from None

    def place(self, split: str, row: int, lang: str) -> str:
        """Return where a sentence is: its domain, the line of the task's file of text, and how it begins.

        Args:
            split: train, valid or test.
            row: its number in the arrays.
            lang: of the side.
        """
        labels = self.split(split).domains
        domain, line = self.domains[labels[row]], int((labels[:row] == labels[row]).sum())
        path = self.folder / "text" / f"{split}.{domain}.{lang}"
        return f"domain {domain}, {path}:{line + 1} ({self.text(split, domain, lang)[line][:30]!r} ...)"

    def _ragged(self, name: str, lang: str) -> Ragged:
        return Ragged(self._array(f"{name}.{lang}.tokens.npy"), self._array(f"{name}.{lang}.offsets.npy"))

    def _array(self, name: str) -> NDArray[Any]:
        path = self.folder / name
        try:
            return np.asanyarray(np.load(path, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            raise unreadable(path, error) from None


def difference(folder: Path, files: dict[str, dict[str, Any]], manifest: str) -> str:
    """Return how the files of a folder differ from what its manifest says; "" if they do not.

    Raises:
        DataError: a file cannot be read.
    """
    for name, expected in files.items():
        path = folder / name
        try:
            size = path.stat().st_size
            if size != expected["size_bytes"]:
                return f"{path}: has {size} bytes, expected {expected['size_bytes']}"
            if sha256_file(path) != expected["sha256"]:
                return f"{path}: was altered (sha256 differs from {manifest})"
        except OSError as error:
            raise unreadable(path, error) from None
    return ""
