"""Make a run of a pretrained model: train it with the same trainer as every method, or record which weights it uses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio, provenance
from mdnmt.checkpoints.weights import save_model
from mdnmt.config.run import RunSpec
from mdnmt.errors import DataError
from mdnmt.extras.pretrained.config import PretrainedConfig, validate
from mdnmt.extras.pretrained.model import count_parameters, load_pretrained
from mdnmt.extras.pretrained.task_text import PretrainedData
from mdnmt.extras.pretrained.tokenizer import PretrainedTokenizer
from mdnmt.extras.pretrained.weights import CONFIG, TOKENIZER, verified_folder
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
        spec: the run; its builder is `pretrained`.
        task_folder: its task's data.
        run_folder: folder of the run; an interrupted training there resumes.
        root: folder of the pretrained weights.
        options: those of `mdnmt.train.run.train_run`.

    Raises:
        ConfigError: the model does not know a language of the task.
        DataError: the weights are missing, or differ from those that the run was planned with.
        Interrupted: training was stopped, with everything saved.
    """
    config = validate(spec.architecture, where=f"run {spec.fingerprint}")
    folder = verified_folder(config, root)
    if config.use == "zero-shot":
        _note(spec, config, folder, task_folder, run_folder, str(options.get("method_name", "")))
    else:
        train_run(spec, task_folder, run_folder, setup=_setup(config, folder), **options)


def setup_of(spec: RunSpec, root: Path = PRETRAINED) -> Setup | None:
    """Return what the trainer needs for a run; None if nothing is trained.

    Raises:
        DataError: the weights that it starts from are missing or differ.
    """
    config = validate(spec.architecture, where=f"run {spec.fingerprint}")
    return _setup(config, verified_folder(config, root)) if config.use != "zero-shot" else None


def tokenizer_of(config: PretrainedConfig, folder: Path, source_lang: str, target_lang: str) -> PretrainedTokenizer:
    """Return the tokenizer in a folder for the languages of a task; raises as `PretrainedTokenizer`."""
    return PretrainedTokenizer(folder, source_lang, target_lang, config.codes, config.weights)


def _setup(config: PretrainedConfig, folder: Path) -> Setup:
    """Return what the trainer needs in order to train the weights in a folder."""

    def read(spec: RunSpec, task: TaskData) -> TaskData:
        tokenizer = tokenizer_of(config, folder, task.source_lang, task.target_lang)
        return PretrainedData(task, tokenizer, spec.domains, config.pairs_per_domain)

    def build(spec: RunSpec, data: TaskData, device: torch.device) -> Trainable:
        model = load_pretrained(folder, config)
        return Trainable(model.to(device), [LabelSmoothedCrossEntropy(config.label_smoothing)])

    def parameters(spec: RunSpec, data: TaskData) -> int:
        # Frozen weights have no gradient, no moments of Adam and no checkpoints.
        return count_parameters(folder, config) // (4 if config.use == "lora" else 1)

    return Setup(
        read=read,
        build=build,
        copy_segmentation=lambda _, kept: _copy_tokenizer(folder, kept),
        count_parameters=parameters,
    )


def _copy_tokenizer(folder: Path, kept: Path) -> None:
    """Copy configuration and tokenizer to a run's folder."""
    names = [name for name in (CONFIG, *TOKENIZER) if (folder / name).is_file()]
    for name in names:
        fsio.write_bytes(kept / name, (folder / name).read_bytes())
    fsio.write_sums(kept, names)


def _note(
    spec: RunSpec, config: PretrainedConfig, folder: Path, task_folder: Path, run_folder: Path, method_name: str
) -> None:
    """Write the files of a run without training; its model.safetensors only names the weights that are used."""
    data, paths = TaskData.load(task_folder), RunPaths(run_folder)
    if data.fingerprint != spec.task_fingerprint:
        raise DataError(f"{task_folder}: holds data {data.fingerprint}, but the run is for {spec.task_fingerprint}")
    tokenizer_of(config, folder, data.source_lang, data.target_lang)
    _copy_tokenizer(folder, paths.segmentation)
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
            "num_parameters": count_parameters(folder, config),
            "model_sha256": sha256_file(paths.model),
            "seconds": 0.0,
            "resumes": 0,
            "provenance": provenance.collect(),
        },
    )
