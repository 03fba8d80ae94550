"""The tokenizer of a pretrained model: plain text to ids and back, for one source and one target language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.pretrained.language_codes import code_of
from mdnmt.languages import language


def load_tokenizer(folder: Path) -> Any:
    """Return the tokenizer in a folder.

    Raises:
        DataError: its files are missing or damaged.
    """
    from transformers import AutoTokenizer

    try:
        # The slow ones: Marian and M2M100 have no other, and they read every line as the published models did.
        found = AutoTokenizer.from_pretrained(folder, use_fast=False, local_files_only=True)  # type: ignore[no-untyped-call]
        if not found:  # what transformers returns for some damaged files
            raise ValueError("a file is damaged")
        return found
    except (OSError, RuntimeError, ValueError, TypeError, AssertionError, AttributeError, ImportError) as error:
        raise DataError(f"{folder}: its tokenizer cannot be loaded ({' '.join(str(error).split())[:200]})") from None


def language_tokens(tokenizer: Any) -> dict[str, str]:
    """Return language code -> its token; a Marian model has those of its target languages, or none."""
    if hasattr(tokenizer, "supported_language_codes"):
        return {token.strip("<>"): token for token in tokenizer.supported_language_codes}
    if found := getattr(tokenizer, "lang_code_to_token", None):
        return dict(found)
    return {token: token for token in tokenizer.additional_special_tokens}


class PretrainedTokenizer:
    """A model's own tokenizer.

    Attributes:
        start: id with which the decoder starts.
        given: tokens that the decoder is given after that: the code of the target language, if the model has one.
    """

    def __init__(
        self, folder: Path, source_lang: str, target_lang: str, codes: Mapping[str, str], weights: str
    ) -> None:
        """Load a tokenizer from the folder of its model.

        Args:
            folder: the folder.
            source_lang: language of the task.
            target_lang: language of the task.
            codes: codes of languages that the configuration chooses.
            weights: the model's name, for errors.

        Raises:
            ConfigError: the model does not know a language.
            DataError: a file is missing or damaged.
        """
        from transformers import AutoConfig

        self._tokenizer = tokenizer = load_tokenizer(folder)
        tokens = language_tokens(tokenizer)
        target = code_of(target_lang, list(tokens), codes, weights)
        self._prefix, self.given = "", 1
        if tokenizer.__class__.__name__ == "MarianTokenizer":
            # Its source text begins with the code, if there are several target languages.
            self._prefix, self.given = f"{tokens[target]} " if target else "", 0
            _check_pair(tokenizer, source_lang, "" if target else target_lang, weights)
        else:
            tokenizer.src_lang = code_of(source_lang, list(tokens), codes, weights)
            tokenizer.tgt_lang = target
        self.target_code_id = int(tokenizer.convert_tokens_to_ids(tokens[target])) if self.given else None
        self.pad, self.eos, self._unknown = tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id
        model = AutoConfig.from_pretrained(folder, local_files_only=True)
        self.start = int(self.eos if model.decoder_start_token_id is None else model.decoder_start_token_id)
        self._size = int(model.vocab_size)  # released models have more output rows than pieces
        self._special = [*tokenizer.all_special_ids, *tokenizer.convert_tokens_to_ids(list(tokens.values()))]
        self._source_codes = max(self.given, bool(self._prefix))

    def __len__(self) -> int:
        return self._size

    def encode(self, lines: Sequence[str], *, target: bool = False) -> list[NDArray[np.int32]]:
        """Return the ids of lines of either side, with language code and </s>; special tokens in a line are text."""
        if not lines:
            return []
        if target:
            found = self._tokenizer(text_target=list(lines), split_special_tokens=True)["input_ids"]
        else:
            prefixed = [f"{self._prefix}{line}" for line in lines]
            found = self._tokenizer(prefixed, split_special_tokens=True)["input_ids"]
        sides = [np.array(ids, dtype=np.int32) for ids in found]
        for ids in sides:
            inside = ids[self.given if target else self._source_codes : -1]
            # An unknown piece can look like `</s>`.
            inside[np.isin(inside, self._special)] = self._unknown
        return sides

    def pieces(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Return the pieces for some ids."""
        return tuple(self._tokenizer.convert_ids_to_tokens(list(ids)))

    def text(self, ids: Sequence[int]) -> str:
        """Return the plain text for some ids, without special tokens."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def is_empty(self, source: NDArray[np.int32]) -> bool:
        """Say whether a source has nothing but a code and </s>."""
        return len(source) <= self._source_codes + 1


def _check_pair(tokenizer: Any, source_lang: str, target_lang: str, weights: str) -> None:
    """Check the languages that a Marian model names for its sides; names of groups of languages say nothing.

    Raises:
        ConfigError: it translates another pair.
    """
    sides: Iterable[tuple[str, Any]] = ((source_lang, tokenizer.source_lang), (target_lang, tokenizer.target_lang))
    for lang, named in sides:
        of = language(str(named or ""))
        if lang and of.is_known and of.name != language(lang).name:
            raise ConfigError(
                f"{weights} translates {tokenizer.source_lang} to {tokenizer.target_lang}, but the task has {lang!r}; "
                "choose weights of the task's languages"
            )
