"""Start a run from the final weights of another run, which may have plain projections where this one has mixed ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from torch import Tensor, nn

from mdnmt.checkpoints.weights import load_model
from mdnmt.config.run import RunSpec
from mdnmt.errors import CheckpointError
from mdnmt.fingerprint import sha256_file
from mdnmt.models.projection import MixedLinear


@dataclass(frozen=True)
class InitialWeights:
    """The weights that a run starts from, and the file they were read from."""

    path: Path
    sha256: str
    weights: dict[str, Tensor]


def read_initial(spec: RunSpec, path: Path | None) -> InitialWeights | None:
    """Return the weights that a run starts from; None if they are random.

    Raises:
        CheckpointError: the file is damaged or is not of the run that the spec names, or only one of the two is given.
    """
    if spec.initial_run is None and path is None:
        return None
    if path is None or spec.initial_run is None:
        found, expected = ("no file", spec.initial_run) if path is None else (str(path), "no other run")
        raise CheckpointError(f"--initial: found {found}, but the run was planned to start from {expected}")
    weights = load_model(path)
    with safe_open(path, framework="pt") as file:
        run = (file.metadata() or {}).get("run")
    if run != spec.initial_run:
        raise CheckpointError(
            f"{path}: holds the model of run {run}, but the run was planned to start from {spec.initial_run}; start "
            "snakemake again, so that it plans with what is there now"
        )
    return InitialWeights(path, sha256_file(path), weights)


def initialise(model: nn.Module, initial: InitialWeights) -> None:
    """Copy weights into a model; those of a plain projection are copied to every domain of a mixed one.

    Parameters that the source lacks keep their random initial values.

    Raises:
        CheckpointError: a tensor of the source fits no parameter of the model.
    """
    own = model.state_dict()
    mixed = {name: module for name, module in model.named_modules() if isinstance(module, MixedLinear)}
    for name, value in initial.weights.items():
        module, _, part = name.rpartition(".")
        if name in own and own[name].shape == value.shape:
            with torch.no_grad():
                own[name].copy_(value)
        elif module in mixed and value.shape == mixed[module].plain_shape(part):
            mixed[module].load_plain(part, value)
        else:
            place = f"a tensor of shape {list(own[name].shape)}" if name in own else "no tensor"
            raise CheckpointError(
                f"{initial.path}: {name} has the shape {list(value.shape)}, but the model that starts from it has "
                f"{place} of this name; give both methods the same sizes"
            )
