"""Score and compare plain text files of translations, one sentence per line, as sacreBLEU's command line does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.metrics import Metric
from mdnmt.errors import DataError
from mdnmt.fsio import read_lines
from mdnmt.score.human_agreement import agreement, why_not_covered
from mdnmt.score.metrics import string_based
from mdnmt.score.metrics.score import Score
from mdnmt.score.significance.paired_tests import PairedResult, compare_pair
from mdnmt.score.significance.sentence_statistics import text_counter

DEFAULT_METRICS: tuple[Metric, ...] = ("bleu", "chrf")
DEFAULT_LANGUAGE = "en"  # selects tokenisation 13a


@dataclass(frozen=True)
class FileComparison:
    """The comparison of two files of translations in one metric.

    Attributes:
        metric: its name.
        result: scores, difference, interval and p-values.
        signature: of the scores.
        agreement: percentage of system pairs with this difference that people rank in the same order; None: unknown.
        no_agreement: why it is unknown; None if it is known.
    """

    metric: Metric
    result: PairedResult
    signature: str
    agreement: float | None
    no_agreement: str | None


def read_sentences(path: Path) -> list[str]:
    """Return the lines of a text file.

    Raises:
        DataError: it cannot be read, is not UTF-8, or is empty.
    """
    try:
        lines = read_lines(path)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}: line {line} is not UTF-8; save the file as UTF-8, one sentence per line") from None
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
        raise DataError(f"{path}: {reason}; expected a text file with one sentence per line") from None
    if not lines:
        raise DataError(f"{path}: is empty; expected one sentence per line")
    return lines


def read_aligned(reference: Path, others: Sequence[Path]) -> list[list[str]]:
    """Return the lines of the reference, then those of the other files.

    Raises:
        DataError: a file cannot be read, or the files differ in their number of lines.
    """
    found = [read_sentences(path) for path in (reference, *others)]
    for path, lines in zip(others, found[1:], strict=True):
        if len(lines) != len(found[0]):
            raise DataError(
                f"{path}: {len(lines)} lines, but {reference} has {len(found[0])}; expected files that are aligned "
                "line by line"
            )
    return found


def score_files(
    reference: Path,
    hypotheses: Path,
    source: Path,
    metrics: Sequence[Metric] = DEFAULT_METRICS,
    target_lang: str | None = None,
) -> dict[Metric, Score]:
    """Return the scores of a file of translations; of the source, only the number of lines is checked.

    Raises:
        DataError: see `read_aligned` and `bleu.tokenization`.
    """
    references, lines, _ = read_aligned(reference, (hypotheses, source))
    return {name: string_based.score(name, lines, references, target_lang or DEFAULT_LANGUAGE) for name in metrics}


def compare_files(
    reference: Path,
    baseline: Path,
    system: Path,
    metrics: Sequence[Metric] = DEFAULT_METRICS,
    target_lang: str | None = None,
) -> list[FileComparison]:
    """Compare two files of translations in each metric, by paired bootstrap and approximate randomisation.

    Raises:
        DataError: see `read_aligned` and `bleu.tokenization`.
    """
    references, one, other = read_aligned(reference, (baseline, system))
    lang, found = target_lang or DEFAULT_LANGUAGE, list[FileComparison]()
    for metric in metrics:
        count = text_counter(metric, references, lang)
        result = compare_pair(count(one), count(other))
        signature = string_based.score(metric, other, references, lang).signature
        share = agreement(metric, signature, result.delta)
        found.append(FileComparison(metric, result, signature, share, why_not_covered(metric, signature)))
    return found
