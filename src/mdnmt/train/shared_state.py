"""Give all workers the state of the first one: they need not see its files, and cannot begin from others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from torch import nn

from mdnmt.checkpoints.store import Checkpoint
from mdnmt.checkpoints.weights import decode, encode
from mdnmt.train.data_parallel import Workers

_SENT = Path("sent by the first worker")


def share_checkpoint(workers: Workers, checkpoint: Checkpoint | None) -> Checkpoint | None:
    """Return the first worker's checkpoint, or None where it has none."""
    if workers.count == 1:
        return checkpoint
    head = workers.shared_json({"update": checkpoint.update, "state": checkpoint.state} if checkpoint else None)
    if head is None:
        return None
    # Whole and in safetensors, as on disk: nothing that a peer sends is ever read by pickle.
    mine = checkpoint or Checkpoint(head["update"], {}, {}, {}, head["state"])
    return replace(
        mine,
        weights=decode(workers.shared(encode(mine.weights)), _SENT),
        optimizer=decode(workers.shared(encode(mine.optimizer)), _SENT),
        generators=decode(workers.shared(encode(mine.generators)), _SENT),
    )


def share_weights(workers: Workers, model: nn.Module) -> None:
    """Give a model the weights that the first worker's has."""
    if workers.count > 1:
        model.load_state_dict(decode(workers.shared(encode(model.state_dict())), _SENT))
