"""sentencepiece's unigram model (Kudo 2018): learn pieces, segment words, and join pieces again.

No piece crosses a space, so a line is segmented word by word, and the model can be learned from word counts. `▁` begins
a word. A character without a piece becomes its bytes (`<0xE4>`), so nothing is lost but U+2581 itself, which becomes a
space.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mdnmt.errors import DamagedTask, DataError

BEGIN = "▁"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
FIRST_BYTE, LAST_BYTE = "<0x00>", "<0xFF>"
# Sums of likelihoods are made by thread, so their rounding, and with it the model, depends on this number.
_THREADS = 4


def learn_job(job: tuple[Mapping[str, int], int]) -> bytes:
    """Return the model learned from (counts, largest number of pieces): one job of a worker process.

    Raises:
        DataError: so few pieces are not enough for the characters of the text.
    """
    import sentencepiece

    counts, size = job
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            # Sorted, so that the result depends on nothing but the counts.
            sentence_iterator=(f"{word}\t{count}" for word, count in sorted(counts.items())),
            input_format="tsv",
            model_writer=model,
            model_type="unigram",
            vocab_size=size,
            hard_vocab_limit=False,  # fewer, if the text does not have so many
            byte_fallback=True,
            normalization_rule_name="identity",  # `mdnmt task` normalises
            remove_extra_whitespaces=False,
            max_sentence_length=1 << 20,
            num_threads=_THREADS,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        said = " ".join(str(error).split())[-200:]
        raise DataError(f"segmentation.bpe_merge_operations: {size} pieces are too few here ({said})") from None
    return model.getvalue()


class SentencePieces:
    """Segments words by a model; the pieces of each word are cached."""

    def __init__(self, model: bytes, name: str = "codes.model") -> None:
        """Take a model as `learn_job` returns it, and the name of its file.

        Raises:
            DamagedTask: it is no model of sentencepiece.
        """
        import sentencepiece

        try:
            self._model: Any = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise DamagedTask(f"{name}: is not a model of sentencepiece ({' '.join(str(error).split())})") from None
        self._known: dict[str, list[str]] = {}

    def vocabulary(self) -> list[str]:
        """Return all pieces, those of single bytes included."""
        numbers = range(len(self._model))
        return [self._model.id_to_piece(number) for number in numbers if not self._is_special(number)]

    def _is_special(self, number: int) -> bool:
        return bool(self._model.is_control(number) or self._model.is_unknown(number))

    def pieces(self, word: str) -> list[str]:
        """Return the pieces of one word."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = self._model.encode(word, out_type=str)
        return known

    def segment(self, words: Sequence[str]) -> list[str]:
        """Return the pieces of a line that was split at spaces."""
        return [piece for word in words for piece in self.pieces(word)]


def join_pieces(pieces: Sequence[str]) -> str:
    """Return the text of pieces; bytes that are no UTF-8, in a hypothesis, become U+FFFD."""
    data = b"".join(
        bytes([int(found[1], 16)]) if (found := _BYTE.fullmatch(piece)) else piece.encode() for piece in pieces
    )
    return data.decode("utf-8", "replace").replace(BEGIN, " ").removeprefix(" ")
