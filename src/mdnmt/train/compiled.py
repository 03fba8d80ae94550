"""Train with torch.compile: encoder and decoder are compiled as one function."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from mdnmt.config.training import Compile
from mdnmt.errors import ConfigError
from mdnmt.methods.method import Trainable
from mdnmt.models.transformer import Transformer

# Both widths of a batch are rounded up to a multiple of this: fewer shapes, and widths that suit matrix units.
WIDTH_MULTIPLE = 8


def width_multiple(method: Trainable, compile: Compile) -> int:
    """Return the multiple to which batches are padded: 1 without torch.compile, or if a loss depends on padding."""
    counts_padding = any(getattr(loss, "counts_padding", False) for loss in method.losses)
    return 1 if compile == "off" or counts_padding else WIDTH_MULTIPLE


def compile_model(method: Trainable, compile: Compile) -> None:
    """Compile the function that computes the decoder states of training batches, unless `compile` is off.

    Losses are not compiled: they work on the target tokens without padding, whose number differs from batch to batch.
    Validation and translation are not compiled either. Sizes are symbolic, so that one compilation serves all batches;
    with "reduce-overhead", a GPU records one CUDA graph for each shape.

    Raises:
        ConfigError: the model is pretrained.
    """
    if compile == "off":
        return
    if not isinstance(method.model, Transformer):
        raise ConfigError(f"found training.compile: {compile} for a pretrained model, expected off")
    mode = None if compile == "default" else compile
    method.model.compiled_states = torch.compile(method.model.states, mode=mode, dynamic=True)


@contextmanager
def compiler_errors(compile: Compile) -> Iterator[None]:
    """Report a failure of torch's compiler in one line; it runs during the first forward and backward pass.

    Raises:
        ConfigError: the compiler failed.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
            raise
        why = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"training.compile: {compile}: torch's compiler failed ({why}); it needs a C++ compiler on a CPU and "
            "Triton on a GPU: install it, or set training.compile: off"
        ) from error
