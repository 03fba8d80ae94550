"""Let runs of different lengths share the updates that they have in common.

With `schedule: constant`, runs that differ in `max_updates` and `decay_updates` alone make the same updates until the
rate of the shorter one begins to fall. A run saves its state at that point in a folder beside its own,
`trunk-<hash of what both have in common>`, and a longer run that begins later continues from there. Training is
deterministic, so its result is that of a run from the start, bit for bit, and its address is the same. The folder may
be removed at any time.
"""

from __future__ import annotations

import sys

from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.errors import CheckpointError
from mdnmt.fingerprint import fingerprint
from mdnmt.fsio import write_bytes
from mdnmt.methods.method import Trainable
from mdnmt.paths import RunPaths
from mdnmt.train.conditions import Conditions, conditions_in, progress_in
from mdnmt.train.metrics_log import read_metrics

OF_LENGTH = ("max_updates", "max_epochs", "decay_updates")


class Trunk:
    """The state that runs of several lengths share."""

    def __init__(self, spec: RunSpec, recipe: Training, method: Trainable, store: CheckpointStore) -> None:
        """Take the folder of the shared state; nothing is read or written yet.

        Args:
            spec: the run.
            recipe: its recipe, in updates.
            method: its method; one with schedules that depend on the length of the run shares nothing.
            store: the checkpoints of the run.
        """
        constant = recipe.schedule == "constant" and not recipe.patience and not method.schedules
        end = recipe.max_updates - (recipe.decay_updates or 0)
        self.end = end if constant and end >= recipe.warmup_updates and end > 0 else None
        identity = spec.model_dump(mode="json")
        identity["training"] = {
            key: value for key, value in identity["training"].items() if key not in (*OF_LENGTH, "layout")
        }
        name = fingerprint("train", {"trunk": identity})
        self.recipe, self.own = recipe, store
        self.log = RunPaths(store.directory.parent).metrics
        self.folder = store.directory.parents[1] / f"trunk-{name}"
        self.store = CheckpointStore(self.folder, name)

    def ends_at(self, update: int) -> bool:
        """Say whether the rate begins to fall after this update."""
        return update == self.end

    def save(self) -> None:
        """Copy the run's state at the end of the trunk for longer runs; it replaces that of a shorter one.

        A run that left out broken batches shares nothing: another might not leave them out. A failure is reported, and
        the run goes on, since only a longer one would have used the copy.
        """
        if self.end is None or self.end >= self.recipe.max_updates:
            return
        progress = progress_in(self.own.load(self.end))
        if progress.skipped:
            return
        others = progress.weights_needed(self.recipe)
        try:
            self.own.copy_to(self.store, self.end, others)
            write_bytes(self.folder / self.log.name, self.log.read_bytes())
            self.store.prune([self.end], weights_of=others)
        except (InvalidCheckpoint, CheckpointError, OSError) as error:
            print(f"mdnmt: {self.folder}: not saved for longer runs: {error}", file=sys.stderr)

    def begin(self, conditions: Conditions) -> int | None:
        """Copy the shared state to a run that has none of its own, and return its update; None: there is none to use.

        Args:
            conditions: of the run; a state of other conditions (device, kernels, code) is left alone.
        """
        if self.end is None or self.own.updates() or read_metrics(self.log):
            return None
        for update in (update for update in reversed(self.store.updates()) if update <= self.end):
            try:
                shared = self.store.load(update)
                if conditions_in(shared) != conditions:
                    continue
                log = (self.folder / self.log.name).read_bytes()
                self.store.copy_to(self.own, update, progress_in(shared).weights_needed(self.recipe))
            except (InvalidCheckpoint, CheckpointError, OSError):
                continue  # damaged, or another process replaces it: the run trains from its start
            with self.log.open("ab") as handle:  # in place: the run's log has the file open
                handle.write(log)
            return update
        return None
