"""Find members of an archive by a pattern, and read a member into memory, as text or JSON."""

from __future__ import annotations

import json
import re
from typing import Any

from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.lines import place
from mdnmt.errors import DataError


def one_member(archive: Archive, pattern: str, shown: str) -> str:
    """Return the name of the only member whose path, or the end of it after a slash, matches `pattern`.

    Args:
        archive: where to look.
        pattern: a regular expression.
        shown: what such a name looks like, for error messages.

    Raises:
        DataError: there is none, or there are several.
    """
    wanted = re.compile(rf"(?:.*/)?(?:{pattern})", re.DOTALL)
    found = [name for name in archive.names() if wanted.fullmatch(name)]
    if not found:
        raise DataError(f"{archive.label}: has no member {shown}; this is not the archive that was expected")
    if len(found) > 1:
        raise DataError(
            f"{archive.label}: has several members {shown}: {', '.join(map(repr, found[:4]))}; one was expected"
        )
    return found[0]


def some_members(archive: Archive, pattern: str, shown: str) -> list[str]:
    """Return the names of all members in which `pattern` is found, in the archive's order.

    Raises:
        DataError: there is none; `shown` says what is missing.
    """
    found = [name for name in archive.names() if re.search(pattern, name)]
    if not found:
        raise DataError(f"{archive.label}: has no {shown}")
    return found


def pair_pattern(source_lang: str, target_lang: str) -> str:
    """Return a regular expression for the name of a language pair, in either order."""
    return f"(?:{source_lang}-{target_lang}|{target_lang}-{source_lang})"


# The largest member in use has 20 MiB; larger ones should be read in blocks.
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
            raise DataError(f"{place(archive, name)}: has more than {MEMBER_BYTES_MAX} bytes, too many to read at once")
        parts.append(block)
    return b"".join(parts)


def read_text(archive: Archive, name: str) -> str:
    """Return a member's text, without a byte order mark.

    Raises:
        DataError: it is not UTF-8, or as `read_whole`.
    """
    try:
        return read_whole(archive, name).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{archive.label}:{name}: byte {error.start} is not UTF-8") from None


def read_json(archive: Archive, name: str) -> Any:
    """Return a member's JSON value.

    Raises:
        DataError: it is not JSON, or as `read_whole`.
    """
    try:
        return json.loads(read_whole(archive, name))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{archive.label}:{name}: not JSON ({error})") from None
