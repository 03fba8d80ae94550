"""The training loop: updates, validations, checkpoints; it can stop after any update and go on from there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch

from mdnmt.checkpoints import generators
from mdnmt.checkpoints.retention import kept
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.run import RunSpec
from mdnmt.errors import Interrupted, MdnmtError
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch
from mdnmt.tasks.data import TaskData
from mdnmt.train.batches import Indices, collate, epoch_batches, usable
from mdnmt.train.device import autocast_dtype
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics import MetricsLog
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.progress import Progress
from mdnmt.train.schedule import learning_rate
from mdnmt.train.signals import StopRequest
from mdnmt.train.step import leave_gradients
from mdnmt.train.validation import Validation

KEEP_LAST = 2


class TrainingError(MdnmtError):
    """Training cannot go on: no data, or a loss that is no number."""


@dataclass(frozen=True)
class Habits:
    """What may differ between two trainings of one run without changing its result.

    Attributes:
        save_every_minutes: time between checkpoints beside those of validations.
        save_every_updates: likewise in updates; 0: none.
        stop_after_minutes: save and end with status 75 after this time; None: never.
    """

    save_every_minutes: float = 10.0
    save_every_updates: int = 0
    stop_after_minutes: float | None = None


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
        lease: RunLease,
        habits: Habits,
    ) -> None:
        self.spec, self.recipe, self.data, self.method = spec, spec.training, data, method
        self.device, self.store, self.metrics, self.lease, self.habits = device, store, metrics, lease, habits
        self.dtype = autocast_dtype(self.recipe, device)
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
        self._epoch: tuple[int, list[Indices]] = (-1, [])
        self._window: dict[str, torch.Tensor] = {}
        self._saved_update = 0
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

    def resume(self) -> bool:
        """Take over the newest whole checkpoint; return False where there is none."""
        checkpoint = self.store.load_latest()
        if checkpoint is None:
            return False
        self.method.model.load_state_dict(checkpoint.weights)
        self.optimiser.load(checkpoint.optimizer)
        generators.restore(checkpoint.generators)
        self.progress = Progress.from_json(checkpoint.state)
        self._saved_update = checkpoint.update
        self._window = {
            name: torch.tensor(value, dtype=torch.float64, device=self.device)
            for name, value in self.progress.window.items()
        }
        return True

    def run(self, stop: StopRequest) -> None:
        """Train until the run is over.

        Raises:
            Interrupted: a signal or the time limit; everything is saved.
            TrainingError: a loss that is not a finite number.
        """
        self.method.model.train()
        while not self.progress.is_over(self.recipe):
            self._update()
            progress = self.progress
            if progress.update % self.recipe.log_every == 0:
                self._log()
            is_last = progress.update >= self.recipe.max_updates
            if progress.update % self.recipe.validate_every == 0 or is_last:
                self._validate()
                self._save()
            elif self._save_is_due():
                self._save()
            reason = stop.signal_name or self._time_is_up()
            if reason and not progress.is_over(self.recipe):
                if self._saved_update != progress.update:
                    self._save()
                raise Interrupted(
                    f"{reason}: saved at update {progress.update} of {self.recipe.max_updates}; "
                    "the same command goes on from there"
                )

    @property
    def seconds(self) -> float:
        """Return the time since this trainer was made."""
        return time.monotonic() - self._started

    def _next_batches(self) -> list[Batch]:
        progress = self.progress
        while True:
            if self._epoch[0] != progress.epoch:
                batches = epoch_batches(
                    self.train_split,
                    self.indices,
                    max_tokens=self.recipe.max_tokens,
                    seed=self.spec.seed,
                    epoch=progress.epoch,
                )
                self._epoch = (progress.epoch, batches)
            chosen = self._epoch[1][progress.position : progress.position + self.recipe.accumulate_batches]
            if chosen:
                progress.position += len(chosen)
                return [collate(self.train_split, indices, bos=self.data.target_vocab.bos) for indices in chosen]
            progress.epoch, progress.position = progress.epoch + 1, 0

    def _update(self) -> None:
        self.method.begin_update(self.progress.update + 1, self.recipe.max_updates)
        batches = self._next_batches()
        self._add("words", torch.tensor(float(sum(batch.num_target_tokens for batch in batches))))
        for losses in leave_gradients(self.method, batches, self.recipe, self.device, self.dtype):
            for name, value in losses.items():
                self._add(name, value)
        self.progress.update += 1
        self.optimiser.step(learning_rate(self.progress.update, self.recipe))

    def _add(self, name: str, value: torch.Tensor) -> None:
        # Kept on the device: reading a number off a GPU at every update would hold it up.
        value = value.to(device=self.device, dtype=torch.float64)
        self._window[name] = self._window[name] + value if name in self._window else value

    def _read_window(self) -> dict[str, float]:
        window = {name: value.item() for name, value in self._window.items()}
        for name, value in window.items():
            if not math.isfinite(value):
                raise TrainingError(
                    f"the {name} loss became {value} by update {self.progress.update}; nothing of it was saved: lower "
                    "training.learning_rate or set clip_norm, or look at the data, then start again"
                )
        return window

    def _refuse_broken_weights(self) -> None:
        # The loss of an update is that of the weights before it.
        if not all(bool(parameter.isfinite().all()) for parameter in self.method.model.parameters()):
            raise TrainingError(
                f"a weight is no finite number after update {self.progress.update}; nothing of it was saved: lower "
                "training.learning_rate or set clip_norm, then start again"
            )

    def _log(self) -> None:
        window, progress = self._read_window(), self.progress
        self._window = {}
        words = window.pop("words")
        loss = window["generation"] / words
        now = time.monotonic()
        speed = words / max(1e-9, now - self._last_line)
        rate = learning_rate(progress.update, self.recipe)
        self.metrics.append(
            {
                "update": progress.update,
                "epoch": progress.epoch,
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
        print(
            f"update {progress.update}/{self.recipe.max_updates}  epoch {progress.epoch}  loss {loss:.3f}  "
            f"rate {rate:.2e}  {speed:,.0f} words/s  {left / 60:.1f} min left",
            flush=True,
        )

    def _validate(self) -> None:
        self._refuse_broken_weights()
        progress = self.progress
        measures = self.validation(self.method.model, self.device, self.dtype)
        for domain, values in measures.items():
            place = {"update": progress.update, "epoch": progress.epoch, "split": "valid", "domain": domain}
            self.metrics.append({**place, **values, "seconds": self.seconds})
        total = measures["all"]
        by_bleu = self.recipe.validation_metric == "bleu" and "bleu" in total
        progress.note_validation(-total["bleu"] if by_bleu else total["loss"])
        bleu = f"  BLEU {total['bleu']:.2f}" if "bleu" in total else ""
        print(
            f"validation at {progress.update}: loss {total['loss']:.3f}  ppl {total['ppl']:.2f}  "
            f"accuracy {total['accuracy']:.3f}{bleu}",
            flush=True,
        )
        self._last_line = time.monotonic()

    def _save(self) -> None:
        progress = self.progress
        progress.window = self._read_window()
        self._refuse_broken_weights()
        self.lease.check()
        model = self.method.model
        self.store.save(
            progress.update, model.state_dict(), self.optimiser.state(), generators.capture(), progress.to_json()
        )
        self.store.prune(
            kept(
                self.store.updates(),
                last=KEEP_LAST,
                best=progress.best_update,
                average=progress.to_average(self.recipe),
            )
        )
        self._last_save = time.monotonic()
        self._saved_update = progress.update

    def _save_is_due(self) -> bool:
        by_count = self.habits.save_every_updates and self.progress.update % self.habits.save_every_updates == 0
        return bool(by_count) or time.monotonic() - self._last_save >= 60 * self.habits.save_every_minutes

    def _time_is_up(self) -> str | None:
        limit = self.habits.stop_after_minutes
        return f"time limit of {limit:g} min" if limit is not None and self.seconds >= 60 * limit else None
