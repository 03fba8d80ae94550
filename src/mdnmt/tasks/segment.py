"""From a line of text to pieces and back, by a task's own tokeniser and codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from mdnmt.errors import ConfigError, DataError
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
            ConfigError: subword-nmt is not installed.
        """
        try:
            codes = (folder / CODES).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"{folder / CODES}: cannot be read ({error}); make the task anew") from None
        with _packages():
            return cls(Bpe(codes), lang)

    def encode(self, line: str) -> list[str]:
        """Return the pieces of a line: normalised, tokenised, taken apart.

        Raises:
            ConfigError: sacremoses is not installed.
        """
        text = normalise(line)
        with _packages():
            return self.bpe.segment(tokenise(text, self.lang)) if text else []


def plain_text(pieces: Sequence[str], lang: str) -> str:
    """Return the plain text of pieces, joined and detokenised; no codes are needed for that.

    Raises:
        ConfigError: sacremoses is not installed.
    """
    with _packages():
        return detokenise(join_pieces(pieces), lang) if pieces else ""


@contextmanager
def _packages() -> Iterator[None]:
    """Turn a missing package into one line: a machine that only trains may lack those that cut and join words."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0].replace("_", "-")
        raise ConfigError(f"needs the package {name}, which is not installed; pip install {name}") from None
