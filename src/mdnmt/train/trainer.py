"""The training loop: updates, validations, checkpoints; it can stop after any update and go on from there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any, Literal

import torch

from mdnmt.checkpoints import generators
from mdnmt.checkpoints.retention import kept, kept_weights
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.budget import counts_epochs, in_updates
from mdnmt.config.run import RunSpec
from mdnmt.errors import Interrupted, MdnmtError
from mdnmt.methods.method import Method
from mdnmt.tasks.data import TaskData
from mdnmt.train.batches import usable
from mdnmt.train.broken_batch import write_broken
from mdnmt.train.conditions import conditions_here, progress_in, refuse_other_code, resumed
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics import TRAINING_SAMPLE, VALIDATION, MetricsLog
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.order import Chosen, Order
from mdnmt.train.parallel import Workers
from mdnmt.train.prefetch import Prefetcher
from mdnmt.train.progress import Progress
from mdnmt.train.schedule import learning_rate
from mdnmt.train.shared_state import share_checkpoint
from mdnmt.train.shares import Share, deal, may_cut
from mdnmt.train.signals import StopRequest
from mdnmt.train.step import leave_gradients
from mdnmt.train.validation import Validation
from mdnmt.train.window import Culprit, NotFinite, Step, Window

KEEP_LAST = 2
MAX_ROLLBACKS = 3  # of a run: what breaks more often does not break by bad luck with one batch


class TrainingError(MdnmtError):
    """Training cannot go on: no data, or a loss that is no number."""


@dataclass(frozen=True)
class Habits:
    """What may differ between two trainings of one run without changing its result.

    Attributes:
        save_every_minutes: time between checkpoints beside those of validations.
        save_every_updates: likewise in updates; 0: none.
        stop_after_minutes: save and end with status 75 after this time; None: never.
        on_nan: what to do when a loss or a weight is no number: end, or go back to the last checkpoint and go on
            without the batch. It changes the result of no run that would not end otherwise.
        worker_timeout_minutes: how long one worker waits for another before it takes it for dead.
        accept_code_change: go on from a checkpoint that other training code wrote. The attempts in run.json show it.
    """

    save_every_minutes: float = 10.0
    save_every_updates: int = 0
    stop_after_minutes: float | None = None
    on_nan: Literal["stop", "rollback"] = "stop"
    worker_timeout_minutes: float = 30.0
    accept_code_change: bool = False


class Trainer:
    """Trains one run; what is not a tensor stands in `progress`."""

    def __init__(
        self,
        spec: RunSpec,
        data: TaskData,
        method: Method,
        *,
        device: torch.device,
        store: CheckpointStore,
        metrics: MetricsLog,
        lease: RunLease | None,
        habits: Habits,
        workers: Workers | None = None,
    ) -> None:
        """Make a trainer; of several workers only the first holds the lease, writes and validates."""
        self.spec, self.recipe, self.data, self.method = spec, spec.training, data, method
        self.device, self.store, self.metrics, self.lease, self.habits = device, store, metrics, lease, habits
        self.workers = workers or Workers()
        self.may_cut = may_cut(method, self.workers.count, self.recipe.accumulate_batches)
        self.conditions = conditions_here(spec.builder, self.recipe, device)
        self.optimiser = Optimiser(method.model, self.recipe)
        self.progress = Progress()
        self.train_split = data.split("train")
        domain_ids = [data.domains.index(domain) for domain in spec.domains]
        self.indices = usable(self.train_split, domain_ids, self.recipe.max_length)
        if not len(self.indices):
            raise TrainingError(
                f"task {data.name}: no training sentence of {', '.join(spec.domains)} has at most "
                f"{self.recipe.max_length} pieces; raise training.max_length"
            )
        self.validation = Validation(data, spec.domains, self.recipe, float(spec.architecture["label_smoothing"]))
        self._refuse_long_sentences()
        order = Order(self.train_split, self.indices, self.recipe, spec.seed, data.domains)
        if counts_epochs(self.recipe):
            self.recipe = in_updates(self.recipe, order.updates_per_epoch())
        self._prefetcher = Prefetcher(self.train_split, order, self._shares, bos=data.target_vocab.bos, device=device)
        self._epochs = 0.0
        self._window = Window(device, self.workers, [loss.name for loss in method.losses])
        self._saved_update: int | None = None
        self._started = self._last_save = self._last_line = time.monotonic()

    def _refuse_long_sentences(self) -> None:
        used = [(self.train_split, self.indices), *((self.validation.split, r) for r in self.validation.rows.values())]
        # Every domain's test set will be translated: better found here than after the training.
        sources = [*(split.source.lengths[rows] for split, rows in used), self.data.split("test").source.lengths]
        targets = [split.target.lengths[rows] for split, rows in used]
        model = self.method.model
        for sides, positions in ((sources, model.max_source_length), (targets, model.max_target_length)):
            longest = max(int(lengths.max(initial=0)) for lengths in sides)
            if longest > positions:
                raise TrainingError(
                    f"task {self.data.name}: a sentence has {longest} pieces, the model takes {positions}: raise "
                    "architecture.max_positions"
                )

    @property
    def dtype(self) -> torch.dtype | None:
        """Return the type of autocast; None: no autocast."""
        return self.conditions.dtype

    def resume(self) -> bool:
        """Take over the newest whole checkpoint; return False where there is none.

        Raises:
            CheckpointError: other code wrote it, or its precision cannot be had here.
        """
        newest = self.store.load_latest() if self.workers.is_first else None
        folder, accept = self.store.directory.parent, self.habits.accept_code_change
        refuse_other_code(newest, self.conditions, self.recipe, folder, accept=accept)
        checkpoint = share_checkpoint(self.workers, newest)
        if checkpoint is None:
            return False
        self.conditions = resumed(checkpoint, self.conditions, self.recipe, self.device)
        self.method.model.load_state_dict(checkpoint.weights)
        self.optimiser.load(checkpoint.optimizer)
        generators.restore(checkpoint.generators)
        self.progress = progress_in(checkpoint)
        self._saved_update = checkpoint.update
        self._window.restore(self.progress.window)
        return True

    def run(self, stop: StopRequest) -> None:
        """Train until the run is over.

        Raises:
            Interrupted: a signal or the time limit; everything is saved.
            LostWorker: another worker is gone.
            TrainingError: a loss that is not a finite number.
        """
        self.method.model.train()
        if self.habits.on_nan == "rollback" and self._saved_update is None:
            self._save()  # something to go back to
        self._prefetcher.seek(self.progress)
        try:
            while not self.progress.is_over(self.recipe):
                try:
                    self._advance()
                    self._stop_if_asked(stop)
                except NotFinite as error:
                    self._answer(str(error))
        finally:
            self._prefetcher.close()

    def _advance(self) -> None:
        """Do one update, and whatever is due behind it."""
        self._update()
        progress = self.progress
        if progress.update % self.recipe.log_every == 0:
            self._log()
        is_last = progress.update >= self.recipe.max_updates
        if progress.update % self.recipe.validate_every == 0 or is_last:
            self._validate()
            self._save()
        elif self._agreed(self.workers.is_first and self._save_is_due()):
            self._save()

    def _stop_if_asked(self, stop: StopRequest) -> None:
        reason = stop.signal_name or self._time_is_up()
        if not self._agreed(reason is not None) or self.progress.is_over(self.recipe):
            return
        if self._saved_update != self.progress.update:
            self._save()
        self._agreed(False)  # nobody leaves before the first worker has saved
        raise Interrupted(
            f"{reason or 'another worker was stopped'}: saved at update {self.progress.update} of "
            f"{self.recipe.max_updates}; the same command goes on from there"
        )

    def _agreed(self, wish: bool) -> bool:
        """Return whether any worker has the wish."""
        return bool(self.workers.most([wish])[0])

    @property
    def seconds(self) -> float:
        """Return the time since this trainer was made."""
        return time.monotonic() - self._started

    def _shares(self, chosen: Chosen) -> list[Share]:
        return deal(chosen.batches, self.workers.rank, self.workers.count, may_cut=self.may_cut)

    def _update(self) -> None:
        progress, workers = self.progress, self.workers
        self.method.begin_update(progress.update + 1, self.recipe.max_updates)
        workers.seed(self.spec.seed, progress.update + 1)
        prepared = self._prefetcher.next()
        chosen, shares = prepared.chosen, prepared.shares
        found = leave_gradients(
            self.method,
            prepared.batches,
            self.recipe,
            self.device,
            self.dtype,
            num_words=chosen.num_words,
            weights=[one.weight for one in shares],
            combine=lambda: workers.sum_gradients(list(self.optimiser.named.values())),
            want_norms=self.habits.on_nan == "rollback",
        )
        progress.update += 1
        progress.epoch, progress.position, self._epochs = prepared.epoch, prepared.position, prepared.epochs
        losses = {one.number: named for one, named in zip(shares, found.losses, strict=True)}
        self._window.add(Step(progress.update, chosen, losses, found.norms))
        self.optimiser.step(learning_rate(progress.update, self.recipe))

    def _answer(self, what: str) -> None:
        """Write down what broke, then end or go back, as configured; all workers do the same."""
        culprit = self._window.culprit()
        if culprit is None:
            raise TrainingError(f"{what}, and no update was done since the last checkpoint: start another run")
        place = (
            f"{what}; it began in update {culprit.update}, batch {_listed(culprit.positions)} of epoch {culprit.epoch}"
        )
        dump = "the run's folder"
        if self.workers.is_first:
            rate = learning_rate(culprit.update, self.recipe)
            dump = str(write_broken(self.store.directory.parent, what, culprit, self.data, rate))
        skipped = self.progress.skipped
        if self.habits.on_nan == "stop" or len(skipped) >= MAX_ROLLBACKS:
            often = f"{MAX_ROLLBACKS} batches were left out before; " if self.habits.on_nan == "rollback" else ""
            raise TrainingError(
                f"{place}; {often}nothing of it was saved, and its sentences are in {dump}: look at "
                "them, lower training.learning_rate, set clip_norm or on_nan: rollback, then start again"
            )
        self._roll_back(culprit, skipped, place)

    def _roll_back(self, culprit: Culprit, skipped: list[dict[str, Any]], place: str) -> None:
        mine = {"update": culprit.update, "epoch": culprit.epoch, "positions": culprit.positions}
        self.method.model.zero_grad(set_to_none=True)
        if not self.resume():
            raise TrainingError(f"{place}; there is no checkpoint to go back to")
        self.progress.skipped = [*skipped, mine]
        self._prefetcher.seek(self.progress)
        self.metrics.append(
            {"event": "rollback", "at_update": culprit.update, "to_update": self.progress.update, **mine}
        )
        self._say(f"{place}; back to update {self.progress.update}, and on without it")

    def _refuse_broken_weights(self) -> None:
        # The loss of an update is that of the weights before it.
        if self._agreed(not all(bool(parameter.isfinite().all()) for parameter in self.method.model.parameters())):
            raise NotFinite(f"a weight is no finite number after update {self.progress.update}")

    def _log(self) -> None:
        window, progress = self._window.read(), self.progress
        self._window.clear()
        words = window.pop("tokens")
        loss = window["generation"] / words
        now = time.monotonic()
        speed = words / max(1e-9, now - self._last_line)
        rate = learning_rate(progress.update, self.recipe)
        self.metrics.append(
            {
                "update": progress.update,
                "epoch": self._epochs,
                "split": "train",
                "domain": "all",
                # Of translation alone, so that methods with other auxiliary losses can be compared.
                "loss": loss,
                "objective": math.fsum(window.values()) / words,
                "losses": {name: value / words for name, value in window.items()},
                "learning_rate": rate,
                "seconds": self.seconds,
                "words_per_second": speed,
            }
        )
        left = (self.recipe.max_updates - progress.update) / self.recipe.log_every * (now - self._last_line)
        self._last_line = now
        self._say(
            f"update {progress.update}/{self.recipe.max_updates}  epoch {progress.epoch}  loss {loss:.3f}  "
            f"rate {rate:.2e}  {speed:,.0f} words/s  {left / 60:.1f} min left"
        )

    def _validate(self) -> None:
        self._refuse_broken_weights()
        progress = self.progress
        first, epoch = self.workers.is_first, self._epochs
        model = self.method.model
        measures = self.workers.shared_json(self.validation(model, self.device, self.dtype) if first else None)
        sample = self.validation.on_training_text(model, self.device, self.dtype) if first else {}
        for split, measured in ((VALIDATION, measures), (TRAINING_SAMPLE, sample)):
            for domain, values in measured.items():
                place = {"update": progress.update, "epoch": epoch, "split": split, "domain": domain}
                self.metrics.append({**place, **values, "seconds": self.seconds})
        total = measures["all"]
        by_bleu = self.recipe.validation_metric == "bleu" and "bleu" in total
        progress.note_validation(-total["bleu"] if by_bleu else total["loss"])
        bleu = f"  BLEU {total['bleu']:.2f}" if "bleu" in total else ""
        self._say(
            f"validation at {progress.update}: loss {total['loss']:.3f}  ppl {total['ppl']:.2f}  "
            f"accuracy {total['accuracy']:.3f}{bleu}"
        )
        self._last_line = time.monotonic()

    def _save(self) -> None:
        progress = self.progress
        progress.window = self._window.read()
        self._refuse_broken_weights()
        self._saved_update = progress.update
        if not self.workers.is_first:
            return
        if self.lease is not None:
            self.lease.check()
        model = self.method.model
        state = self.conditions.with_progress(progress)
        self.store.save(progress.update, model.state_dict(), self.optimiser.state(), generators.capture(), state)
        self.store.prune(
            kept(self.store.updates(), last=KEEP_LAST),
            weights_of=kept_weights(progress.best_update, progress.newest(self.recipe)),
        )
        self._last_save = time.monotonic()

    def _save_is_due(self) -> bool:
        by_count = self.habits.save_every_updates and self.progress.update % self.habits.save_every_updates == 0
        return bool(by_count) or time.monotonic() - self._last_save >= 60 * self.habits.save_every_minutes

    def _time_is_up(self) -> str | None:
        limit = self.habits.stop_after_minutes
        return f"time limit of {limit:g} min" if limit is not None and self.seconds >= 60 * limit else None

    def _say(self, line: str) -> None:
        if self.workers.is_first:
            print(line, flush=True)


def _listed(positions: list[int]) -> str:
    return ", ".join(map(str, positions))
