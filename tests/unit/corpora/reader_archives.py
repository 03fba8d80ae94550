"""Small archives for the tests of readers, and what every reader must do with bytes that nobody expects."""

from __future__ import annotations

import io
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mdnmt.corpora.corpus_spec import CorpusSpec, FileSpec
from mdnmt.corpora.fetch_manifest import write_manifest
from mdnmt.corpora.formats.archive import Archive, Budget, open_archive
from mdnmt.corpora.read import read_corpus
from mdnmt.corpora.readers import Pair, reader
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

BOUND = 1 << 30


class Memory(Archive):
    """An archive of given members, read in blocks of a given size."""

    label = "memory"

    def __init__(self, members: Mapping[str, bytes], block: int = 7) -> None:
        self.members, self.block, self.budget = members, block, Budget(BOUND)

    def names(self) -> list[str]:
        return list(self.members)

    def blocks(self, name: str) -> Iterator[bytes]:
        data = self.members[name]
        for start in range(0, len(data), self.block):
            yield data[start : start + self.block]


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def tar_bytes(members: Mapping[str, bytes | str], mode: str = "w") -> bytes:
    """Return a tar archive; a member whose content is a string is a symbolic link to it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(data, str):
                info.type, info.linkname, data = tarfile.SYMTYPE, data, b""
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def ar(*members: tuple[str, bytes]) -> bytes:
    """Return what a Debian package is packed in."""
    parts = [b"!<arch>\n"]
    for name, content in members:
        parts.append(f"{name:<16}{1700000000:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
        parts.append(content + b"\n" * (len(content) % 2))
    return b"".join(parts)


def zipped(path: Path, members: Mapping[str, bytes]) -> Path:
    path.write_bytes(zip_bytes(members))
    return path


def tgz(path: Path, members: Mapping[str, bytes]) -> Path:
    path.write_bytes(tar_bytes(members, "w:gz"))
    return path


def pairs_of(path: Path, options: Any, source: str, target: str, split: str = "train") -> list[Pair]:
    """Read a split of an archive on disk."""
    with open_archive(path, BOUND) as archive:
        return list(segments(archive, options, source, target, split))


def corpus_of(path: Path, options: Any, source: str, target: str) -> dict[str, list[Pair]]:
    """Read a whole corpus of one archive, as a task does."""
    file = FileSpec(name=path.name, sha256=sha256_file(path), size_bytes=path.stat().st_size)
    write_manifest(path.parent, {"files": [file.model_dump()]})
    spec = CorpusSpec(name="toy", files=(file,), reader=options, unpacked_bytes_max=BOUND)
    return read_whole(spec, path.parent, source, target)


def read_whole(spec: CorpusSpec, folder: Path, source: str, target: str) -> dict[str, list[Pair]]:
    """Return a corpus' text as lists."""
    with read_corpus(spec, folder, source, target) as text:
        return {split: list(pairs) for split, pairs in text.items()}


def reads(path: Path, options: Any, *languages: str, split: str = "train") -> Callable[[], Iterator[Pair]]:
    """Return a function that reads a split of an archive on disk pair by pair."""

    def read() -> Iterator[Pair]:
        with open_archive(path, BOUND) as archive:
            yield from segments(archive, options, *languages, split)

    return read


def segments(archive: Archive, options: Any, source: str, target: str, split: str = "train") -> Iterator[Pair]:
    if split == "train":
        return reader(options.name).read(archive, source, target, options)
    found = reader(options.name).held_out(archive, split, source, target, options)
    return iter(()) if found is None else found


def gives_pairs_or_says_why(
    members: Mapping[str, bytes], block: int, options: Any, source: str, target: str, *, names_archive: bool = True
) -> None:
    """Read every split: what comes out are pairs of text, or an error of one line that names the archive."""
    for split in ("train", "valid", "test"):
        try:
            for pair in segments(Memory(members, block), options, source, target, split):
                assert len(pair) == 2 and all(isinstance(side, str) for side in pair)
        except DataError as error:
            assert "\n" not in str(error) and (str(error).startswith("memory") or not names_archive)


def grows(made: Callable[[int], Callable[[], Iterator[Pair]]], fewer: int = 10_000) -> float:
    """Return how many times as much memory four times as many lines take; `made(n)` makes a corpus of n lines."""
    peaks = []
    for count in (fewer, 4 * fewer):
        read = made(count)
        tracemalloc.start()
        found = sum(1 for _ in read())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found == count
    return peaks[1] / peaks[0]


def many(count: int, word: str) -> bytes:
    """Return `count` lines of about 90 bytes."""
    return "".join(f"{word} {number} {'x' * 80}\n" for number in range(count)).encode()
