"""The documentation page with the resolved recipe of every row of a study beside what the papers print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mdnmt.config.paper import Recipe
from mdnmt.config.run import RunSpec
from mdnmt.methods import pretrained
from mdnmt.studies.study import Study

# Column of the page -> the options that it shows, of the architecture and of the training.
COLUMNS: dict[str, tuple[str, ...]] = {
    "d": ("model_dim",),
    "ffn": ("ffn_dim",),
    "heads": ("num_heads",),
    "layers": ("encoder_layers", "decoder_layers"),
    "size": ("size",),
    "norm": ("norm",),
    "dropout": ("dropout",),
    "of attention, ReLU": ("attention_dropout", "activation_dropout"),
    "smoothing": ("label_smoothing",),
    "batch": ("batch",),
    "budget": ("budget",),
    "peak rate": ("learning_rate",),
    "warm-up": ("warmup_updates",),
    "Adam": ("adam_betas",),
    "decay": ("weight_decay",),
    "clip": ("clip_norm",),
    "scored": ("weights",),
}
HEAD = """# The recipe of every row

*Written by `mdnmt recipes`; a test compares it with the configuration. Do not edit it by hand.*

What each row of the study `{study}` is built and trained with, beside what the papers print. A row "printed in ..." has
only what that paper's own text says; a dash means that the paper does not say, and the choice is ours or that of
its toolkit ([deviations.yaml](../config/deviations.yaml) says which). Rows with the same recipe are one line.
`enlarged` is sqrt(k) times wider for k domains, `big` twice as wide with twice the heads. An epoch is one pass over the
run's own training text. Pretrained weights have a recipe of their own, [pretrained.md](methods/pretrained.md).
"""


def recipes_page(study: Study) -> str:
    """Return the page as Markdown."""
    parts = [HEAD.format(study=study.name)]
    for task in study.tasks.values():
        parts.append(f"## {task.name}\n")
        paper = study.papers[str(task.config.of)]
        used = {compared.recipe_of for name, compared in paper.compared.items() if study.runs_of(task.name, name)}
        lines = [["rows", *COLUMNS]]
        for name in [str(task.config.of), *sorted(one for one in used if one)]:
            said = study.papers[name].printed(task.config.pair)
            lines.append([f"*printed in {study.papers[name].citation}*", *_printed(said)])
        lines += [[", ".join(methods), *cells] for cells, methods in _groups(study, task.name).items()]
        parts.append(_markdown(lines))
        search = study.decoding[task.name]
        parts.append(
            f"Beam {search.beam_size}, length penalty {search.length_penalty:g} ({search.length_penalty_form})."
            f" Printed: beam {paper.printed(task.config.pair).decoding.get('beam_size', '–')}.\n"
        )
    return "\n".join(parts)


def _groups(study: Study, task: str) -> dict[tuple[str, ...], list[str]]:
    """Return the cells of each recipe -> the methods of a task that use it, in the order of the study."""
    found: dict[tuple[str, ...], list[str]] = {}
    for run in study.runs_of(task):
        if pretrained(run.planned.builder) is not None:
            continue
        names = found.setdefault(tuple(_cells(values_of(run.planned))), [])
        if f"`{run.method}`" not in names:
            names.append(f"`{run.method}`")
    return found


def values_of(spec: RunSpec) -> dict[str, Any]:
    """Return the options of a run by name, with batch, budget and scored weights in words."""
    return {**spec.architecture, **spec.training.model_dump(), **_in_words(spec.training.model_dump())}


def _in_words(training: Mapping[str, Any]) -> dict[str, str]:
    """Return batch, budget and scored weights in words, if they are given."""
    found = {}
    if training.get("batch_sentences"):
        found["batch"] = f"{training['batch_sentences']} sentences"
    elif "max_tokens" in training:
        found["batch"] = f"{training['max_tokens']} tokens"
    if training.get("max_epochs"):
        found["budget"] = f"{training['max_epochs']:g} epochs"
    elif "max_updates" in training:
        found["budget"] = f"{training['max_updates']} updates"
    if training.get("patience"):
        found["budget"] += f", patience {training['patience']}"
    if (number := training.get("average_checkpoints")) is not None:
        best = training.get("final_weights") == "best" or not number
        found["weights"] = "best" if best else f"mean of the last {number}"
    return found


def _printed(recipe: Recipe) -> list[str]:
    return _cells({**recipe.architecture, **recipe.training, **_in_words(recipe.training)})


def _cells(values: Mapping[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        if isinstance(value, list | tuple):
            return "/".join(map(text, value))
        return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    return ["/".join(text(values.get(name)) for name in names).replace("–/–", "–") for names in COLUMNS.values()]


def _markdown(lines: list[list[str]]) -> str:
    head, *rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|" + "---|" * len(lines[0]), *rows]) + "\n"
