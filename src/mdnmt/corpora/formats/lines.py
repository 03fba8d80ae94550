"""Read text line by line, without loading a whole file: one side, or two sides in step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import Folder
from mdnmt.errors import DataError

# A longer line is not a segment but a file without line breaks, and it would be kept in memory as a whole.
LINE_BYTES_MAX = 1 << 20


def place(archive: Archive, name: str) -> str:
    """Return the name of a member for messages: a path in a user's folder, else `<archive>:<member>`."""
    shown = name if name.isprintable() else repr(name)
    return f"{archive.label}{'/' if isinstance(archive, Folder) else ':'}{shown}"


def lines(archive: Archive, name: str) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 member, split at `\n` alone, or at `\r` if it has no `\n`.

    A byte order mark at its beginning is dropped.

    Raises:
        DataError: the text is empty, is not UTF-8, has a NUL or too long a line; the message names the line.
    """
    return checked_lines(archive.blocks(name), place(archive, name))


def unix_line_ends(blocks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield a text's blocks, with `\n` for every `\r` if its lines end in `\r` alone, as on old Macs."""
    left, head = iter(blocks), b""
    for block in left:
        head += block
        if b"\n" in block or len(head) > LINE_BYTES_MAX:
            break
    old = b"\n" not in head and b"\r" in head
    yield head.replace(b"\r", b"\n") if old else head
    yield from (block.replace(b"\r", b"\n") for block in left) if old else left


def checked_lines(blocks: Iterable[bytes], where: str) -> Iterator[str]:
    """Yield the lines of a text that comes in blocks of any size; `where` is its name in messages.

    Raises:
        DataError: as `lines`.
    """
    rest, count, blank = b"", 0, True
    for block in unix_line_ends(blocks):
        whole, found, tail = block.rpartition(b"\n")
        if found:
            for line in _decoded(rest + whole, count, where):
                count, blank = count + 1, blank and not line.strip()
                yield line
            rest = b""
        rest += tail
        _check_length(rest, where, count + 1)
    if rest:
        for line in _decoded(rest, count, where):
            blank = blank and not line.strip()
            yield line
    if blank:
        raise DataError(f"{where}: is empty; expected one segment per line")


def _check_length(line: bytes, where: str, number: int) -> None:
    if len(line) > LINE_BYTES_MAX:
        raise DataError(f"{where}:{number}: is longer than {LINE_BYTES_MAX} bytes; expected one segment per line")


def _decoded(data: bytes, before: int, where: str) -> list[str]:
    """Decode whole lines; `before` lines come before them."""
    if len(data) > LINE_BYTES_MAX:
        for number, line in enumerate(data.split(b"\n"), start=before + 1):
            _check_length(line, where, number)
    if not before and data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{where}: is UTF-16; convert it: `iconv -f UTF-16 -t UTF-8 OLD > NEW`")
    if (nul := data.find(b"\0")) >= 0:
        number = before + data.count(10, 0, nul) + 1
        raise DataError(f"{where}:{number}: has a NUL byte; expected UTF-8; `mdnmt doctor` says what to mend")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        number, byte = before + data.count(10, 0, error.start) + 1, data[error.start]
        said = (
            f"the byte 0x{byte:02x} is not UTF-8; `mdnmt doctor` says whether to mend the line or to convert the file"
        )
        raise DataError(f"{where}:{number}: {said}") from None
    return (text if before else text.removeprefix("\ufeff")).split("\n")


def in_step(one: Iterator[str], other: Iterator[str], names: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of two sides in step.

    Args:
        one: lines of the first side.
        other: lines of the second side.
        names: names of the two sides for messages.

    Raises:
        DataError: one of them has more lines.
    """
    count = 0
    for line in one:
        counterpart = next(other, None)
        if counterpart is None:
            more = count + 1 + sum(1 for _ in one)
            raise _unequal(names, (more, count), names[0])
        count += 1
        yield line, counterpart
    more = count + sum(1 for _ in other)
    if more > count:
        raise _unequal(names, (count, more), names[1])


def _unequal(names: tuple[str, str], counts: tuple[int, int], longer: str) -> DataError:
    said = f"{names[0]}: {counts[0]} lines against {counts[1]} in {names[1]}"
    return DataError(f"{said}; {longer}:{min(counts) + 1} has no counterpart, both need the same number")


def side_by_side(archive: Archive, one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the lines of two line-aligned members in step, unchanged, including blank ones.

    Raises:
        DataError: as `lines`, or the numbers of lines differ.
    """
    names = (place(archive, one), place(archive, other))
    yield from in_step(lines(archive, one), lines(archive, other), names)
