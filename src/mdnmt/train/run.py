"""Train one run from its spec to its final weights, resuming where an earlier attempt stopped."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio, provenance
from mdnmt.checkpoints.average import average_weights
from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.checkpoints.weights import save_model
from mdnmt.config.run import RunSpec
from mdnmt.errors import CheckpointError, DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.methods import build, describe_own, validate
from mdnmt.methods.meta_device import on_meta_device
from mdnmt.methods.method import Method, Trainable, VocabSizes
from mdnmt.models.kernels import using
from mdnmt.paths import RunPaths
from mdnmt.plugins import source_files
from mdnmt.tasks.segmentation.segmenter import segmentation_files
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import usable
from mdnmt.train.conditions import ATTEMPT_KEYS, BEGIN_EVENTS, CONDITIONS, attempt, attempts, last_training
from mdnmt.train.data_parallel import Workers, from_environment
from mdnmt.train.device import choose_device, make_deterministic, refuse_one_gpu_for_all
from mdnmt.train.footprint import device_memory, footprint, require_disk
from mdnmt.train.initialise import InitialWeights, initialise, read_initial
from mdnmt.train.kernel_choice import why_no_triton
from mdnmt.train.layout import why_padded
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics_log import MetricsLog, lost_validations, read_metrics, write_curves
from mdnmt.train.profiling import profiled
from mdnmt.train.signals import StopRequest
from mdnmt.train.tensorboard import TensorBoardLog
from mdnmt.train.token_counts import count_tokens
from mdnmt.train.trainer import RuntimeOptions, Trainer


def count_parameters(spec: RunSpec, data: TaskData) -> int:
    """Return the number of parameters of a run's model, without allocating them."""
    architecture = validate(spec.builder, spec.architecture, where=f"run {spec.fingerprint}", code=spec.code)
    with on_meta_device():
        method = build(spec.builder, architecture, _vocab_sizes(data), len(data.domains))
    return sum(parameter.numel() for parameter in method.model.parameters())


def _vocab_sizes(data: TaskData) -> VocabSizes:
    joint = data.source_vocab.tokens == data.target_vocab.tokens
    return VocabSizes(len(data.source_vocab), len(data.target_vocab), joint)


def build_method(spec: RunSpec, data: TaskData, device: torch.device) -> Method:
    """Return the method of a run for the vocabularies and domains of its task, on `device` and ready to be trained."""
    architecture = validate(spec.builder, spec.architecture, where=f"run {spec.fingerprint}", code=spec.code)
    method = build(spec.builder, architecture, _vocab_sizes(data), len(data.domains)).to(device)
    if method.prepare is not None:
        labels = [data.domains.index(domain) for domain in spec.domains]
        method.prepare(count_tokens(data, usable(data.split("train"), labels, spec.training.max_length), device))
    return method


