"""Estimate the memory and disk space of a run before it starts, and refuse a run that cannot fit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt.config.architectures.architecture import Architecture, with_size
from mdnmt.config.training import Training
from mdnmt.machine import Memory, TooLarge, host_memory, in_gb, require_space

if TYPE_CHECKING:
    import torch

FLOAT = 4  # bytes
# Values per parameter: its weight, gradient and Adam's two moments.
STATES = 4
# Host memory while a checkpoint is saved: copies of weights and moments, and the bytes of the files. Measured; see
# docs/planning.md.
SAVING_BYTES = 27  # per parameter
# The Python process with torch imported, before a model exists.
PROGRAM_BYTES = 300_000_000
# Values that a layer keeps for the backward pass, per token: in units of the model's width (the decoder has a second
# attention) and of the feed-forward width. For the output layer: the number of copies of the logits. Counted from the
# blocks in mdnmt.models, with attention over 30 tokens; docs/planning.md compares the estimate with measured peaks.
ENCODER_WIDTHS, DECODER_WIDTHS, INNER_WIDTHS, LOGITS = 12, 20, 3, 4


@dataclass(frozen=True)
class Footprint:
    """Bytes of memory that training needs.

    Attributes:
        states: weights, gradients and Adam's moments; exact.
        activations: kept for the backward pass; an estimate.
        saving: copies while a checkpoint is saved; an estimate.
    """

    states: int
    activations: int
    saving: int

    @property
    def total(self) -> int:
        """Return the estimate for the whole process."""
        return PROGRAM_BYTES + self.states + max(self.activations, self.saving)

    def require(self, memory: Memory, what: str) -> None:
        """Refuse a run whose states alone do not fit; the other estimates are too uncertain to refuse a run.

        Raises:
            TooLarge: the states do not fit; the message has the estimate and the limit.
        """
        if self.states > memory.size_bytes:
            raise TooLarge(
                f"{what}: training needs about {in_gb(self.total)} of memory ({in_gb(self.states)} for weights, "
                f"gradients and Adam's moments alone), {memory.owner} has {in_gb(memory.size_bytes)}; nothing was "
                "started: make the model smaller (model_dim, ffn_dim, layers, vocabulary), or use a larger machine"
            )


def footprint(
    parameters: int, architecture: dict[str, Any], target_vocab: int, training: Training, num_domains: int
) -> Footprint:
    """Estimate the memory that training needs.

    Args:
        parameters: number of the model's parameters.
        architecture: its options, defaults included.
        target_vocab: size of the target vocabulary.
        training: the recipe; only its batch size matters.
        num_domains: of the task; the widths of `size: enlarged` depend on it.
    """
    tokens = training.max_tokens
    if training.batch_sentences is not None:
        # Pairs are sorted by length, so the longest ones share a batch, and that batch decides the peak.
        tokens = training.batch_sentences * training.max_length
    if "model_dim" in architecture:
        plain = {key: value for key, value in architecture.items() if key in Architecture.model_fields}
        architecture = with_size(Architecture.model_validate(plain), num_domains).model_dump()
    width, inner = architecture.get("model_dim", 0), architecture.get("ffn_dim", 0)
    encoder_values = architecture.get("encoder_layers", 0) * (ENCODER_WIDTHS * width + INNER_WIDTHS * inner)
    decoder_values = architecture.get("decoder_layers", 0) * (DECODER_WIDTHS * width + INNER_WIDTHS * inner)
    activations = FLOAT * tokens * (encoder_values + decoder_values + LOGITS * target_vocab)
    return Footprint(STATES * FLOAT * parameters, activations, SAVING_BYTES * parameters)


def device_memory(device: torch.device) -> Memory:
    """Return the memory of the device that trains."""
    if device.type == "cuda":
        import torch  # planning, which imports this file, needs no PyTorch

        found = torch.cuda.get_device_properties(device)
        return Memory(found.total_memory, f"the GPU ({found.name})")
    return host_memory()


def least_checkpoint_bytes(parameters: int, training: Training) -> int:
    """Return a lower bound on the bytes of a run's checkpoints while it trains.

    It counts two complete checkpoints (weights and Adam's moments), and the weights of others that will be averaged.
    The number of the latter is unknown, and taken as zero, if patience may end the run or if the budget or the
    validations are counted in epochs.
    """
    averaged = 0
    if not training.patience and training.validate_every_epochs is None and training.max_epochs is None:
        averaged = min(training.average_checkpoints, training.max_updates // training.validate_every)
    return FLOAT * parameters * (3 * 2 + max(0, averaged - 2))


def require_disk(folder: Path, parameters: int, training: Training) -> None:
    """Refuse a run whose checkpoints do not fit on the disk; checkpoints that it wrote before count as free space.

    Raises:
        TooLarge: they do not fit; the message has the required and the free space.
    """
    there = sum(path.stat().st_size for path in folder.rglob("*.safetensors")) if folder.is_dir() else 0
    require_space(folder, least_checkpoint_bytes(parameters, training) - there, "its checkpoints")
