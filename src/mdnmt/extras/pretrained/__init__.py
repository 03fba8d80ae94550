"""Pretrained sequence-to-sequence models of Hugging Face transformers: zero-shot, fine-tuned, or with LoRA."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.paths import PRETRAINED

if TYPE_CHECKING:
    import torch

    from mdnmt.config.decoding import Weights
    from mdnmt.config.run import RunSpec
    from mdnmt.extras.pretrained.translator import PretrainedTranslator
    from mdnmt.train.run import Setup

config_type = PretrainedConfig


def plan(config: PretrainedConfig, *, source_lang: str, target_lang: str) -> tuple[PretrainedConfig, str | None]:
    """Return the options with the identity of the weights, and why a run is not possible (None: it is)."""
    from mdnmt.extras.pretrained.weights import plan

    return plan(config, PRETRAINED, source_lang=source_lang, target_lang=target_lang)


def is_trained(architecture: Mapping[str, Any]) -> bool:
    """Say whether a run trains weights."""
    return architecture.get("use") != "zero-shot"


def work(architecture: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the number of parameters, and the multiplications for one source and for one target token."""
    from mdnmt.extras.pretrained.weights import sizes

    width, inner, encoder_layers, decoder_layers, words = sizes(architecture, PRETRAINED)
    encoder = encoder_layers * (4 * width * width + 2 * width * inner)
    decoder = decoder_layers * (8 * width * width + 2 * width * inner)
    memory = decoder_layers * 2 * width * width
    return encoder + decoder + words * width, encoder + memory, decoder - memory + words * width


def setup_of(spec: RunSpec, root: Path) -> Setup | None:
    """Return what the trainer needs for a run; None if nothing is trained."""
    from mdnmt.extras.pretrained.run import setup_of

    return setup_of(spec, root)


def make_run(spec: RunSpec, task_folder: Path, run_folder: Path, *, root: Path, **options: Any) -> None:
    """Make a run and write the same files as any run; options are those of `train_run`."""
    from mdnmt.extras.pretrained.run import make_run

    make_run(spec, task_folder, run_folder, root=root, **options)


def open_run(run_folder: Path, device: torch.device, root: Path, weights: Weights) -> PretrainedTranslator:
    """Return the translator of a finished run."""
    from mdnmt.extras.pretrained.translator import PretrainedTranslator

    return PretrainedTranslator(run_folder, device, root, weights)
