"""fairseq's dictionaries (`dict.<lang>.txt`) as vocabularies."""

from __future__ import annotations

from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.tasks.segmentation.vocabulary import SPECIALS, Vocab

# fairseq's tokens 0 to 3; those of the file follow.
_THEIRS = ("<s>", "<pad>", "</s>", "<unk>")
# The row of each of our special tokens in fairseq's matrices.
ROWS_OF_SPECIALS = tuple(_THEIRS.index(piece) for piece in SPECIALS)


def read_foreign_text(path: Path) -> str:
    r"""Return a text as subword-nmt and fairseq read it: `\r\n` and `\r` end lines, too.

    Raises:
        DataError: it cannot be read, or begins with a byte order mark, which both would take for text.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    if text.startswith("\ufeff"):
        raise DataError(
            f"{path}:1: begins with a byte order mark, which would change its first entry; save it as UTF-8 without one"
        )
    return text


def read_dictionary(path: Path) -> Vocab:
    """Return the tokens of a dictionary in its order, after our special tokens.

    Raises:
        DataError: the file cannot be read, a line is not a piece and its count, or a piece occurs twice.
    """
    pieces: list[str] = []
    known = set(SPECIALS)
    for number, line in enumerate(read_foreign_text(path).removesuffix("\n").split("\n"), start=1):
        piece, _, count = line.rstrip().removesuffix(" #fairseq:overwrite").rpartition(" ")
        if not piece or not count.removeprefix("-").isdecimal():  # fairseq reads scores of sentencepiece
            raise DataError(f"{path}:{number}: found {line[:80]!r}, expected a piece and its count, as fairseq writes")
        if piece in known:
            raise DataError(f"{path}:{number}: {piece!r} has a number already; expected each piece once")
        known.add(piece)
        pieces.append(piece)
    return Vocab([*SPECIALS, *pieces])
