"""Read a fairseq checkpoint without running code that it may contain."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mdnmt.errors import CheckpointError
from mdnmt.fingerprint import sha256_file


class _Meter:
    """Takes the place of a training meter, which older versions of fairseq save as an object; nothing reads it."""


# Allowed in addition to tensors and plain values, which torch allows itself. The names need not be importable here.
ALLOWED = {
    "argparse.Namespace": argparse.Namespace,
    **{f"fairseq.meters.{name}": _Meter for name in ("AverageMeter", "StopwatchMeter", "TimeMeter")},
}
_REFUSED = re.compile(r"GLOBAL (\S+)")


@dataclass(frozen=True)
class FairseqCheckpoint:
    """The content of a checkpoint.

    Attributes:
        path: the file.
        sha256: of the file.
        options: fairseq's command-line options by name.
        weights: the model's parameters and buffers, by fairseq's names.
        updates: number of updates after which it was saved; None if it does not say.
    """

    path: Path
    sha256: str
    options: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    updates: int | None

    @classmethod
    def load(cls, path: Path) -> FairseqCheckpoint:
        """Read a checkpoint with torch's restricted unpickler.

        Raises:
            CheckpointError: the file holds an object of a class that is not in `ALLOWED`, cannot be read, or is not a
                fairseq checkpoint.
        """
        state = _load(path)
        weights = state.get("model") if isinstance(state, dict) else None
        if not isinstance(weights, dict) or not all(_is_plain(tensor) for tensor in weights.values()):
            raise CheckpointError(f"{path}: has no parameters under `model`; expected a checkpoint that fairseq saved")
        options = _options(state)
        if not options:
            raise CheckpointError(f"{path}: has no options under `args` or `cfg`; expected what fairseq-train saved")
        return cls(path, sha256_file(path), options, {str(name): one for name, one in weights.items()}, _updates(state))


def _load(path: Path) -> Any:
    try:
        with torch.serialization.safe_globals([(kind, name) for name, kind in ALLOWED.items()]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: no such file") from None
    except Exception as error:  # damaged files make torch and zipfile raise almost anything
        if found := _REFUSED.search(str(error)):
            raise CheckpointError(
                f"{path}: refused, it holds an object of {found[1]}, and loading that could run code; allowed besides "
                f"tensors and plain values: {', '.join(ALLOWED)}"
            ) from None
        if not (start := _start(path)).startswith((b"PK", b"\x80")):
            raise CheckpointError(
                f"{path}: begins with {start!r}, expected a fairseq checkpoint; is the download complete?"
            ) from None
        said = " ".join(str(error).split()[:15]) or type(error).__name__
        raise CheckpointError(f"{path}: cannot be read ({said}); expected a fairseq checkpoint") from None


def _start(path: Path) -> bytes:
    try:
        with path.open("rb") as handle:
            return handle.read(40)
    except OSError:
        return b"PK"  # torch's error says more


def _is_plain(value: Any) -> bool:
    return isinstance(value, Tensor) and value.layout == torch.strided and not value.is_quantized


def _options(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options in `args`, or those of task and model in `cfg` (newer versions)."""
    if found := _as_dict(state.get("args")):
        return found
    cfg = _as_dict(state.get("cfg"))
    task, model = _as_dict(cfg.get("task")), _as_dict(cfg.get("model"))
    task_given = {key: value for key, value in task.items() if value is not None}
    return {**model, **task_given, "task": task.get("_name")} if model else {}


def _as_dict(value: Any) -> dict[str, Any]:
    if isinstance(value, argparse.Namespace):
        value = vars(value)
    return {str(key): one for key, one in value.items()} if isinstance(value, dict) else {}


def _updates(state: Mapping[str, Any]) -> int | None:
    history = state.get("optimizer_history")
    last = history[-1] if isinstance(history, list) and history else None
    found = last.get("num_updates") if isinstance(last, dict) else None
    return found if isinstance(found, int) else None
