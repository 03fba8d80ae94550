"""Choose a model size for the amount of text and the machine, and write the files of a task and a study."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.loader import validate_model
from mdnmt.config.method import MethodConfig
from mdnmt.config.study import StudyConfig
from mdnmt.config.task import TaskConfig
from mdnmt.errors import ConfigError
from mdnmt.languages import language
from mdnmt.operations.init.find_text import FoundDomain
from mdnmt.operations.new_workspace import without_schema_line

LEAST_PAIRS = 200  # per domain; fewer leave nothing to train on
CHARACTERS_MAX = 2000  # on each side of a pair that init keeps, as the doctor advises
# Each domain alone, the baseline, domain tags, Mixed fine-tuned on each domain, domain mixing.
METHODS = ("single", "mixed", "domain-tag", "finetuned", "waldm-edc")
MANY_TESTS = 2000  # sentences of a test set; more are translated only if the user says so


@dataclass(frozen=True)
class Choices:
    """What a study needs besides its text.

    Attributes:
        name: of the task and of the study.
        source: the source language.
        target: the target language.
        methods: name of a method of config/methods -> what it is.
        seeds: runs of each method.
        on_gpu: whether the study will be trained on a GPU.
        max_sentences: of each domain's test text that are translated; None: all.
        has_comet: whether COMET's weights are here.
    """

    name: str
    source: str
    target: str
    methods: Mapping[str, MethodConfig]
    seeds: int = 1
    on_gpu: bool = False
    max_sentences: int | None = None
    has_comet: bool = False


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
        reader = one.reader.model_dump(mode="json", exclude_defaults=True) if one.reader is not None else None
        valid, test = ("null" if own else held_out(one.pairs) for own in (one.has_valid, one.test_pairs))
        lines += [
            f"  {one.name}:{'':<{max(1, 34 - len(one.name))}}# {one.pairs:,} lines",
            *([f"    # {one.remark}"] if one.remark else []),
            f"    {one.key}: {_quoted(str(one.path))}",
            *([f"    reader: {_quoted(reader)}"] if reader is not None else []),
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
        f"seeds: {choices.seeds}{'':<32}# with 3 or more, differences between systems get an interval",
        "",
        "options:",
        "  - set:",
        f"      architecture:{'':<22}# {size.why}",
        *(f"        {key}: {value}" for key, value in size.model.items()),
        "        norm: pre                        # trains reliably at every size",
        f"        share_embeddings: {'all' if shared else 'decoder'}",
        "        dropout: 0.1",
        "      training:",
        *(f"        {key}: {value}" for key, value in size.training.items()),
        "        average_checkpoints: 5           # the final weights are their mean",
        *_further(choices, size),
        "",
        *(
            ["decoding:", f"  max_sentences: {choices.max_sentences:<23}# of each domain's test text", ""]
            if choices.max_sentences
            else []
        ),
        "comparison:",
        "  baseline: mixed",
        "",
        *_tables(choices),
    ]
    text = "\n".join(lines) + "\n"
    _check(text, StudyConfig, "the study")
    return text


def _further(choices: Choices, size: Size) -> list[str]:
    """Return the entry with the recipe of methods that start from the trained model of another one."""
    started = [name for name, method in choices.methods.items() if method.initialise_from is not None]
    if not started:
        return []
    now = size.training
    options = {
        "max_updates": now["max_updates"] // 5,
        "validate_every": now["validate_every"] // 5,
        "patience": 4,
        "learning_rate": now["learning_rate"] / 4,
        "warmup_updates": now["warmup_updates"] // 10,
    }
    text = ", ".join(f"{key}: {value}" for key, value in options.items())
    return [
        f"  - match: {{method: [{', '.join(started)}]}}",
        "    set:                                 # fewer updates and a smaller rate for what is trained already",
        f"      training: {{{text}, average_checkpoints: 0}}",
    ]


def _tables(choices: Choices) -> list[str]:
    """Return tables and figures of the study; they are no paper's, so there are no claims to decide."""
    task, others = choices.name, [name for name in choices.methods if name != "mixed"]
    rows = ["    rows:", *(f"      - {{group: Systems, method: {name}}}" for name in others)] if others else []
    metrics = ["bleu", "chrf", *(["comet"] if choices.has_comet else [])]
    lines = ["tables:", "  mdnmt-systems:", f"    task: {task}", f"    metrics: [{', '.join(metrics)}]", *rows]
    if any(method.train_on == "each" for method in choices.methods.values()):
        lines += ["  mdnmt-forgetting:                      # each domain by its own model", f"    task: {task}", *rows]
    figures = ["figures:", f"  mdnmt-curves: {{task: {task}, methods: [{', '.join(choices.methods)}]}}"]
    if mixing := [name for name, method in choices.methods.items() if method.builder == "waldm"]:
        figures.append(f"  mdnmt-proportions: {{task: {task}, methods: [{mixing[0]}]}}")
    return [*lines, *figures]


def _quoted(value: Any) -> str:
    """Return a value as JSON, which is YAML: it reads the language code `no` as false, and paths hold anything."""
    return json.dumps(value, ensure_ascii=False)


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
            path.parent.mkdir(parents=True, exist_ok=True)
            if not (path.parents[1] / "schema").is_dir():
                text = without_schema_line(text)
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
    for one in domains:
        lines.append(f"  {one.name:<20} {one.pairs:>12,} lines   {one.path}")
        lines += [f"  {'':<20} {one.remark}"] if one.remark else []
    lines += textwrap.wrap(f"methods: {', '.join(choices.methods)}", 90)
    return "\n".join(lines)
