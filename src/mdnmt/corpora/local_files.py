"""Files of a corpus in a user's own folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mdnmt.config.corpus_reader import ReaderConfig
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.readers import HELD_OUT, reader
from mdnmt.errors import DataError

# The names that `FileSpec` accepts.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def local_files(folder: Path, languages: Sequence[str], options: ReaderConfig) -> list[str]:
    """Return the names of a local corpus' files: those of train, and of valid and test where they exist.

    Raises:
        DataError: a file is missing, exists both plain and compressed, or has special characters in its name.
    """
    archive = Folder(folder, unpacked_bytes_max=0)  # only names are read
    split_files = reader(options.name).split_files
    names = [name for split in ("train", *HELD_OUT) for name in split_files(archive, split, languages, options)]
    for name in names:
        if not _NAME.fullmatch(name):
            raise DataError(f"{folder}: {name!r}: rename the file, using only a-z, A-Z, digits and ._+-")
    return names


def check_text(folder: Path, languages: Sequence[str], options: ReaderConfig, unpacked_bytes_max: int) -> None:
    """Read every segment of a local corpus once, to find errors.

    Raises:
        DataError: the text is malformed; the message names file and line.
    """
    archive = Folder(folder, unpacked_bytes_max)
    found = reader(options.name)
    for other in languages[1:]:
        for _ in found.read(archive, languages[0], other, options):
            pass
        for split in HELD_OUT:
            for _ in found.held_out(archive, split, languages[0], other, options) or ():
                pass
