"""What a perfect system would score: references against themselves, after the task's tokenizer and back.

A system's translations are joined from tokens. If the tokenizer does not remember where the spaces were, even the
reference itself comes back changed, and its score is the highest that a system can be expected to reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from mdnmt.config.task import TaskConfig
from mdnmt.errors import DataError
from mdnmt.score.metrics import string_based
from mdnmt.tasks.doctor.checks import Report
from mdnmt.tasks.doctor.findings import Findings
from mdnmt.tasks.doctor.user_text import SplitText
from mdnmt.tasks.segmentation.segmenter import round_trip
from mdnmt.tasks.text.normalisation import Normaliser

METRICS = ("bleu", "chrf", "ter")
GOOD = 99.5  # BLEU below this is worth a warning
_PERFECT = {"bleu": 100.0, "chrf": 100.0, "ter": 0.0}
_SAMPLE = 1000  # lines of each side of a domain that the doctor looks at


@lru_cache(maxsize=64)  # domains of a few tasks
def ceiling(references: tuple[str, ...], lang: str, tokenizer: str, metrics: tuple[str, ...]) -> Mapping[str, float]:
    """Return metric -> the score of the round trip, for those of `metrics` that compare plain text.

    Raises:
        ConfigError: the tokenizer's package is not installed.
        DataError: the language does not fit the text, or there is none.
    """
    back, wanted = round_trip(references, lang, tokenizer), [name for name in metrics if name in _PERFECT]
    if tuple(back) == references:
        return {name: _PERFECT[name] for name in wanted}
    return {name: string_based.score(name, back, references, lang).score for name in wanted}


def check_ceilings(task: TaskConfig, texts: Mapping[str, Mapping[str, Sequence[SplitText]]]) -> Iterator[Report]:
    """Yield the doctor's report on the ceilings of both languages of each domain; a sample of the text is read.

    Args:
        task: its configuration.
        texts: domain -> split -> the texts of its corpora.
    """
    found, heads = Findings(), []
    for name, domain in task.domains.items():
        form = Normaliser.from_config(domain.cleaning or task.cleaning)
        for side, lang in enumerate((task.source_lang, task.target_lang)):
            tokenizer = task.segmentation.tokenizer_of(lang)
            sample = _sample(texts[name], side, lang, form)
            if not sample or tokenizer == "stanford":  # a Java program, which starts slowly
                continue
            lines = tuple(line for line, _ in sample)
            try:
                scores = ceiling(lines, lang, tokenizer, METRICS)
            except DataError as error:
                found.add("error", f"{name}: {error}", "write the language of the text in the task")
                continue
            heads.append(f"{name} {lang} {'/'.join(f'{scores[metric]:.1f}' for metric in METRICS)}")
            if scores["bleu"] < GOOD:
                back = round_trip(lines, lang, tokenizer)
                place = next(where for (line, where), other in zip(sample, back, strict=True) if line != other)
                what = (
                    f"{name}: the tokenizer {tokenizer} loses where spaces were in {lang}: a perfect system would have "
                )
                remedy = "the paper did so; compare with other systems by bleu_tok"
                if task.of is None:
                    remedy = "write `tokenizer: reversible` in `segmentation` (docs/tasks.md)"
                level = "warning" if task.of is None and side else "note"  # only translations are joined from tokens
                found.add(level, f"{what}BLEU {scores['bleu']:.1f}, not 100", remedy, f"first at {place}")
    if heads:
        yield Report(f"ceilings (BLEU/chrF/TER of a perfect system): {', '.join(heads)}", list(found))


def _sample(texts: Mapping[str, Sequence[SplitText]], side: int, lang: str, form: Normaliser) -> list[tuple[str, str]]:
    """Return the first lines of one side with their places, of test text if the corpora have any."""
    found = list[tuple[str, str]]()
    for text in texts.get("test") or texts["train"]:
        try:
            for line in islice(text.lines(Findings()), _SAMPLE - len(found)):
                if plain := form.apply((line.source, line.target)[side], lang):
                    found.append((plain, line.place))
        except DataError:  # reported by the doctor's other checks
            continue
    return found
