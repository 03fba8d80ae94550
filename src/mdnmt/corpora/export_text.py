"""Export the text of a fetched corpus as plain files, one segment per line, as a user's own text would be."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from mdnmt.corpora.corpus_spec import CorpusSpec
from mdnmt.corpora.read import read_corpus
from mdnmt.fsio import atomic_open


def save_text(
    spec: CorpusSpec, folder: Path, languages: tuple[str, str], out: Path, max_lines: int | None = None
) -> int:
    """Write the training text of a corpus to `out/train.<lang>` and return how many lines each file has.

    White space within a segment becomes single spaces; nothing else is changed or left out.

    Args:
        spec: the corpus.
        folder: where it was fetched to.
        languages: source and target language.
        out: the folder for the files.
        max_lines: only this many lines from the beginning.

    Raises:
        DataError: it was not fetched, has no text in these languages, or is malformed.
    """
    count = 0
    out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as files:
        text = files.enter_context(read_corpus(spec, folder, *languages))
        # Both or none: when the second file fails, the first is left as it was.
        sides = [files.enter_context(atomic_open(out / f"train.{lang}")) for lang in languages]
        for pair in islice(text["train"], max_lines):
            count += 1
            for side, segment in zip(sides, pair, strict=True):
                side.write(" ".join(segment.split()) + "\n")
    return count
