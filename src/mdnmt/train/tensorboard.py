"""A run's measurements as TensorBoard files, for those who ask for them."""

from __future__ import annotations

import shutil
from pathlib import Path

from mdnmt.errors import ConfigError
from mdnmt.paths import RunPaths
from mdnmt.train.metrics import deduplicate, read_metrics

QUANTITIES = ("loss", "nll", "ppl", "accuracy", "bleu", "learning_rate")


def write_events(run_folder: Path) -> Path:
    """Write all measurements of a run to `<run>/tensorboard` and return that folder.

    Made anew from metrics.jsonl each time, so that a resumed run has one smooth curve.

    Raises:
        ConfigError: the package `tensorboard` is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("--tensorboard needs the package `tensorboard`; pip install tensorboard") from None
    paths = RunPaths(run_folder)
    folder = run_folder / "tensorboard"
    shutil.rmtree(folder, ignore_errors=True)
    with SummaryWriter(str(folder)) as writer:
        for record in deduplicate(read_metrics(paths.metrics)):
            if "split" not in record:
                continue
            for quantity in QUANTITIES:
                if quantity in record:
                    tag = f"{quantity}/{record['split']}/{record['domain']}"
                    writer.add_scalar(tag, record[quantity], record["update"])
    return folder