def copy_segmentation(data: TaskData, folder: Path) -> None:
    """Copy a task's BPE codes and vocabularies to a run's folder, so that the run can translate without the task."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in segmentation_files(data.folder, (data.source_lang, data.target_lang)):
        with fsio.atomic_path(folder / name) as temporary:
            shutil.copyfile(data.folder / name, temporary)
    fsio.write_sums(folder, segmentation_files(folder, (data.source_lang, data.target_lang)))


@dataclass(frozen=True)
class Setup:
    """How a run's data is read and its model built; pretrained models replace these functions.

    Attributes:
        read: returns the task's data in the model's tokens.
        build: returns the method, on the device.
        copy_segmentation: copies the files that turn text into the model's tokens to a folder of the run.
        count_parameters: returns the number of the model's parameters before it is built.
    """

    read: Callable[[RunSpec, TaskData], TaskData] = lambda spec, data: data
    build: Callable[[RunSpec, TaskData, torch.device], Trainable] = build_method
    copy_segmentation: Callable[[TaskData, Path], None] = copy_segmentation
    count_parameters: Callable[[RunSpec, TaskData], int] = count_parameters


def train_run(
    spec: RunSpec,
    task_folder: Path,
    run_folder: Path,
    *,
    initial: Path | None = None,
    method_name: str = "",
    device: str = "auto",
    threads: int | None = None,
    runtime: RuntimeOptions | None = None,
    setup: Setup | None = None,
    workers: Workers | None = None,
) -> None:
    """Train until the run is over and write model.safetensors, curves.tsv and run.json.

    Args:
        spec: the run.
        task_folder: its task's data.
        run_folder: the run's folder; an interrupted run there resumes.
        initial: model.safetensors of the run whose weights this run starts from; None: random weights.
        method_name: its name in config/methods, for the record.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, ...
        threads: CPU threads of torch; None: torch's default.
        runtime: options that change no result, such as when to save and stop.
        setup: how data is read and the model built; None: the task's own tokens and `mdnmt.methods`.
        workers: the group, of which only the first writes; None: as RANK and WORLD_SIZE say, which torchrun sets.

    Raises:
        Interrupted: stopped by a signal or the time limit, with everything saved.
        LostWorker: another worker of the same job is gone.
        ConfigError: `device` does not exist, or names one GPU for several workers.
        LeaseError: another process trains this run.
        DataError: the data is not that of the spec.
        TooLarge: the memory or the disk space is certainly too small.
        CheckpointError: `initial` is not what the spec starts from, or a checkpoint is damaged or cannot be resumed.
    """
    paths, setup, runtime = RunPaths(run_folder), setup or Setup(), runtime or RuntimeOptions()
    workers = workers or from_environment()
    refuse_one_gpu_for_all(device, workers.count)
    first = workers.is_first
    with (
        workers.joined(runtime.worker_timeout_minutes),  # first: the others notice if one that has joined ends
        StopRequest() as stop,
        RunLease(paths.lease) if first else nullcontext() as lease,
        MetricsLog(paths.metrics if first else Path(os.devnull)) as metrics,
        closing(TensorBoardLog(run_folder)) if first and runtime.tensorboard else nullcontext() as tensorboard,
    ):
        data = _load_data(spec, task_folder)
        make_deterministic(spec.seed, threads)
        chosen = choose_device(device)
        _refuse_too_large(spec, data, setup.count_parameters(spec, data), chosen, run_folder)
        data = setup.read(spec, data)
        method = setup.build(spec, data, chosen)
        start = read_initial(spec, initial)
        trainer = Trainer(
            spec,
            data,
            method,
            device=chosen,
            store=CheckpointStore(paths.checkpoints, spec.fingerprint),
            metrics=metrics,
            lease=lease,
            runtime=runtime,
            workers=workers,
        )
        _train(trainer, start, stop, tensorboard)
        if first:
            origin = {"initial_model_sha256": start.sha256} if start is not None else {}
            setup.copy_segmentation(data, paths.segmentation)
            _finish(trainer, paths, method_name, origin)


def _keep_code(spec: RunSpec, folder: Path) -> None:
    """Copy code that the package does not have to the run's folder: an edit must not lose what trained the run."""
    for name, content in source_files(spec.code).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        fsio.write_bytes(folder / name, content)


def _load_data(spec: RunSpec, folder: Path) -> TaskData:
    data = TaskData.load(folder)
    if data.fingerprint != spec.task_fingerprint:
        raise DataError(
            f"{folder}: holds data {data.fingerprint}, but the run was planned for {spec.task_fingerprint}; "
            "start snakemake again, so that it plans with the data as they are now"
        )
    if unknown := [domain for domain in spec.domains if domain not in data.domains]:
        raise DataError(f"{folder}: has no domain {unknown[0]!r}; it has {', '.join(data.domains)}")
    return data


def _refuse_too_large(spec: RunSpec, data: TaskData, parameters: int, device: torch.device, folder: Path) -> None:
    needed = footprint(parameters, spec.architecture, len(data.target_vocab), spec.training, len(data.domains))
    needed.require(device_memory(device), f"run {spec.fingerprint}")
    require_disk(folder, parameters, spec.training)


def _train(
    trainer: Trainer, start: InitialWeights | None, stop: StopRequest, tensorboard: TensorBoardLog | None
) -> None:
    shared = trainer.trunk.begin(trainer.conditions) if trainer.workers.is_first else None
    resumed = trainer.resume()
    if trainer.workers.is_first:
        _keep_code(trainer.spec, RunPaths(trainer.store.directory.parent).code)
    if not resumed and start is not None:
        initialise(trainer.method.model, start)
    if tensorboard is not None:
        tensorboard.begin(trainer.progress.update)
        trainer.metrics.mirror = tensorboard.append
    event = "resume" if resumed else "start"
    began = {"event": event, "at_update": trainer.progress.update, "workers": trainer.workers.count}
    began["max_updates"] = trainer.recipe.max_updates
    if shared is not None:
        began["trunk"] = trainer.trunk.folder.name
    if trainer.device.type == "cuda":
        began["graphs"] = trainer.runtime.graphs
    trainer.metrics.append({**began, **attempt(trainer.conditions, trainer.device)})
    if resumed:
        what = "a shorter run came to" if shared is not None else "resumed at"
        trainer.say(f"{what} update {trainer.progress.update} of {trainer.recipe.max_updates}")
    if trainer.device.type == "cuda":
        reason = why_padded(trainer.method, trainer.recipe, trainer.device)
        if trainer.recipe.layout == "auto" and reason:
            trainer.say(f"training.layout: auto is padded here: {reason}")
        if trainer.recipe.kernels == "auto" and (reason := why_no_triton(trainer.device)):
            trainer.say(f"training.kernels: auto is plain here: {reason}")
    try:
        updates = trainer.runtime.profile_updates if trainer.workers.is_first else 0
        with (
            using(trainer.conditions.kernels),
            profiled(trainer.store.directory.parent, updates, trainer.device) as trainer.after_update,
        ):
            trainer.run(stop)
    finally:
        end: dict[str, Any] = {"event": "end", "at_update": trainer.progress.update, "seconds": trainer.seconds}
        if trainer.graphs is not None:
            end |= {"replayed_updates": trainer.graphs.num_replayed, "graphs_failed": trainer.graphs.failure}
        trainer.metrics.append(end)


