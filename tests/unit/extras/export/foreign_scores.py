"""What a test of an exported model compares: sentences of the toy task, and our scores of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.config.decoding import Decoding
from mdnmt.decode.translator import Translation, Translator
from mdnmt.tasks.task_data import TaskData

LONGEST = 12
SEARCH = Decoding(beam_size=3, max_length_ratio=1e-6, max_length_extra=LONGEST)


@dataclass
class Ours:
    """Our results on the first validation sentences.

    Attributes:
        translator: the run.
        domain: of all sentences, where the run needs one.
        sources: pieces of each sentence; DomainTag's with the tag.
        references: pieces of each reference.
        forced: log-probability of each reference, with its </s>.
        translations: best translation of each sentence.
    """

    translator: Translator
    domain: str | None
    ids: list[Any]
    sources: list[list[str]]
    references: list[list[str]]
    forced: list[float]
    translations: list[Translation]

    @classmethod
    def of(cls, run: Path, task: Path, tag_position: str = "first") -> Ours:
        data, translator = TaskData.load(task), Translator(run, torch.device("cpu"))
        domain = data.domains[-1] if translator.needs_domain else None
        split = data.split("valid")
        sources, targets = [split.source[i] for i in range(4)], [split.target[i] for i in range(4)]
        forced = translator.force_ids(sources, targets, SEARCH, domain)
        found = [best[0] for best in translator.translate_ids(sources, SEARCH, domain)]
        pieces = [translator.source_vocab.decode(ids) for ids in sources]
        if translator.model.domain_tag is not None:
            tag = f"<domain:{domain}>"
            pieces = [[tag, *one] if tag_position == "first" else [*one, tag] for one in pieces]
        references = [translator.target_vocab.decode(ids) for ids in targets]
        return cls(translator, domain, sources, pieces, references, [-nll for nll in forced.nll], found)

    def check(self, forced: list[float], translations: list[list[str]]) -> None:
        """Compare the other library's results with ours."""
        np.testing.assert_allclose(forced, self.forced, atol=1e-4)
        vocab = self.translator.target_vocab
        ids = [np.array([*vocab.encode(pieces), vocab.eos], dtype=np.int32) for pieces in translations]
        scores = self.translator.force_ids(self.ids, ids, SEARCH, self.domain)
        rows = zip(translations, self.translations, scores.nll, scores.pieces, strict=True)
        for pieces, best, nll, count in rows:
            # A model of a few updates often has ties, and is cut.
            is_cut = len(pieces) >= LONGEST - 1
            assert tuple(pieces) == best.pieces or is_cut or -nll / count == pytest.approx(best.score, abs=1e-4)
