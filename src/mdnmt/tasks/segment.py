"""From a line of text to pieces and back, by a task's own tokeniser and codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.tasks.bpe import Bpe
from mdnmt.tasks.normalise import normalise
from mdnmt.tasks.pieces import join_pieces
from mdnmt.tasks.tokenise import detokenise, tokenise

CODES = "codes.bpe"


class Segmenter:
    """Segments the text of one language of a task exactly as its training text was segmented."""

    def __init__(self, bpe: Bpe, lang: str) -> None:
        self.bpe, self.lang = bpe, lang

    @classmethod
    def load(cls, folder: Path, lang: str) -> Segmenter:
        """Return the segmenter of the task in `folder` for `lang`.

        Raises:
            DataError: the codes cannot be read.
        """
        try:
            codes = (folder / CODES).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{folder / CODES}: cannot be read ({error}); make the task anew") from None
        return cls(Bpe(codes), lang)

    def encode(self, line: str) -> list[str]:
        """Return the pieces of a line: normalised, tokenised, taken apart."""
        text = normalise(line)
        return self.bpe.segment(tokenise(text, self.lang)) if text else []

    def decode(self, pieces: Sequence[str]) -> str:
        """Return the plain text of pieces: joined and detokenised."""
        return detokenise(join_pieces(pieces), self.lang) if pieces else ""
