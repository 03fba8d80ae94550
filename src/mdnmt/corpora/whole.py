"""Read a member that makes sense only as a whole, such as an index, nested keys or a page, up to a bound of its own."""

from __future__ import annotations

from mdnmt.corpora.archive import Archive
from mdnmt.corpora.lines import place
from mdnmt.errors import DataError

# The largest in use has 20 MiB; what is larger has to be read piece by piece.
MEMBER_BYTES_MAX = 1 << 26


def read_whole(archive: Archive, name: str) -> bytes:
    """Return a member's bytes.

    Raises:
        DataError: it is missing, damaged, or larger than `MEMBER_BYTES_MAX`.
    """
    parts, size = [], 0
    for block in archive.blocks(name):
        size += len(block)
        if size > MEMBER_BYTES_MAX:
            raise DataError(f"{place(archive, name)}: has more than {MEMBER_BYTES_MAX} bytes, which are read at once")
        parts.append(block)
    return b"".join(parts)
