"""Read a fetched corpus: verify its files again, then yield the segments of each split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from mdnmt.corpora import generated
from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.fetch_manifest import files_folder
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.readers import HELD_OUT, Pair, folder_reader, read_held_out, reader
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

_ARCHIVE = re.compile(r"\.(whl|zip|deb|tgz|tar|tar\.\w+)$")


@dataclass(frozen=True)
class CorpusText:
    """The unchanged segments of a corpus; each split can be read once. None: the corpus has no such split."""

    train: Iterator[Pair]
    valid: Iterator[Pair] | None = None
    test: Iterator[Pair] | None = None


@contextmanager
def read_corpus(spec: CorpusSpec, folder: Path, source_lang: str, target_lang: str) -> Iterator[CorpusText]:
    """Open a fetched corpus; pairs are read lazily, so an error in the text is raised only when it is reached.

    Args:
        spec: its files, with checksums, and how they are read.
        folder: where it was fetched to (`resources/corpora/<corpus>`).
        source_lang: source language.
        target_lang: target language.

    Raises:
        DataError: it was not fetched, a file differs from `spec`, or the text is malformed.
    """
    where = files_folder(folder)
    for file in spec.files:
        path = where / file.name
        if not path.is_file():
            raise DataError(f"{path}: missing; fetch the corpus {spec.name!r} again")
        if sha256_file(path) != file.sha256:
            remedy = "start again to plan with the new file" if where != folder else f"remove {folder} and start again"
            raise DataError(f"{path}: its content is not the one this task was planned with; {remedy}")
    if spec.reader.name == "generated":
        yield CorpusText(generated.pairs(spec.reader, source_lang, target_lang))
        return
    files = [where / file.name for file in spec.files]
    with open_corpus(files, spec) as archive:
        train = reader(spec.reader.name).read(archive, source_lang, target_lang, spec.reader)
        held_out = (
            read_held_out(spec.reader.name, archive, split, source_lang, target_lang, spec.reader) for split in HELD_OUT
        )
        yield CorpusText(_require_any(train, f"{files[0]}: holds no {source_lang}-{target_lang} segment"), *held_out)


def _require_any(pairs: Iterator[Pair], otherwise: str) -> Iterator[Pair]:
    """Yield pairs; raise DataError if there are none."""
    first = next(pairs, None)
    if first is None:
        raise DataError(otherwise)
    yield first
    yield from pairs


def open_corpus(files: Sequence[Path], spec: CorpusSpec) -> AbstractContextManager[Archive]:
    """Open the files of a corpus: archives, or text in a format that a user's folder may have (`big.tsv.gz`).

    Raises:
        DataError: as `open_files`.
    """
    if folder_reader(spec.reader.name) is not None and not any(_ARCHIVE.search(file.name) for file in files):
        return nullcontext(Folder(files[0].parent, spec.unpacked_bytes_max, files))
    return open_files(files, spec.unpacked_bytes_max)
