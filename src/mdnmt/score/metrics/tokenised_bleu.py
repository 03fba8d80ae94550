"""Corpus BLEU of words as the task cuts them, unsmoothed, case as it is: what multi-bleu.perl and fairseq print.

Both count n-grams of the tokenised text after BPE is removed (Papineni et al. 2002). sacreBLEU counts the same where it
is set to keep the tokens and not to smooth.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdnmt.fsio import write_lines
from mdnmt.score.metrics.score import Score, corpus_score
from mdnmt.score.test_sets import TestSets, hypothesis_path
from mdnmt.tasks.segmentation.segmenter import Segmenter

# The package that cuts words, and whose version decides how.
_PACKAGE = {"moses": "sacremoses", "jieba": "jieba"}


def metric(references: Sequence[str] | None = None) -> Any:
    """Return sacreBLEU's metric for lines that `words` made; `references` are cached."""
    from sacrebleu.metrics.bleu import BLEU

    cached = None if references is None else [list(references)]
    return BLEU(tokenize="none", smooth_method="none", force=True, references=cached)


def words(lines: Sequence[str], lang: str, tokenizer: str) -> list[str]:
    """Return each line of plain text cut into words by a task's tokenizer, with blanks between them.

    Raises:
        ConfigError: the package that cuts is not installed.
    """
    segmenter = Segmenter(None, lang, tokenizer)
    return [" ".join(segmenter.encode(line)) for line in lines]


def score(hypotheses: Sequence[str], references: Sequence[str], lang: str, tokenizer: str) -> Score:
    """Return the score of lines that `words` made; the signature is sacreBLEU's, and which words were counted.

    Raises:
        DataError: the counts differ, or there is no sentence.
    """
    found = corpus_score(metric(), hypotheses, references)
    package = _PACKAGE.get(tokenizer)
    cut_by = f"{package}-{version(package)}-{lang}" if package else f"{tokenizer}-{lang}"
    return Score(found.score, f"{found.signature}|words:{cut_by}")


def write_words(test_sets: TestSets, hypotheses_dir: Path, out: Path, domains: Sequence[str]) -> None:
    """Write the words that are counted: hyp.<domain>.txt and ref.<domain>.txt, for other programs to score."""
    for domain in domains:
        sides = {
            hypothesis_path(out, domain): test_sets.hypotheses(hypotheses_dir, domain),
            out / f"ref.{domain}.txt": test_sets.references(domain),
        }
        for path, lines in sides.items():
            write_lines(path, words(lines, test_sets.target_lang, test_sets.target_tokenizer))
