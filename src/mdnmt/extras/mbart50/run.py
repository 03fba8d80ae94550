"""Make a run of mBART-50: fine-tune it with the same trainer as every method, or record which weights it uses."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio, provenance
from mdnmt.checkpoints.weights import save_model
from mdnmt.config.run import RunSpec
from mdnmt.errors import DataError
from mdnmt.extras.mbart50.config import Mbart50Config, language_codes, validate
from mdnmt.extras.mbart50.data import MbartData, MbartTokenizer
from mdnmt.extras.mbart50.model import count_parameters, empty, load_pretrained
from mdnmt.extras.mbart50.weight_files import CONFIG, PIECES, verified_folder
from mdnmt.fingerprint import sha256_file
from mdnmt.methods.method import Trainable
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.paths import PRETRAINED, RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.metrics_log import write_curves
from mdnmt.train.run import Setup, describe, train_run


def make_run(spec: RunSpec, task_folder: Path, run_folder: Path, *, root: Path = PRETRAINED, **options: Any) -> None:
    """Make the run and write the same files as any run.

    Args:
        spec: the run; its builder is mbart50.
        task_folder: its task's data.
        run_folder: folder of the run; an interrupted fine-tuning there resumes.
        root: folder of the pretrained weights.
        options: those of `mdnmt.train.run.train_run`.

    Raises:
        DataError: the weights are missing, or differ from those that the run was planned with.
        Interrupted: fine-tuning was stopped, with everything saved.
    """
    config = validate(spec.architecture, where=f"run {spec.fingerprint}")
    folder = verified_folder(config, root)
    if config.use == "zero-shot":
        _note(spec, config, folder, task_folder, run_folder, str(options.get("method_name", "")))
    else:
        train_run(spec, task_folder, run_folder, setup=setup(config, folder), **options)


def setup_of(spec: RunSpec, root: Path = PRETRAINED) -> Setup | None:
    """Return what the trainer needs for a run; None if nothing is trained.

    Raises:
        DataError: the weights that it starts from are missing or differ.
    """
    config = validate(spec.architecture, where=f"run {spec.fingerprint}")
    return setup(config, verified_folder(config, root)) if config.use == "fine-tune" else None


def setup(config: Mbart50Config, folder: Path) -> Setup:
    """Return what the trainer needs in order to fine-tune the weights in a folder."""

    def read(spec: RunSpec, task: TaskData) -> TaskData:
        codes = language_codes(config, task.source_lang, task.target_lang)
        return MbartData(task, MbartTokenizer(folder, *codes), spec.domains, config.pairs_per_domain)

    def build(spec: RunSpec, data: TaskData, device: torch.device) -> Trainable:
        model = load_pretrained(folder, dropout=config.dropout, attention_dropout=config.attention_dropout)
        return Trainable(model.to(device), [LabelSmoothedCrossEntropy(config.label_smoothing)])

    # config.json gives the size of the model, and the loader checks that the weights fit.
    return Setup(
        read=read,
        build=build,
        copy_segmentation=lambda _, kept: copy_tokenizer(folder, kept),
        count_parameters=lambda spec, data: count_parameters(empty(folder)),
    )


def copy_tokenizer(folder: Path, kept: Path) -> None:
    """Copy configuration and tokenizer to a run's folder, so that it can translate without the original weights."""
    kept.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, PIECES):
        with fsio.atomic_path(kept / name) as temporary:
            shutil.copyfile(folder / name, temporary)
    fsio.write_sums(kept, (CONFIG, PIECES))


def _note(
    spec: RunSpec, config: Mbart50Config, folder: Path, task_folder: Path, run_folder: Path, method_name: str
) -> None:
    """Write the files of a run without training; its model.safetensors only names the weights that are used."""
    data, paths = TaskData.load(task_folder), RunPaths(run_folder)
    if data.fingerprint != spec.task_fingerprint:
        raise DataError(f"{task_folder}: holds data {data.fingerprint}, but the run is for {spec.task_fingerprint}")
    language_codes(config, data.source_lang, data.target_lang)
    copy_tokenizer(folder, paths.segmentation)
    save_model(paths.model, {}, {"run": spec.fingerprint, "weights": config.weights})
    write_curves([], paths.curves)
    fsio.write_sums(paths.folder, [paths.curves.name])
    fsio.write_sealed(
        paths.record,
        {
            **describe(spec, data, method_name),
            "updates": 0,
            "epochs": 0,
            "best_update": None,
            "averaged_updates": [],
            "validation": {},
            "num_parameters": count_parameters(empty(folder)),
            "model_sha256": sha256_file(paths.model),
            "seconds": 0.0,
            "resumes": 0,
            "provenance": provenance.collect(),
        },
    )
