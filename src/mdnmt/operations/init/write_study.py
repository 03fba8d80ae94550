"""Choose a model size for the amount of text and the machine, and write the files of a task and a study."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.corpus_reader import TsvReader
from mdnmt.config.loader import validate_model
from mdnmt.config.study import StudyConfig
from mdnmt.config.task import TaskConfig
from mdnmt.errors import ConfigError
from mdnmt.languages import language
from mdnmt.operations.init.find_text import FoundDomain

LEAST_PAIRS = 200  # per domain; fewer leave nothing to train on
CHARACTERS_MAX = 2000  # on each side of a pair that init keeps, as the doctor advises
METHODS = ("mixed", "domain-tag", "waldm-encoder", "dsa")  # a baseline, domain tags, Jiang et al., Zhang et al.


@dataclass(frozen=True)
class Choices:
    """What a study needs besides its text.

    Attributes:
        name: of the task and of the study.
        source: the source language.
        target: the target language.
        methods: names of methods of config/methods.
        seeds: runs of each method.
        on_gpu: whether the study will be trained on a GPU.
    """

    name: str
    source: str
    target: str
    methods: tuple[str, ...] = METHODS
    seeds: int = 1
    on_gpu: bool = False


@dataclass(frozen=True)
class Size:
    """Model and training for an amount of text; `why` is a comment in the file."""

    model: dict[str, Any]
    training: dict[str, Any]
    why: str


def size_for(pairs: int, on_gpu: bool) -> Size:
    """Return a model that suits the text and trains in minutes per method on a CPU, in hours on a GPU."""
    if not on_gpu:
        model = {"model_dim": 128, "ffn_dim": 512, "num_heads": 4, "encoder_layers": 2, "decoder_layers": 2}
        training = {"max_updates": 4000, "max_tokens": 500, "learning_rate": 0.004, "warmup_updates": 400}
        return Size(model, {**training, "validate_every": 400}, "small: for a CPU, about 10 minutes a method")
    if pairs < 300_000:
        model = {"model_dim": 256, "ffn_dim": 1024, "num_heads": 4, "encoder_layers": 3, "decoder_layers": 3}
        training = {"max_updates": 20_000, "max_tokens": 4000, "learning_rate": 0.002, "warmup_updates": 2000}
        return Size(model, {**training, "validate_every": 1000}, "for less than 300,000 pairs, on one GPU")
    model = {"model_dim": 512, "ffn_dim": 2048, "num_heads": 8, "encoder_layers": 6, "decoder_layers": 6}
    training = {"max_updates": 60_000, "max_tokens": 4000, "learning_rate": 0.0007, "warmup_updates": 4000}
    return Size(model, {**training, "validate_every": 2000}, "the size of a base Transformer, on one GPU")


def held_out(pairs: int) -> int:
    """Return the size of a validation or test set: a twentieth of the text, at least 50, at most 1,000 sentences."""
    return min(1000, max(50, pairs // 20 // 10 * 10))


def check_amount(domains: Sequence[FoundDomain]) -> None:
    """Check that every domain has text to train on.

    Raises:
        ConfigError: a domain has too little.
    """
    for one in domains:
        if one.pairs < LEAST_PAIRS:
            raise ConfigError(
                f"{one.path}: found {one.pairs} pairs, expected {LEAST_PAIRS} or more per domain; add text"
            )


def task_text(domains: Sequence[FoundDomain], choices: Choices) -> str:
    """Return the file of the task."""
    total = sum(one.pairs for one in domains)
    merges = 4000 if total < 50_000 else 8000 if total < 500_000 else 32_000
    spaceless = [one for one in map(language, (choices.source, choices.target)) if one.is_spaceless]
    lines = [
        "# yaml-language-server: $schema=../schema/task.json",
        "# Written by `mdnmt init`; change what you like (docs/your-own-data.md, docs/tasks.md).",
        f"title: {_quoted(f'{choices.name}, {choices.source} to {choices.target}')}",
        f"source_lang: {_quoted(choices.source)}",
        f"target_lang: {_quoted(choices.target)}",
        "",
        "# The order of the domains is the order of their labels. `valid` and `test` say how many sentences are drawn",
        "# at random and kept out of training; null uses all of the folder's own valid and test files.",
        "domains:",
    ]
    for one in domains:
        valid, test = ("null" if has else held_out(one.pairs) for has in (one.has_valid, one.has_test))
        lines += [
            f"  {one.name}:{'':<{max(1, 34 - len(one.name))}}# {one.pairs:,} lines",
            f"    {one.key}: {_quoted(str(one.path))}",
            *([f"    reader: {_quoted_map(one.reader)}"] if one.reader is not None else []),
            f"    valid: {valid}",
            f"    test: {test}",
        ]
    lines += ["", "cleaning:", f"  max_characters: {CHARACTERS_MAX}{'':<18}# a longer line is no sentence"]
    if spaceless:
        rate = max(one.tokens_per_word for one in spaceless)
        names = " and ".join(one.name for one in spaceless)
        lines.append(f"  unit: tokens{'':<27}# {names}: no spaces between words")
        lines += [f"  max_tokens: {round(100 * rate)}", f"  max_length_ratio: {4 * rate:g}"]
    lines += ["", "segmentation:", f"  tokenizer: reversible{'':<18}# remembers where the spaces were"]
    lines.append(f"  bpe_merge_operations: {merges:<12}# for {total:,} pairs")
    if spaceless:
        lines += [f"  bpe: side{'':<30}# no piece is common to both scripts", "", "vocabulary:", "  joint: false"]
    text = "\n".join(lines) + "\n"
    _check(text, TaskConfig, "the task")
    return text


def study_text(domains: Sequence[FoundDomain], choices: Choices) -> str:
    """Return the file of the study."""
    size = size_for(sum(one.pairs for one in domains), choices.on_gpu)
    shared = not language(choices.source).is_spaceless and not language(choices.target).is_spaceless
    lines = [
        "# yaml-language-server: $schema=../schema/study.json",
        "# Written by `mdnmt init`; change what you like (docs/studies.md).",
        f"title: {_quoted(f'Which method helps on {len(domains)} domains?')}",
        f"description: {_quoted('Multi-domain methods against a baseline trained on all text together.')}",
        "",
        f"tasks: [{choices.name}]",
        f"methods: [{', '.join(choices.methods)}]    # of config/methods",
        f"seeds: {choices.seeds}{'':<32}# with 3 or more, differences get an interval and claims get a verdict",
        "",
        "all_methods:",
        f"  architecture:{'':<26}# {size.why}",
        *(f"    {key}: {value}" for key, value in size.model.items()),
        "    norm: pre                            # trains reliably at every size",
        f"    share_embeddings: {'all' if shared else 'decoder'}",
        "    dropout: 0.1",
        "  training:",
        *(f"    {key}: {value}" for key, value in size.training.items()),
        "    average_checkpoints: 5               # the final weights are their mean",
        "",
        "comparison:",
        "  baseline: mixed",
        "",
        "# The table is Song et al.'s Table 5 on your text; rows that the paper does not have are added.",
        "tables:",
        "  song2026-table5:",
        f"    task: {choices.name}",
    ]
    if rows := [name for name in choices.methods if name not in IN_TABLE]:
        lines += ["    rows:", *(f"      - {{group: Of this study, method: {name}}}" for name in rows)]
    figures = ["figures:", f"  jiang2020-figure6: {{task: {choices.name}, methods: [{', '.join(choices.methods)}]}}"]
    if "waldm-encoder" in choices.methods:
        figures.append(f"  jiang2020-figure9: {{task: {choices.name}, methods: [waldm-encoder]}}")
    text = "\n".join([*lines, *figures]) + "\n"
    _check(text, StudyConfig, "the study")
    return text


IN_TABLE = ("mixed", "big", "waldm-edc", "ldspslv", "dsa", "damha-dmoe-domain", "damha-dmoe-mix-loss")


def _quoted(text: str) -> str:
    """Return a YAML scalar in double quotes: YAML reads the language code `no` as false, and paths hold anything."""
    import json

    return json.dumps(text, ensure_ascii=False)


def _quoted_map(reader: TsvReader) -> str:
    """Return a reader's options in one line, which YAML reads as it reads JSON."""
    import json

    return json.dumps(reader.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)


def _check(text: str, model: type[TaskConfig] | type[StudyConfig], what: str) -> None:
    import yaml

    validate_model(yaml.safe_load(text), model, what)


def write_new(files: dict[Path, str]) -> None:
    """Write new files: all of them, or none if one exists.

    Raises:
        ConfigError: one of them exists.
    """
    for path in files:
        if path.exists():
            raise ConfigError(f"{path} is there already; choose another --name, or change that file")
    written: list[Path] = []
    try:
        for path, text in files.items():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "w", encoding="utf-8") as handle:
                written.append(path)
                handle.write(text)
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise


def summary(domains: Sequence[FoundDomain], choices: Choices) -> str:
    """Return what was found and chosen, for the terminal."""
    lines = [f"{choices.source} to {choices.target}, {len(domains)} domain{'s' * (len(domains) != 1)}:"]
    lines += [f"  {one.name:<20} {one.pairs:>12,} lines   {one.path}" for one in domains]
    lines += textwrap.wrap(f"methods: {', '.join(choices.methods)}", 90)
    return "\n".join(lines)
