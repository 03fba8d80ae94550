"""The third stage of a task's data: BPE codes and vocabularies, learned on the training text.

The codes, `vocab.<lang>.txt` and `segmentation.json` are those of the task's folder. `tables/` has the token ids of
every distinct word of any split.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.tasks.domain_text import sides_of
from mdnmt.tasks.segmentation.segmenter import Segmentation
from mdnmt.tasks.segmentation.token_encoder import learn_encoder
from mdnmt.tasks.stage_folder import Say, read_stage
from mdnmt.tasks.task_spec import TaskSpec
from mdnmt.tasks.text.normalisation import Normaliser
from mdnmt.tasks.text.pair_text import SIDES
from mdnmt.tasks.tokens_stage import read_words
from mdnmt.tasks.workers import ParallelMap


def make_codes(spec: TaskSpec, tokens: Path, part: Path, run: ParallelMap, say: Say) -> dict[str, Any]:
    """Learn codes and vocabularies, and apply them to all words.

    Args:
        spec: the task.
        tokens: the folder of its tokens.
        part: the temporary folder that is written.
        run: applies a function to jobs, in processes.
        say: called with a line that reports the numbers of merges and of pieces.

    Returns:
        Which table has the words of which domain and side, and the versions of the packages that were used.
    """
    read_stage(tokens)
    codes, vocabs, tables = learn_encoder(
        read_words(tokens, spec), spec.langs, spec.segmentation, spec.vocabulary, part / "tables", run
    )
    forms = {domain.name: Normaliser.from_config(spec.cleaning_of(domain)) for domain in spec.domains}
    tokenizers = {side.lang: side.tokenizer for side in sides_of(spec)}
    plain = {name: form for name, form in forms.items() if form != Normaliser()}
    Segmentation(spec.segmentation.bpe, tokenizers, plain).save(part)
    for name, one in codes.items():
        fsio.write_bytes(part / name, one if isinstance(one, bytes) else one.encode())
    for side, lang in zip(SIDES, spec.langs, strict=True):
        vocabs[side].save(part / f"vocab.{lang}.txt")
    merges = ", ".join(str(one.count("\n") - 1) for one in codes.values() if isinstance(one, str))
    how = "pieces of sentencepiece" if spec.segmentation.is_sentencepiece else f"{merges or 'no'} merges"
    say(f"{how}, vocabulary of {len(vocabs['target'])}")
    tools = [] if spec.segmentation.bpe == "none" else ["subword-nmt"]
    tools = ["sentencepiece"] if spec.segmentation.is_sentencepiece else tools
    named = {f"{domain} {side}": name for (domain, side), name in tables.items()}
    return {"tables": named, "tools": {tool: version(tool) for tool in tools}}
