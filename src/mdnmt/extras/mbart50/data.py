"""A task's plain text as mBART-50 reads it: segmented by its own tokenizer, with a language code before each line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.errors import DataError
from mdnmt.extras.mbart50.weight_files import PIECES
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import Ragged, Split, TaskData
from mdnmt.train.batches import spread


class MbartTokenizer:
    """Plain text to ids and back, for one source and one target language."""

    pad, eos = 1, 2

    def __init__(self, folder: Path, source_code: str, target_code: str) -> None:
        """Load sentencepiece.bpe.model from a folder.

        Raises:
            DataError: the file is missing or not a sentencepiece model.
        """
        from transformers import MBart50Tokenizer

        path = folder / PIECES
        if not path.is_file():
            raise DataError(f"{path}: missing; put back what the weights came with")
        try:
            self._tokenizer: Any = MBart50Tokenizer(str(path), src_lang=source_code, tgt_lang=target_code)
        except (OSError, RuntimeError, TypeError) as error:
            raise DataError(f"{path}: is not a sentencepiece model ({str(error).partition(chr(10))[0]})") from None
        self.source_code, self.target_code = source_code, target_code
        self.target_code_id = int(self._tokenizer.lang_code_to_id[target_code])

    def __len__(self) -> int:
        return int(self._tokenizer.vocab_size)

    def encode(self, lines: Sequence[str], code: str) -> list[NDArray[np.int32]]:
        """Return `[code] pieces </s>` for each line of either side; special tokens in a line are read as text."""
        tokenizer = self._tokenizer
        tokenizer.src_lang = code
        # All lines at once: many times faster than one call per line, and `</s>` or `fr_XX` in a line is text. An id is
        # that of sentencepiece plus 1, except for <unk>.
        found = tokenizer.sp_model.encode(list(lines), out_type=int)
        words = (
            [number + tokenizer.fairseq_offset if number else tokenizer.unk_token_id for number in ids] for ids in found
        )
        return [np.array(tokenizer.build_inputs_with_special_tokens(ids), dtype=np.int32) for ids in words]

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the pieces for some ids."""
        return tuple(self._tokenizer.convert_ids_to_tokens(list(ids)))

    def text(self, ids: Sequence[int]) -> str:
        """Return the plain text for some ids, without special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


class MbartVocab(Vocab):
    """The part of a vocabulary that the trainer uses: the start symbol, and the pieces of ids."""

    bos = MbartTokenizer.eos  # decoding starts with </s>; the language code is the first token to predict

    def __init__(self, tokenizer: MbartTokenizer) -> None:
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        return len(self._tokenizer)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Return the pieces of ids."""
        return list(self._tokenizer.pieces(list(ids)))


class MbartData(TaskData):
    """A task's data for the trainer, made from its plain text."""

    def __init__(
        self, task: TaskData, tokenizer: MbartTokenizer, domains: Sequence[str], pairs_per_domain: int
    ) -> None:
        """Read a task.

        Args:
            task: the task on disk.
            tokenizer: for both languages.
            domains: the domains to train on.
            pairs_per_domain: at most this many training pairs of each domain, spread evenly; 0: all.
        """
        vocab = MbartVocab(tokenizer)
        super().__init__(**{**vars(task), "source_vocab": vocab, "target_vocab": vocab})
        self.tokenizer, self.trained, self.pairs_per_domain = tokenizer, domains, pairs_per_domain
        self._splits: dict[str, Split] = {}

    def split(self, name: str) -> Split:
        """Return the split `train`, `valid` or `test`, segmented when it is asked for first."""
        if name not in self._splits:
            self._splits[name] = self._segmented(name)
        return self._splits[name]

    def _segmented(self, name: str) -> Split:
        chosen = self.trained if name == "train" else self.domains
        source: list[NDArray[np.int32]] = []
        target: list[NDArray[np.int32]] = []
        labels: list[int] = []
        for domain in chosen:
            lines = self.text(name, domain, self.source_lang)
            translations = self.text(name, domain, self.target_lang)
            rows = np.arange(len(lines))
            if name == "train" and self.pairs_per_domain:
                rows = spread(rows, self.pairs_per_domain)
            source += self.tokenizer.encode([lines[row] for row in rows], self.tokenizer.source_code)
            target += self.tokenizer.encode([translations[row] for row in rows], self.tokenizer.target_code)
            labels += [self.domains.index(domain)] * len(rows)
        return Split(_ragged(source), _ragged(target), np.array(labels, dtype=np.int16))


def _ragged(rows: Sequence[NDArray[np.int32]]) -> Ragged:
    offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(np.concatenate([*rows, np.empty(0, dtype=np.int32)]), offsets)
