"""Read a fetched corpus: verify its files once more, then hand out its segments by split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mdnmt.corpora import generated
from mdnmt.corpora.archive import Folder, open_archive
from mdnmt.corpora.manifest import files_folder
from mdnmt.corpora.readers import Pair, plain, reader
from mdnmt.corpora.spec import CorpusSpec
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file


@dataclass(frozen=True)
class CorpusText:
    """A corpus' segments as they stand; `valid` and `test` are None where the corpus brings none of its own."""

    train: list[Pair]
    valid: list[Pair] | None = None
    test: list[Pair] | None = None


def read_corpus(spec: CorpusSpec, folder: Path, source_lang: str, target_lang: str) -> CorpusText:
    """Return the text of a fetched corpus.

    Args:
        spec: its files, with checksums, and how they are read.
        folder: where it was fetched to (`resources/corpora/<corpus>`).
        source_lang: source language.
        target_lang: target language.

    Raises:
        DataError: it was not fetched, a file differs from `spec`, or its content is not what it should be.
    """
    where = files_folder(folder)
    for file in spec.files:
        path = where / file.name
        if not path.is_file():
            raise DataError(f"{path}: missing; fetch the corpus {spec.name!r} again")
        if sha256_file(path) != file.sha256:
            remedy = "start again to plan anew" if where != folder else f"remove {folder} and start again"
            raise DataError(f"{path}: its content is not the one this task was planned with; {remedy}")
    if spec.reader.name == "generated":
        return CorpusText(list(generated.pairs(spec.reader, source_lang, target_lang)))
    # Several files are a folder of plain text; a pinned archive is always one.
    if spec.reader.name == "plain" and len(spec.files) > 1:
        archive = Folder(where, spec.unpacked_bytes_max)
        own = {
            split: plain.read_split(archive, split, source_lang, target_lang)
            for split in ("valid", "test")
            if plain.has_split(archive, split, source_lang, target_lang)
        }
        train = plain.read_split(archive, "train", source_lang, target_lang)
        return CorpusText(train, own.get("valid"), own.get("test"))
    with open_archive(where / spec.files[0].name, spec.unpacked_bytes_max) as opened:
        pairs = list(reader(spec.reader.name).read(opened, source_lang, target_lang, spec.reader))
    if not pairs:
        raise DataError(f"{where / spec.files[0].name}: holds no {source_lang}-{target_lang} segment")
    return CorpusText(pairs)
