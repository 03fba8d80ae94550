"""Read a fetched corpus: verify its files again, then yield the segments of each split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from mdnmt.corpora import generated
from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.fetch_manifest import files_folder
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.readers import HELD_OUT, Pair, reader
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

_ARCHIVE = re.compile(r"\.(whl|zip|deb|tgz|tar|tar\.\w+)$")


@contextmanager
def read_corpus(
    spec: CorpusSpec, folder: Path, source_lang: str, target_lang: str
) -> Iterator[dict[str, Iterator[Pair]]]:
    """Open a fetched corpus and yield split -> its unchanged segments: those that it has of its own, and `train`.

    Pairs are read once and lazily, so an error in the text is raised only when it is reached.

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
        yield {"train": generated.pairs(spec.reader, source_lang, target_lang)}
        return
    files = [where / file.name for file in spec.files]
    with open_corpus(files, spec) as archive:
        how, asked = reader(spec.reader.name), (source_lang, target_lang, spec.reader)
        own = {split: pairs for split in HELD_OUT if (pairs := how.held_out(archive, split, *asked)) is not None}
        train = _require_any(how.read(archive, *asked), f"{files[0]}: holds no {source_lang}-{target_lang} segment")
        yield {**own, "train": train}


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
    if reader(spec.reader.name).reads_folders and not any(_ARCHIVE.search(file.name) for file in files):
        return nullcontext(Folder(files[0].parent, spec.unpacked_bytes_max, files))
    return open_files(files, spec.unpacked_bytes_max)
