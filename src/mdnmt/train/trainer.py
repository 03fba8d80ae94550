"""The training loop: updates, validations, checkpoints; it can stop after any update and resume from there."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal
from weakref import proxy

import torch

from mdnmt.checkpoints import random_state
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.config.budget import counts_epochs, in_updates
from mdnmt.config.run import RunSpec
from mdnmt.errors import Interrupted, TrainingError
from mdnmt.methods.method import Trainable
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batch_sampler import BatchSampler
from mdnmt.train.batches import refuse_long_sentences, usable
from mdnmt.train.broken_batch import write_broken
from mdnmt.train.compiled import compile_model, compiler_errors
from mdnmt.train.conditions import conditions_here, progress_in, refuse_other_code, resumed_conditions
from mdnmt.train.data_parallel import GradientSum, Workers, share_checkpoint
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.graphs import Graphs, UpdateGraphs, graphs_for
from mdnmt.train.layout import make_batch
from mdnmt.train.lease import RunLease
from mdnmt.train.meters import (
    GRADIENT_NORM,
    NUM_NORMS,
    BrokenUpdate,
    Meters,
    NotFinite,
    Step,
    Throughput,
    pop_domain_losses,
)
from mdnmt.train.metrics_log import TRAINING_SAMPLE, VALIDATION, MetricsLog
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.prefetch import Prefetcher
from mdnmt.train.progress import Progress
from mdnmt.train.schedule import learning_rate
from mdnmt.train.sharding import can_shard, shard
from mdnmt.train.signals import StopRequest
from mdnmt.train.trunk import Trunk
from mdnmt.train.validation import Validation

KEEP_LAST = 2  # complete checkpoints, from which a run can resume
MAX_ROLLBACKS = 3  # per run; if more are needed, the cause is not a single bad batch


@dataclass(frozen=True)
class RuntimeOptions:
    """Options that change no result and may differ between two attempts at one run.

    Attributes:
        save_every_minutes: minutes between checkpoints, in addition to those at validations.
        save_every_updates: the same in updates; 0: none.
        stop_after_minutes: save and exit with status 75 after this time; None: never.
        on_nan: what to do if a loss or a weight is NaN or infinite: stop, or return to the last checkpoint and continue
            without the broken batches. It only affects runs that would otherwise end with an error.
        worker_timeout_minutes: how long a worker waits for another before it considers it dead.
        tensorboard: write event files while the run trains.
        profile_updates: number of updates of which a trace is written; 0: none.
        accept_code_change: resume from a checkpoint that other training code wrote; run.json records the code of each
            attempt.
        graphs: replay updates as CUDA graphs, where these prove to compute the same bits; off: never; on: or stop.
    """

    save_every_minutes: float = 10.0
    save_every_updates: int = 0
    stop_after_minutes: float | None = None
    on_nan: Literal["stop", "rollback"] = "stop"
    worker_timeout_minutes: float = 30.0
    accept_code_change: bool = False
    tensorboard: bool = False
    profile_updates: int = 0
    graphs: Graphs = "auto"


class Trainer:
    """Trains one run; all of its state except tensors is in `progress`."""

    def __init__(
        self,
        spec: RunSpec,
        data: TaskData,
        method: Trainable,
        *,
        device: torch.device,
        store: CheckpointStore,
        metrics: MetricsLog,
        lease: RunLease | None,
        runtime: RuntimeOptions,
        workers: Workers | None = None,
    ) -> None:
        """Prepare a run; with several workers, only the first holds the lease, writes and validates.

        Raises:
            TrainingError: no training sentence is short enough, or a sentence is too long for the model.
            ConfigError: the recipe does not fit the device, the task or the number of workers.
        """
        self.spec, self.recipe, self.data, self.method = spec, spec.training, data, method
        self.device, self.store, self.metrics, self.lease, self.runtime = device, store, metrics, lease, runtime
        self.workers, bos = workers or Workers(), data.target_vocab.bos
        splits = can_shard(method, self.workers.count, self.recipe.accumulate_batches)
        self.conditions = conditions_here(spec.builder, self.recipe, device, method)
        compile_model(method, self.recipe.compile)
        self.optimiser = Optimiser(method.model, self.recipe)
        self._parallel: GradientSum | None = None
        self.progress = Progress()
        self.train_split = split = data.split("train")
        domain_ids = [data.domains.index(domain) for domain in spec.domains]
        self.indices = usable(self.train_split, domain_ids, self.recipe.max_length)
        if not len(self.indices):
            raise TrainingError(
                f"task {data.name}: no training sentence of {', '.join(spec.domains)} has at most "
                f"{self.recipe.max_length} pieces; raise training.max_length"
            )
        self.validation = Validation(data, spec.domains, self.recipe, float(spec.architecture["label_smoothing"]))
        used = {"train": [self.indices], "valid": list(self.validation.rows.values())}
        refuse_long_sentences(data, method.model, used)
        sampler = BatchSampler(self.train_split, self.indices, self.recipe, spec.seed, data.domains)
        if counts_epochs(self.recipe):
            self.recipe = in_updates(self.recipe, sampler.updates_per_epoch())
        self.trunk = Trunk(spec, self.recipe, method, store)
        own = proxy(self)  # a reference would keep an ended run and its memory until a collection
        self._prefetcher = Prefetcher(
            sampler,
            partial(shard, rank=self.workers.rank, count=self.workers.count, can_shard=splits),
            # The layout is that of the checkpoint, once the run has resumed from one.
            lambda part: make_batch(split, part, own.recipe, method, own.conditions.layout, bos, own.workers.count),
            device=device,
        )
        self._epochs = 0.0
        self._meters = Meters(device, self.workers, [loss.name for loss in method.losses], data.domains)
        self.graphs: UpdateGraphs | None = None
        self._saved_update: int | None = None
        self._throughput = Throughput()
        self.after_update: Callable[[], None] = lambda: None
        self._started = self._last_save = time.monotonic()

    def resume(self) -> bool:
        """Load the newest valid checkpoint; return False if there is none.

        Raises:
            CheckpointError: all are damaged, or the code or a condition (`Conditions`) differs from that here.
        """
        newest = self.store.load_latest() if self.workers.is_first else None
        folder, accept = self.store.directory.parent, self.runtime.accept_code_change
        refuse_other_code(newest, self.conditions, self.recipe, folder, accept=accept)
        checkpoint = share_checkpoint(self.workers, newest)
        if checkpoint is None:
            return False
        self.conditions = resumed_conditions(checkpoint, self.conditions, self.recipe, self.device)
        self.method.model.load_state_dict(checkpoint.weights)
        self.optimiser.load(checkpoint.optimizer)
        random_state.restore(checkpoint.generators)
        self.progress = progress_in(checkpoint)
        self._saved_update = checkpoint.update
        self._meters.restore(self.progress.window)
        return True

    def run(self, stop: StopRequest) -> None:
        """Train until the run is over.

        Raises:
            Interrupted: stopped by a signal or the time limit; everything is saved.
            LostWorker: another worker is gone.
            TrainingError: a loss or a weight is NaN or infinite.
        """
        self.method.model.train()
        if self.workers.count > 1:
            timeout = self.runtime.worker_timeout_minutes
            self._parallel = GradientSum(self.workers, self.method.model, self.device, timeout)
        if self.runtime.on_nan == "rollback" and self._saved_update is None:
            self._save()  # a rollback needs a checkpoint
        self._prefetcher.seek(self.progress)
        self._begin_graphs()
        self._throughput.restart()
        try:
            while not self.progress.is_over(self.recipe):
                try:
                    self._advance()
                    self._stop_if_asked(stop)
                except NotFinite as error:
                    self._handle_broken_batch(str(error))
        finally:
            self._prefetcher.close()
            self._parallel = None  # it refers to the group, which must end in `Workers.joined`

    def _begin_graphs(self) -> None:
        """Record graphs anew: a checkpoint that was loaded has replaced the tensors of earlier ones."""
        self.graphs = graphs_for(
            self.runtime.graphs,
            workers=self.workers.count,
            method=self.method,
            optimiser=self.optimiser,
            recipe=self.recipe,
            dtype=self.conditions.dtype,
            want_norms=self.runtime.on_nan == "rollback",
            num_domains=len(self.data.domains),
        )

    def _advance(self) -> None:
        """Do one update; then log, validate and save if it is time."""
        self._update()
        progress = self.progress
        if progress.update % self.recipe.log_every == 0:
            self._log()
        is_last = progress.update >= self.recipe.max_updates
        if progress.update % self.recipe.validate_every == 0 or is_last:
            self._refuse_broken_weights()
            # The check above waited for the device, so the updates are done when the clock is paused.
            with self._throughput.paused():
                self._validate()
            self._save()
        elif self._agreed(self.workers.is_first and self._save_is_due()) or self.trunk.ends_at(progress.update):
            self._save()

    def _stop_if_asked(self, stop: StopRequest) -> None:
        reason = stop.signal_name or (self._time_is_up() if self.workers.is_first else None)
        if not self._agreed(reason is not None) or self.progress.is_over(self.recipe):
            return
        if self._saved_update != self.progress.update:
            self._save()
        self._agreed(False)  # a barrier: no worker exits before the first one has saved
        raise Interrupted(
            f"{reason or 'another worker was stopped'}: saved at update {self.progress.update} of "
            f"{self.recipe.max_updates}; the same command goes on from there"
        )

    def _agreed(self, wish: bool) -> bool:
        """Return whether `wish` is true on any worker."""
        return bool(self.workers.maximum([wish])[0])

    @property
    def seconds(self) -> float:
        """Return the seconds since this trainer was created."""
        return time.monotonic() - self._started

    def _update(self) -> None:
        progress = self.progress
        self.method.begin_update(progress.update + 1, self.recipe.max_updates)
        self.workers.seed(self.spec.seed, progress.update + 1)
        prepared = self._prefetcher.next()
        chosen, shards = prepared.chosen, prepared.shards
        rate, found = learning_rate(progress.update + 1, self.recipe), None
        if self.graphs is not None:
            found = self.graphs.update(prepared.batches, progress.update + 1, chosen.num_target_tokens, rate)
        if found is None:
            with compiler_errors(self.recipe.compile):
                found = forward_backward(
                    self.method,
                    prepared.batches,
                    self.recipe,
                    self.device,
                    self.conditions.dtype,
                    num_target_tokens=chosen.num_target_tokens,
                    weights=[one.weight for one in shards],
                    parallel=self._parallel,
                    want_norms=self.runtime.on_nan == "rollback",
                    num_domains=len(self.data.domains),
                )
        progress.update += 1
        progress.epoch, progress.position, self._epochs = prepared.epoch, prepared.position, prepared.epochs
        losses = {one.number: named for one, named in zip(shards, found.losses, strict=True)}
        self._meters.add(Step(progress.update, chosen, losses, found.norms, found.domain_sums))
        if not found.is_done:
            self.optimiser.step(rate)
        self._throughput.add(chosen.num_target_tokens)
        self.after_update()

    def _handle_broken_batch(self, what: str) -> None:
        """Write the broken batches to a file, then stop or roll back, as configured; all workers do the same."""
        broken = self._meters.broken_update()
        if broken is None:
            raise TrainingError(f"{what}, and no update was done since the last checkpoint: start another run")
        where = f"batch {str(broken.positions)[1:-1]} of epoch {broken.chosen.epoch}"
        place = f"{what}; it began in update {broken.update}, {where}"
        dump = "the run's folder"
        if self.workers.is_first:
            rate = learning_rate(broken.update, self.recipe)
            dump = str(write_broken(self.store.directory.parent, what, broken, self.data, rate))
        skipped = self.progress.skipped
        if self.runtime.on_nan == "stop" or len(skipped) >= MAX_ROLLBACKS:
            often = f"{MAX_ROLLBACKS} batches were left out before; " if self.runtime.on_nan == "rollback" else ""
            raise TrainingError(
                f"{place}; {often}nothing of it was saved, and its sentences are in {dump}: look at "
                "them, lower training.learning_rate, set clip_norm or on_nan: rollback, then start again"
            )
        self._roll_back(broken, skipped, place)

    def _roll_back(self, broken: BrokenUpdate, skipped: list[dict[str, Any]], place: str) -> None:
        mine = {"update": broken.update, "epoch": broken.chosen.epoch, "positions": broken.positions}
        self.method.model.zero_grad(set_to_none=True)
        if not self.resume():
            raise TrainingError(f"{place}; there is no checkpoint to go back to")
        self.progress.skipped = [*skipped, mine]
        self._prefetcher.seek(self.progress)
        self._begin_graphs()
        self.metrics.append(
            {"event": "rollback", "at_update": broken.update, "to_update": self.progress.update, **mine}
        )
        self._throughput.restart()
        self.say(f"{place}; back to update {self.progress.update}, and on without it")

    def _refuse_broken_weights(self) -> None:
        # A loss is computed before the step of its update, so no loss yet shows that the last step broke a weight.
        if self._agreed(not all(bool(parameter.isfinite().all()) for parameter in self.method.model.parameters())):
            raise NotFinite(f"a weight is no finite number after update {self.progress.update}")

    def _log(self) -> None:
        sums, progress = self._meters.read(), self.progress
        self._meters.clear()
        words, domain_losses = sums.pop("tokens"), pop_domain_losses(sums)
        norm_sum, num_norms = sums.pop(GRADIENT_NORM, 0.0), sums.pop(NUM_NORMS, 0.0)
        loss = sums["generation"] / words
        speed, seconds_per_update = self._throughput.read()
        rate = learning_rate(progress.update, self.recipe)
        self.metrics.append(
            {
                "update": progress.update,
                "epoch": self._epochs,
                "split": "train",
                "domain": "all",
                # Without auxiliary losses, so that methods can be compared.
                "loss": loss,
                "objective": math.fsum(sums.values()) / words,
                "losses": {name: value / words for name, value in sums.items()},
                # The same for each domain, per token.
                **({"domain_losses": domain_losses} if domain_losses else {}),
                "learning_rate": rate,
                "seconds": self.seconds,
                "tokens_per_second": speed,
                # Before clipping; mean over the updates since the last line.
                **({"gradient_norm": norm_sum / num_norms} if num_norms else {}),
            }
        )
        left = (self.recipe.max_updates - progress.update) * seconds_per_update
        self.say(
            f"update {progress.update}/{self.recipe.max_updates}  epoch {progress.epoch}  loss {loss:.3f}  "
            f"rate {rate:.2e}  {speed:,.0f} tokens/s  {left / 60:.1f} min left"
        )

    def _validate(self) -> None:
        progress, first, epoch = self.progress, self.workers.is_first, self._epochs
        here = self.method.model, self.device, self.conditions.dtype
        measures = self.workers.shared_json(self.validation(*here) if first else None)
        sample = self.validation.on_training_text(*here) if first else {}
        for split, measured in ((VALIDATION, measures), (TRAINING_SAMPLE, sample)):
            for domain, values in measured.items():
                place = {"update": progress.update, "epoch": epoch, "split": split, "domain": domain}
                self.metrics.append({**place, **values, "seconds": self.seconds})
        total = measures["all"]
        by_bleu = self.recipe.validation_metric == "bleu" and "bleu" in total
        progress.note_validation(-total["bleu"] if by_bleu else total["loss"])
        bleu = f"  BLEU {total['bleu']:.2f}" if "bleu" in total else ""
        self.say(
            f"validation at {progress.update}: loss {total['loss']:.3f}  ppl {total['ppl']:.2f}  "
            f"accuracy {total['accuracy']:.3f}{bleu}"
        )

    def _save(self) -> None:
        progress = self.progress
        progress.window = self._meters.read()
        self._refuse_broken_weights()
        self._saved_update = progress.update
        if self.workers.is_first:
            with self._throughput.paused():
                self._write_checkpoint()

    def _write_checkpoint(self) -> None:
        progress = self.progress
        if self.lease is not None:
            self.lease.check()
        weights, state = self.method.model.state_dict(), self.conditions.with_progress(progress)
        self.store.save(progress.update, weights, self.optimiser.state(), random_state.capture(), state)
        self.store.prune(self.store.updates()[-KEEP_LAST:], progress.weights_needed(self.recipe))
        if self.trunk.ends_at(progress.update):
            self.trunk.save()
        self._last_save = time.monotonic()

    def _save_is_due(self) -> bool:
        by_count = self.runtime.save_every_updates and self.progress.update % self.runtime.save_every_updates == 0
        return bool(by_count) or time.monotonic() - self._last_save >= 60 * self.runtime.save_every_minutes

    def _time_is_up(self) -> str | None:
        limit = self.runtime.stop_after_minutes
        return f"time limit of {limit:g} min" if limit is not None and self.seconds >= 60 * limit else None

    def say(self, line: str) -> None:
        """Print a line, once for all workers."""
        if self.workers.is_first:
            print(line, flush=True)
