"""fairseq's dictionaries (`dict.<lang>.txt`) as vocabularies."""

from __future__ import annotations

from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import read_lines
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

# fairseq's tokens 0 to 3; those of the file follow.
_THEIRS = ("<s>", "<pad>", "</s>", "<unk>")
# The row of each of our special tokens in fairseq's matrices.
ROWS_OF_SPECIALS = tuple(_THEIRS.index(piece) for piece in SPECIALS)


def read_dictionary(path: Path) -> Vocab:
    """Return the tokens of a dictionary in its order, after our special tokens.

    Raises:
        DataError: the file cannot be read, a line is not a piece and its count, or a piece occurs twice.
    """
    try:
        lines = read_lines(path)
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    pieces: list[str] = []
    known = set(SPECIALS)
    for number, line in enumerate(lines, start=1):
        piece, _, count = line.rstrip().rpartition(" ")
        if not piece or not count.isdecimal():
            raise DataError(f"{path}:{number}: found {line[:80]!r}, expected a piece and its count, as fairseq writes")
        if piece in known:
            raise DataError(f"{path}:{number}: {piece!r} has a number already; expected each piece once")
        known.add(piece)
        pieces.append(piece)
    return Vocab([*SPECIALS, *pieces])
