"""mBART-50, trained by others and loaded through Hugging Face transformers: zero-shot, or fine-tuned like any run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt.extras.mbart50.config import Mbart50Config
from mdnmt.paths import PRETRAINED

if TYPE_CHECKING:
    import torch

    from mdnmt.config.decoding import Weights
    from mdnmt.config.run import RunSpec
    from mdnmt.extras.mbart50.translator import MbartTranslator
    from mdnmt.train.run import Setup

config_type = Mbart50Config
# Width, width inside the feed-forward block, layers of each side, vocabulary (Tang et al. 2021).
_SIZES = (1024, 4096, 12, 250_054)


def plan(config: Mbart50Config, *, source_lang: str, target_lang: str) -> tuple[Mbart50Config, str | None]:
    """Return the options with the checksum of the weights, and why a run is not possible (None: it is)."""
    from mdnmt.extras.mbart50.weight_files import plan

    return plan(config, PRETRAINED, source_lang=source_lang, target_lang=target_lang)


def is_trained(architecture: Mapping[str, Any]) -> bool:
    """Say whether a run trains the weights."""
    return architecture.get("use") != "zero-shot"


def work(architecture: Mapping[str, Any]) -> tuple[int, int, int]:
    """Return the number of parameters, and the multiplications for one source and for one target token."""
    width, inner, layers, words = _SIZES
    encoder = layers * (4 * width * width + 2 * width * inner)
    decoder = layers * (8 * width * width + 2 * width * inner)
    memory = layers * 2 * width * width
    return encoder + decoder + words * width, encoder + memory, decoder - memory + words * width


def setup_of(spec: RunSpec, root: Path) -> Setup | None:
    """Return what the trainer needs for a run; None if nothing is trained."""
    from mdnmt.extras.mbart50.run import setup_of

    return setup_of(spec, root)


def make_run(spec: RunSpec, task_folder: Path, run_folder: Path, *, root: Path, **options: Any) -> None:
    """Make a run and write the same files as any run; options are those of `train_run`."""
    from mdnmt.extras.mbart50.run import make_run

    make_run(spec, task_folder, run_folder, root=root, **options)


def open_run(run_folder: Path, device: torch.device, root: Path, weights: Weights) -> MbartTranslator:
    """Return the translator of a finished run."""
    from mdnmt.extras.mbart50.translator import MbartTranslator

    return MbartTranslator(run_folder, device, root, weights)
