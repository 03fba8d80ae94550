"""TensorBoard event files of a run, written while it trains."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt.errors import ConfigError
from mdnmt.paths import RunPaths
from mdnmt.train.metrics_log import deduplicate, read_metrics

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

QUANTITIES = ("loss", "nll", "ppl", "accuracy", "bleu", "learning_rate", "gradient_norm", "tokens_per_second")


class TensorBoardLog:
    """Writes each record of metrics.jsonl to `<run>/tensorboard` as well, at once."""

    def __init__(self, run_folder: Path) -> None:
        """Check that TensorBoard can be imported; `begin` opens the event file.

        Raises:
            ConfigError: the package `tensorboard` is not installed.
        """
        _writer_class()
        self._run_folder, self.folder = run_folder, run_folder / "tensorboard"
        self._writer: SummaryWriter | None = None

    def begin(self, last_update: int) -> None:
        """Replace the event files by one with the measurements up to `last_update`.

        A resumed run measures some points a second time; two files, or one with both values, would show as two curves.
        """
        self.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._writer = _writer_class()(str(self.folder))
        for record in deduplicate(read_metrics(RunPaths(self._run_folder).metrics)):
            if record.get("update", 0) <= last_update:
                self._add(self._writer, record)
        self._writer.flush()

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record; after a rollback, drop the measurements beyond the update that it went back to."""
        if record.get("event") == "rollback":
            self.begin(record["to_update"])
        elif self._writer is not None:
            self._add(self._writer, record)
            self._writer.flush()

    def close(self) -> None:
        """Close the event file; a second call does nothing."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _add(self, writer: SummaryWriter, record: Mapping[str, Any]) -> None:
        if "split" not in record:
            return
        for quantity in QUANTITIES:
            if quantity in record:
                tag = f"{quantity}/{record['split']}/{record['domain']}"
                writer.add_scalar(tag, float(record[quantity]), record["update"])
        for domain, loss in record.get("domain_losses", {}).items():
            writer.add_scalar(f"loss/{record['split']}/{domain}", float(loss), record["update"])


def _writer_class() -> type[SummaryWriter]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ConfigError("--tensorboard needs the package `tensorboard`; pip install tensorboard") from None
    return SummaryWriter
