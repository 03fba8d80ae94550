"""The files of a run, the address of any result, and what to remove if a file is damaged."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

# Pretrained weights; relative to the project's folder, and may be a symbolic link to a shared one.
PRETRAINED = Path("resources/pretrained")
TOY = "toy/"  # prefix of the names of toy weights, which are generated instead of downloaded
FROM_BUNDLE = "from a bundle"  # what the mark of a run without weights says of its origin


def weights_folder(weights: str, revision: str | None, root: Path = PRETRAINED) -> Path:
    """Return the folder of pretrained weights: their name without the slash, and the beginning of the revision."""
    return root / f"{weights.replace('/', '--')}{f'-{revision[:8]}' if revision else ''}"


# runs/<task>/<method>/seed<k>-<fp>/..., tasks/<task>-<fp>/..., tasks/<stage>/<fp>/..., results/<study>/<folder>/...
_ADDRESS = re.compile(
    r"/(?P<address>runs/[^/]+/[^/]+/seed\d+-[0-9a-f]{8}/.+|tasks/[^/]+[-/][0-9a-f]{8}/.+)$"
    r"|/results/(?P<of_study>(?!runs/|tasks/|resources/)[^/]+/(?:partial/)?[a-z]+/[^/]+)$"
)
# Analyses, translations, and the text of a task.
_MADE_AS_FOLDER = re.compile(
    r"(.*\bruns/[^/]+/[^/]+/seed\d+-[0-9a-f]{8}/(?:analysis-[^/]+|[^/]+/hyp)"
    r"|.*\btasks/[^/]+-[0-9a-f]{8}(?:/(?:copied|external)-[^/]+/hyp|(?=/text/)))/"
)

# A run's copy of the codes and vocabularies.
_MADE_WITH_RUN = re.compile(r"(.*\bruns/[^/]+/[^/]+/seed\d+-[0-9a-f]{8})/segmentation/")


def address(path: Path) -> str:
    """Return the part of a path below `results/` that identifies the file: its run or task with its hash, or its study.

    It does not change when the results are moved; empty for other paths.
    """
    # Not resolved, because `results` itself may be a link to another disk.
    found = _ADDRESS.search(os.path.abspath(path))  # noqa: PTH100  (Path.absolute keeps "..")
    return (found["address"] or found["of_study"]) if found else ""


def to_remove(path: Path) -> Path:
    """Return what to remove so that Snakemake makes a damaged file again.

    That is the file itself; its folder, if a rule declares the folder as its output; a task's folder; or, for a run's
    copy of codes and vocabularies, `run.json`: without it, the end of the run is written again.
    """
    if made := _MADE_AS_FOLDER.match(path.as_posix()):
        return Path(made[1])
    run = _MADE_WITH_RUN.match(path.as_posix())
    return RunPaths(Path(run[1])).record if run else path


def runs_without_weights(runs: Path) -> list[str]:
    """Return the addresses of the runs, below results/runs, that were trained elsewhere and came without weights."""
    folders = (path.parent for path in sorted(runs.glob("*/*/*/without-weights.txt")))
    return [folder.relative_to(runs).as_posix() for folder in folders if RunPaths(folder).has_no_weights]


@dataclass(frozen=True)
class RunPaths:
    """The files of one run."""

    folder: Path

    @property
    def model(self) -> Path:
        """The final weights."""
        return self.folder / "model.safetensors"

    @property
    def alternative(self) -> Path:
        """The weights chosen by the rule that the recipe does not score, if they differ."""
        return self.folder / "alternative.safetensors"

    @property
    def record(self) -> Path:
        """The record of the run: its configuration, results and provenance."""
        return self.folder / "run.json"

    @property
    def without_weights(self) -> Path:
        """Marks a run that was trained elsewhere and came without its weights; no rule trains it here."""
        return self.folder / "without-weights.txt"

    @property
    def has_no_weights(self) -> bool:
        """Say whether the run was trained elsewhere and its weights are not here."""
        return self.without_weights.is_file() and not self.model.is_file()

    @property
    def is_of_bundle(self) -> bool:
        """Say whether the run came from a bundle, maybe by an earlier version, which wrote no mark."""
        mark = self.without_weights
        return not self.model.is_file() and (not mark.is_file() or FROM_BUNDLE in mark.read_text(encoding="utf-8"))

    @property
    def is_trained_here(self) -> bool:
        """Say whether a training of the run began here, or its weights are here."""
        return any(path.exists() for path in (self.model, self.metrics, self.checkpoints))

    @property
    def is_finished(self) -> bool:
        """Say whether the run is trained, here or elsewhere."""
        return self.record.is_file() and (self.model.is_file() or self.without_weights.is_file())

    @property
    def curves(self) -> Path:
        """Training and validation measures by update."""
        return self.folder / "curves.tsv"

    @property
    def checkpoints(self) -> Path:
        """The checkpoints; not declared to Snakemake, which would delete them."""
        return self.folder / "ckpt"

    @property
    def metrics(self) -> Path:
        """All measurements, append-only across restarts."""
        return self.folder / "metrics.jsonl"

    @property
    def lease(self) -> Path:
        """The lock of the process that trains this run."""
        return self.folder / "lease"

    @property
    def segmentation(self) -> Path:
        """A copy of the task's codes and vocabularies, so that a run can translate without its task."""
        return self.folder / "segmentation"

    @property
    def code(self) -> Path:
        """A copy of the code that trained the run and is not part of the package: plug-ins, for example."""
        return self.folder / "code"
