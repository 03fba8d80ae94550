"""Read line-aligned text: `<split>.<lang>` or `<split>.<lang>.gz`, UTF-8, one segment a line."""

from __future__ import annotations

from collections.abc import Iterator

from mdnmt.config.corpus_reader import PlainReader
from mdnmt.corpora.archive import Archive
from mdnmt.errors import DataError

REQUIRED: tuple[str, ...] = ()  # the names depend on the languages: `read_split` says what is missing


def read(archive: Archive, source_lang: str, target_lang: str, options: PlainReader) -> Iterator[tuple[str, str]]:
    """Yield the training segments as they stand.

    Raises:
        DataError: as `read_split`.
    """
    yield from read_split(archive, "train", source_lang, target_lang)


def has_split(archive: Archive, split: str, source_lang: str, target_lang: str) -> bool:
    """Say whether there are files of `split`; one side alone counts, and is an error when it is read."""
    names = set(archive.names())
    return any(f"{split}.{lang}{end}" in names for lang in (source_lang, target_lang) for end in ("", ".gz"))


def read_split(archive: Archive, split: str, source_lang: str, target_lang: str) -> list[tuple[str, str]]:
    """Return the segments of one split as they stand, blank ones included.

    Raises:
        DataError: a side is missing or there twice, is empty, has bytes that are not UTF-8 or a NUL (the line is
            named), or the two sides have different numbers of lines.
    """
    sides = []
    for lang in (source_lang, target_lang):
        name = member(archive, split, lang)
        sides.append((f"{archive.label}/{name}", checked_lines(archive.read(name), f"{archive.label}/{name}")))
    (source_name, source), (target_name, target) = sides
    if len(source) != len(target):
        name, line = (source_name if len(source) > len(target) else target_name), min(len(source), len(target)) + 1
        counts = f"{len(source)} lines against {len(target)} in {target_name}"
        raise DataError(f"{source_name}: {counts}; {name}:{line} has no counterpart, both need the same number")
    return list(zip(source, target, strict=True))


def member(archive: Archive, split: str, lang: str) -> str:
    """Return the name of the file of a split and language.

    Raises:
        DataError: there is none, or both the plain and the packed one.
    """
    found = [name for name in archive.names() if name in (f"{split}.{lang}", f"{split}.{lang}.gz")]
    if not found:
        raise DataError(f"{archive.label}: has neither {split}.{lang} nor {split}.{lang}.gz; put one of them there")
    if len(found) > 1:
        raise DataError(f"{archive.label}: has {split}.{lang} and {split}.{lang}.gz; keep one of them")
    return found[0]


def checked_lines(data: bytes, where: str) -> list[str]:
    r"""Return the lines of a UTF-8 text, split at `\n` alone; a byte order mark at its beginning is dropped.

    Raises:
        DataError: the text is empty, is not UTF-8, or has a NUL; the line is named.
    """
    if not data.strip():
        raise DataError(f"{where}: is empty; expected one segment a line")
    nul = data.find(b"\0")
    if nul >= 0:
        raise DataError(f"{where}:{data.count(10, 0, nul) + 1}: has a NUL byte; expected plain UTF-8 text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The mark at the beginning, if any, is not counted by the decoder; it holds no line break either.
        line, byte = data.count(10, 0, error.start) + 1, data[error.start]
        raise DataError(f"{where}:{line}: the byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8") from None
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines
