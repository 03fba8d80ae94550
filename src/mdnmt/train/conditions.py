"""Record code, precision, kernels, compile mode and layout of a run in its checkpoints; refuse to resume under others.

Also record each attempt at a run: its commit, code, device, precision and package versions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch

from mdnmt import provenance
from mdnmt.checkpoints.store import Checkpoint
from mdnmt.config.training import Compile, Training
from mdnmt.errors import CheckpointError
from mdnmt.methods.method import Trainable
from mdnmt.models.kernels import Kernels
from mdnmt.train.device import autocast_dtype, has_native_bf16
from mdnmt.train.kernel_choice import choose_kernels
from mdnmt.train.layout import Layout, choose_layout
from mdnmt.train.progress import Progress
from mdnmt.training_code import same_code, training_code

Precision = Literal["fp32", "bf16"]

KEY = "conditions"  # entry in a checkpoint's state.json, beside the counters
BEGIN_EVENTS = ("start", "resume")  # of metrics.jsonl: they begin an attempt
# Keys of the provenance that the record of each attempt has.
ATTEMPT_KEYS = ("mdnmt", "commit", "dirty", "python", "packages", "utc", "gpu")


@dataclass(frozen=True)
class Conditions:
    """What affects a run's weights apart from its spec and data; recorded in every checkpoint.

    Attributes:
        code: hash of the training code.
        precision: of matrix products; the recipe's `auto` is resolved when a run begins.
        kernels: resolved in the same way.
        compile: as in the recipe.
        layout: of the training batches, resolved in the same way.
    """

    code: str
    precision: Precision
    kernels: Kernels
    compile: Compile = "off"
    layout: Layout = "padded"

    @property
    def dtype(self) -> torch.dtype | None:
        """Return the dtype of autocast; None: no autocast."""
        return torch.bfloat16 if self.precision == "bf16" else None

    def with_progress(self, progress: Progress) -> dict[str, Any]:
        """Return the state of a checkpoint: the counters of a run, and these conditions."""
        return {**asdict(progress), KEY: asdict(self)}


CONDITIONS = tuple(field.name for field in fields(Conditions))


def conditions_here(builder: str, recipe: Training, device: torch.device, method: Trainable) -> Conditions:
    """Return the conditions of a run of a method that begins on this device with this code.

    Raises:
        ConfigError: the recipe asks for kernels that do not exist for the device, or for a layout that the method does
            not allow.
    """
    precision: Precision = "bf16" if autocast_dtype(recipe, device) is not None else "fp32"
    layout = choose_layout(method, recipe, device)
    return Conditions(training_code(builder), precision, choose_kernels(recipe, device), recipe.compile, layout)


def progress_in(checkpoint: Checkpoint) -> Progress:
    """Return the counters of a run that are stored in a checkpoint."""
    return Progress(**{name: value for name, value in checkpoint.state.items() if name != KEY})


def conditions_in(checkpoint: Checkpoint) -> Conditions:
    """Return the conditions of a run that are stored in a checkpoint."""
    return Conditions(**checkpoint.state[KEY])


def refuse_other_code(
    checkpoint: Checkpoint | None, here: Conditions, recipe: Training, folder: Path, *, accept: bool
) -> None:
    """Refuse to continue from a checkpoint that other training code wrote.

    A finished run makes no more updates, so it is not refused.

    Args:
        checkpoint: the run's newest checkpoint, or None.
        here: the conditions of this process.
        recipe: the run's recipe.
        folder: the run's folder, for the message.
        accept: continue in spite of a difference.

    Raises:
        CheckpointError: the code differs.
    """
    if checkpoint is None or accept or progress_in(checkpoint).is_over(recipe):
        return
    code = conditions_in(checkpoint).code
    if not same_code(code, here.code):
        raise CheckpointError(
            f"{folder}: was trained up to update {checkpoint.update} by other training code ({code}) "
            f"than this ({here.code}): go back to that code (metrics.jsonl names the commit), start again with this: "
            f"`mdnmt retrain {folder.resolve().parent.name}`, or continue with this: --accept-code-change (snakemake "
            "and mdnmt run: --config accept_code_change=true)"
        )


def resumed_conditions(checkpoint: Checkpoint, here: Conditions, recipe: Training, device: torch.device) -> Conditions:
    """Return the conditions under which a run resumes: this code, and the rest as in the checkpoint.

    A finished run makes no more updates: only its files are written, which any device can do.

    Raises:
        CheckpointError: the device lacks bf16 or the kernels that the run began with, or the recipe now asks for other
            kernels, another layout or another value of `compile`.
    """
    began = conditions_in(checkpoint)
    if progress_in(checkpoint).is_over(recipe):
        return replace(here, precision=began.precision, layout=began.layout)
    if recipe.precision == "auto" and began.precision == "bf16" and not has_native_bf16(device):
        raise CheckpointError(
            f"the run began in bf16 (precision: auto) and has come to update {checkpoint.update}; device {device} does "
            "not multiply bf16 in hardware: resume on a device that does, or set training.precision, which "
            "makes it another run"
        )
    # A run with plain formulas can move between a GPU and a CPU; the other kernels exist on one kind of device only.
    if began.kernels != here.kernels and (recipe.kernels != "auto" or began.kernels != "plain"):
        triton = began.kernels == "triton"
        asked = "auto on a GPU with Triton" if triton else f"{began.kernels} on a device that has them"
        raise CheckpointError(
            f"the run began with kernels: {began.kernels} and has reached update {checkpoint.update}; device {device} "
            f"with training.kernels: {recipe.kernels} gives kernels: {here.kernels}, which round differently: resume "
            f"with training.kernels: {asked}, or remove the run to start again"
        )
    if began.compile != here.compile:
        raise CheckpointError(
            f"the run began with training.compile: {began.compile} and has reached update {checkpoint.update}; this "
            f"command has training.compile: {here.compile}, which rounds differently: set training.compile: "
            f"{began.compile}, or remove the run to start again"
        )
    # Every device has both layouts, so a run under `auto` goes on in its own.
    if began.layout != here.layout and recipe.layout != "auto":
        raise CheckpointError(
            f"the run began with training.layout: {began.layout} and has reached update {checkpoint.update}; this "
            f"command has training.layout: {here.layout}, which rounds differently: set training.layout: "
            f"{began.layout} or auto, or remove the run to start again"
        )
    return replace(began, code=here.code)


def attempt(conditions: Conditions, device: torch.device) -> dict[str, Any]:
    """Return the record of an attempt that begins now: commit, code, device, precision and versions."""
    made = provenance.collect()
    gpu = {"gpu": torch.cuda.get_device_name(device)} if device.type == "cuda" else {}
    record = {key: made[key] for key in ATTEMPT_KEYS if key in made}
    return {**record, "device": str(device), **gpu, **asdict(conditions)}


def last_training(records: Iterable[Mapping[str, Any]], updates: int) -> dict[str, Any]:
    """Return the record of the attempt that made the last update; empty if no attempt is recorded.

    Args:
        records: of metrics.jsonl.
        updates: number of updates of the run. An attempt that began at this update made none; it only rewrote files.
    """
    made = [one for one in attempts(records) if one.get("at_update", 0) < updates]
    return made[-1] if made else {}


def attempts(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of all attempts at a run, oldest first, with the update it began at and its final `energy`.

    For a killed attempt, `energy` is the last measured value.
    """
    left_out = {"event", "workers"}
    found: list[dict[str, Any]] = []
    for record in records:
        if record.get("event") in BEGIN_EVENTS:
            found.append({key: value for key, value in record.items() if key not in left_out})
        elif found and "energy" in record:
            found[-1]["energy"] = record["energy"]
    return found
