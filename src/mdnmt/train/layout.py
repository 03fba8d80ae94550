"""Choose the layout of a run's batches, padded or packed, and make them."""

from __future__ import annotations

from typing import Literal

import torch

from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods.method import Trainable
from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Split
from mdnmt.train.batches import collate
from mdnmt.train.compiled import width_multiple
from mdnmt.train.device import has_native_bf16
from mdnmt.train.packed_batches import collate_packed, packed_shape
from mdnmt.train.sharding import Shard

Layout = Literal["padded", "packed"]


def why_padded(method: Trainable, recipe: Training, device: torch.device | None = None) -> str | None:
    """Return why the batches of a method must be padded, at least on this device; None if they may be packed."""
    if not method.packs:
        return "a block of the method takes the shape of a padded batch for its sentences"
    for loss in method.losses:
        if not getattr(loss, "packs", False):
            return f"the loss {loss.name!r} takes the shape of a padded batch for its sentences"
    if recipe.compile != "off":
        return f"training.compile is {recipe.compile}"
    if device is not None and device.type == "cuda" and recipe.precision == "bf16" and not has_native_bf16(device):
        return "the attention kernel needs a GPU that multiplies bf16"
    return None


def choose_layout(method: Trainable, recipe: Training, device: torch.device) -> Layout:
    """Return the layout of a run that begins on a device; `auto`: packed on a GPU, if the method allows it.

    Raises:
        ConfigError: the recipe asks for packed batches, which the method does not allow.
    """
    reason = why_padded(method, recipe, device)
    if recipe.layout == "packed" and reason is not None:
        raise ConfigError(f"found training.layout: packed, but {reason}: expected auto or padded")
    if recipe.layout == "auto":
        return "packed" if device.type == "cuda" and reason is None else "padded"
    return recipe.layout


def make_batch(
    split: Split, part: Shard, recipe: Training, method: Trainable, layout: Layout, bos: int, workers: int = 1
) -> Batch:
    """Return the batch of a worker's part of some sentences.

    Args:
        split: the text.
        part: the worker's sentences, and those of the whole batch.
        recipe: of the run.
        method: of the run.
        layout: padded or packed.
        bos: the id of <s>.
        workers: number of workers that may share a batch.
    """
    if layout == "padded":
        multiple = width_multiple(method, recipe.compile)
        return collate(split, part.rows, bos=bos, like=part.batch_rows, width_multiple=multiple)
    parts = workers if len(part.rows) < len(part.batch_rows) else 1
    return collate_packed(split, part.rows, packed_shape(split, part.batch_rows, recipe, parts), bos=bos)
