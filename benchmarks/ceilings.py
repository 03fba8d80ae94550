"""What would a perfect system score in 40 languages, with each tokenizer?

    python benchmarks/ceilings.py

Tokenises and detokenises the sentences of sentences.tsv, which we wrote for this, and scores the result against them,
as a task's `ceiling` does. They are messages, with quotation marks, apostrophes, addresses and emoji, so these numbers
are lower than those of running text. Prints the Markdown table of CEILINGS.md.
"""

from __future__ import annotations

from operator import eq
from pathlib import Path

from mdnmt.languages import language
from mdnmt.score.ceiling import METRICS, ceiling
from mdnmt.tasks.segmentation.segmenter import round_trip

SENTENCES = Path(__file__).with_name("sentences.tsv")
BEFORE = {"zh": "jieba", "ja": "character", "th": "character"}  # what `mdnmt init` wrote before, else moses


def sentences() -> dict[str, list[str]]:
    """Return language -> sentences."""
    found: dict[str, list[str]] = {}
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        lang, _, sentence = line.partition("\t")
        found.setdefault(lang, []).append(sentence)
    return found


def table() -> str:
    """Return the table."""
    rows = [
        "| language | before | BLEU | TER | unchanged | `reversible` | unchanged |",
        "|---|---|---|---|---|---|---|",
    ]
    for lang, lines in sentences().items():
        tokenizer = BEFORE.get(lang, "moses")
        before, after = (ceiling(tuple(lines), lang, name, METRICS) for name in (tokenizer, "reversible"))
        same = [sum(map(eq, lines, round_trip(lines, lang, name))) for name in (tokenizer, "reversible")]
        rows.append(
            f"| {language(lang).name} (`{lang}`) | `{tokenizer}` | {before['bleu']:.1f} | {before['ter']:.1f} "
            f"| {same[0]} of {len(lines)} | {after['bleu']:.1f} / {after['ter']:.1f} | {same[1]} of {len(lines)} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    print(table())
