"""Give all workers the checkpoint of the first one, so that they need no access to its files and all start alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mdnmt.checkpoints.store import Checkpoint
from mdnmt.checkpoints.weights import decode, encode
from mdnmt.train.data_parallel import Workers

_SENT = Path("sent by the first worker")


def share_checkpoint(workers: Workers, checkpoint: Checkpoint | None) -> Checkpoint | None:
    """Return the first worker's checkpoint, or None if it has none."""
    if workers.count == 1:
        return checkpoint
    head = workers.shared_json({"update": checkpoint.update, "state": checkpoint.state} if checkpoint else None)
    if head is None:
        return None
    # Tensors are sent as safetensors: what a peer sends is never unpickled.
    mine = checkpoint or Checkpoint(head["update"], {}, {}, {}, head["state"])
    return replace(
        mine,
        weights=decode(workers.shared(encode(mine.weights)), _SENT),
        optimizer=decode(workers.shared(encode(mine.optimizer)), _SENT),
        generators=decode(workers.shared(encode(mine.generators)), _SENT),
    )
