"""The vocabulary: tokens and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from mdnmt.errors import DataError
from mdnmt.fsio import DamagedFile, read_lines, unreadable, write_lines
from mdnmt.tasks.segmentation import bpe, sentence_pieces

SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")


class Vocab:
    """Tokens by id: 0 <pad>, 1 <s>, 2 </s>, 3 <unk>, then the others."""

    pad, bos, eos, unk = range(len(SPECIALS))

    def __init__(self, tokens: Sequence[str]) -> None:
        """Take all tokens in the order of their ids.

        Raises:
            DataError: they do not begin with the special ones, or one occurs twice.
        """
        self.tokens = list(tokens)
        self.index = {token: number for number, token in enumerate(self.tokens)}
        if tuple(self.tokens[: len(SPECIALS)]) != SPECIALS:
            raise DataError(f"vocabulary: begins with {self.tokens[:4]}, expected {list(SPECIALS)}")
        if len(self.index) != len(self.tokens):
            raise DataError("vocabulary: a token occurs twice")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], min_count: int = 1, max_size: int | None = None) -> Vocab:
        """Return a vocabulary of the `max_size` most frequent pieces that occur at least `min_count` times."""
        chosen = [piece for piece, count in counts.items() if count >= min_count and piece not in SPECIALS]
        return cls([*SPECIALS, *sorted(chosen, key=lambda piece: (-counts[piece], piece))[:max_size]])

    @classmethod
    def load(cls, path: Path) -> Vocab:
        """Read a vocabulary, one token per line.

        Raises:
            DataError: the file cannot be read or is not a vocabulary.
        """
        try:
            return cls(read_lines(path))
        except (OSError, UnicodeDecodeError) as error:
            raise unreadable(path, error) from None
        except DamagedFile:
            raise
        except DataError as error:
            raise DataError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        """Write the vocabulary, one token per line; a token's id is its line number, counted from 0."""
        write_lines(path, self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def encode(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of pieces; unknown pieces, and pieces spelt like a special token, become <unk>."""
        numbers = (self.index.get(piece, self.unk) for piece in pieces)
        return [number if number >= len(SPECIALS) else self.unk for number in numbers]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids, up to the first </s>; <pad> and <s> are left out."""
        pieces = []
        for number in ids:
            if number == self.eos:
                break
            if number not in (self.pad, self.bos):
                pieces.append(self.tokens[number])
        return pieces

    def words(self, ids: Iterable[int]) -> list[tuple[str, int]]:
        """Return the words of ids, each with its number of pieces; without the marks of BPE or sentencepiece."""
        is_sentencepiece = sentence_pieces.FIRST_BYTE in self.index and sentence_pieces.LAST_BYTE in self.index
        words: list[list[str]] = []
        is_inside = False
        for piece in self.decode(ids):
            if is_sentencepiece:
                is_inside = bool(words) and not piece.startswith(sentence_pieces.BEGIN)
            if is_inside:
                words[-1].append(piece)
            else:
                words.append([piece])
            is_inside = piece.endswith(bpe.MARKER)
        join = sentence_pieces.join_pieces if is_sentencepiece else bpe.join_pieces
        return [(join(pieces), len(pieces)) for pieces in words]

    def text(self, ids: Iterable[int]) -> str:
        """Return the tokenised text of ids."""
        return " ".join(word for word, _ in self.words(ids))