def describe(spec: RunSpec, data: TaskData, method_name: str) -> dict[str, Any]:
    """Return the part of run.json that identifies a run: method, task, seed, spec, domains and languages."""
    return {
        "method": method_name,
        "task": data.name,
        "seed": spec.seed,
        "fingerprint": spec.fingerprint,
        "spec": spec.model_dump(mode="json"),
        **({"plugin": describe_own(spec.builder, spec.code)} if spec.code else {}),
        "domains": list(data.domains),
        "source_lang": data.source_lang,
        "target_lang": data.target_lang,
    }


def _finish(trainer: Trainer, paths: RunPaths, method_name: str, origin: dict[str, str]) -> None:
    progress = trainer.progress
    averaged, others = progress.final(trainer.recipe), progress.alternative(trainer.recipe)
    alternative: dict[str, Any] = {}
    if others != averaged:
        alternative = {
            "alternative_updates": others,
            "alternative_validation": _write_weights(trainer, others, paths.alternative),
            "alternative_sha256": sha256_file(paths.alternative),
        }
    final = _write_weights(trainer, averaged, paths.model)
    records = read_metrics(paths.metrics)
    if lost := lost_validations(records, trainer.recipe.validate_every, progress.update):
        print(f"mdnmt: {paths.metrics}: lost the validation at update {lost[0]}; curves lack it", file=sys.stderr)
    here = attempt(trainer.conditions, trainer.device)
    trained = last_training(records, progress.update)
    made_by = {key: value for key, value in (trained or here).items() if key in ATTEMPT_KEYS}
    write_curves(records, paths.curves)
    fsio.write_sums(paths.folder, [paths.curves.name])
    fsio.write_sealed(
        paths.record,
        {
            **describe(trainer.spec, trainer.data, method_name),
            "updates": progress.update,
            "epochs": progress.epoch,
            "best_update": progress.best_update,
            "averaged_updates": averaged,
            "validation": final,
            **alternative,
            "num_parameters": sum(parameter.numel() for parameter in trainer.method.model.parameters()),
            "model_sha256": sha256_file(paths.model),
            "seconds": sum(_slice_seconds(records)),
            "resumes": sum(record.get("event") == "resume" for record in records),
            "skipped_batches": progress.skipped,
            "workers": trainer.workers.count,
            **{key: trained.get(key, here[key]) for key in ("device", *CONDITIONS)},
            "attempts": attempts(records),
            "threads": torch.get_num_threads(),
            "provenance": {**provenance.collect(), **made_by, **origin},
        },
    )
    trainer.store.finish([paths.model, *([paths.alternative] if alternative else [])])


def _write_weights(trainer: Trainer, updates: list[int], path: Path) -> dict[str, dict[str, float]]:
    """Write the mean of the weights at `updates`, leave it in the model, and return its validation measures.

    Raises:
        CheckpointError: a checkpoint is damaged.
    """
    store = trainer.store
    have = {*store.updates(), *store.weights_updates()}
    try:
        if not have.issuperset(updates) and store.result(path).exists():
            weights = store.load_result(path)  # the run was finished before
        else:
            weights = average_weights(store.load_weights(update) for update in updates)
    except InvalidCheckpoint as refusal:
        raise CheckpointError(
            f"{refusal}; the final weights need it: remove it and all later checkpoints, then start the same command "
            "again, which resumes from the last one before that is whole"
        ) from None
    trainer.method.model.load_state_dict(weights)
    with using(trainer.conditions.kernels):
        measures = trainer.validation(trainer.method.model, trainer.device, trainer.conditions.dtype)
    # Saved from the model, in which tied weights are one tensor again and so are stored once.
    save_model(path, trainer.method.model.state_dict(), {"run": trainer.spec.fingerprint})
    return measures


def _slice_seconds(records: Iterable[dict[str, Any]]) -> list[float]:
    """Return the seconds of each attempt; of a killed one, those up to its last measurement."""
    slices: list[float] = []
    for record in records:
        if record.get("event") in BEGIN_EVENTS:
            slices.append(0.0)
        elif slices and "seconds" in record:
            slices[-1] = float(record["seconds"])
    return slices
