"""What stands where inside a run directory (where the directory itself stands is the workflow's affair)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunPaths:
    """The files of one run."""

    folder: Path

    @property
    def model(self) -> Path:
        """The final weights."""
        return self.folder / "model.safetensors"

    @property
    def record(self) -> Path:
        """What the run was, with its provenance."""
        return self.folder / "run.json"

    @property
    def curves(self) -> Path:
        """Measures by update."""
        return self.folder / "curves.tsv"

    @property
    def checkpoints(self) -> Path:
        """Checkpoints; never declared to Snakemake, which would delete them."""
        return self.folder / "ckpt"

    @property
    def metrics(self) -> Path:
        """All measurements, append-only across restarts."""
        return self.folder / "metrics.jsonl"

    @property
    def lease(self) -> Path:
        """Who is training here."""
        return self.folder / "lease"

    @property
    def segmentation(self) -> Path:
        """The task's codes and vocabularies, so that a run translates without its task."""
        return self.folder / "segmentation"
