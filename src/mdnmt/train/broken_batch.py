"""Write the sentences of a batch whose loss or gradient was NaN or infinite to a readable file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.tasks.task_data import Split, TaskData
from mdnmt.train.meters import BrokenUpdate

# Keeps the file small enough for any editor, whatever the size of a batch.
MAX_PIECES = 20_000


def write_broken(folder: Path, what: str, broken: BrokenUpdate, data: TaskData, learning_rate: float) -> Path:
    """Write `broken-update-<n>.json` to the folder of a run and return its path.

    Args:
        folder: the run's folder.
        what: which value was not finite, in words.
        broken: the update and its broken batches.
        data: the task's data; sentences are written as text, or as ids if the data has no vocabulary.
        learning_rate: of the update.
    """
    split, chosen = data.split("train"), broken.chosen
    room, batches = MAX_PIECES, []
    for position, rows, losses in zip(chosen.positions, chosen.batches, broken.losses, strict=True):
        if position not in broken.positions:
            continue
        sentences = []
        for row in rows.tolist():
            room -= int(split.source.lengths[row] + split.target.lengths[row])
            if room < 0:
                break
            sentences.append(_sentence(data, split, row))
        batch = {"position": position, "losses": losses, "sentences": sentences, "num_sentences": len(rows)}
        batches.append({**batch, "left_out": len(rows) - len(sentences)})
    path = folder / f"broken-update-{broken.update:08d}.json"
    value = {
        "what": what,
        "update": broken.update,
        "epoch": chosen.epoch,
        "learning_rate": learning_rate,
        "gradient_norms": broken.norms,
        "batches": batches,
    }
    fsio.write_json(path, readable(value))
    return path


def readable(value: Any) -> Any:
    """Return a value that JSON can represent: non-finite numbers become "nan", "inf" or "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: readable(item) for key, item in value.items()}
    return [readable(item) for item in value] if isinstance(value, list) else value


def _sentence(data: TaskData, split: Split, row: int) -> dict[str, Any]:
    return {
        "row": row,
        "domain": data.domains[int(split.domains[row])],
        "source": " ".join(data.source_vocab.decode(split.source[row].tolist())),
        "target": " ".join(data.target_vocab.decode(split.target[row].tolist())),
    }
