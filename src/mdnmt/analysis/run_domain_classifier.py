"""The domain classifier of a run's task, kept in the run's folder so that any text can be labelled without the task."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from sklearn.pipeline import Pipeline
from torch import Tensor

from mdnmt.analysis.domain_classifier import train, untrained
from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.decode.translator import read_record
from mdnmt.errors import CheckpointError, ConfigError, DataError
from mdnmt.fingerprint import fingerprint
from mdnmt.fsio import link_or_copy
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import MANIFEST, TaskData


class RunDomainClassifier:
    """Predicts the domain of any text, with the classifier of `mdnmt predict-labels`."""

    def __init__(self, run_folder: Path, task: Path | None = None) -> None:
        """Load the classifier from the run's folder; train it first, if it is not there.

        A trained classifier is kept in the task's folder, for other runs, and in the run's.

        Args:
            run_folder: a finished run.
            task: folder of the task's data; None: beside the folder of all runs.

        Raises:
            ConfigError: the classifier is not there, and neither is the data to train it; or the run was imported.
            DataError: the run, the data or the classifier is damaged, or the data is that of another task.
        """
        record, spec = read_record(RunPaths(run_folder).record)
        self.domains = tuple(map(str, record["domains"]))
        name = f"domain-classifier-{fingerprint('labels', {})}.safetensors"
        kept = run_folder / name
        if not kept.exists():
            if "task" not in record:
                raise ConfigError(
                    f"{run_folder}: was imported, so no task has text to train a classifier; give --domain or --domains"
                )
            default = run_folder / "../../../../tasks" / f"{record['task']}-{spec.task_fingerprint}"
            # Not resolved, because `results/runs` itself may be a link to another disk.
            task = task or Path(os.path.abspath(default))  # noqa: PTH100  (Path.absolute keeps "..")
            if not (task / MANIFEST).exists():
                raise ConfigError(
                    f"{kept}: missing, and {task} has no data to train this classifier; make the task's data with the "
                    "study (snakemake), name its folder with --task, or give --domain or --domains"
                )
            data = TaskData.load(task)
            if data.fingerprint != spec.task_fingerprint:
                raise DataError(
                    f"{task}: holds data {data.fingerprint}, but the run was trained on {spec.task_fingerprint}; "
                    "name the run's own task with --task"
                )
            if not (task / name).exists():
                print(
                    f"training the domain classifier of {task}, once: up to some minutes", file=sys.stderr, flush=True
                )
                save(train(data)[0], task / name)
            link_or_copy(task / name, kept)
        self._model = load(kept)

    def predict(self, lines: Sequence[str]) -> list[str]:
        """Return the predicted domain of each line."""
        return [self.domains[label] for label in self._model.predict(lines)]


def save(model: Pipeline, path: Path) -> None:
    """Write a trained classifier as tensors, because unpickling a file runs its code."""
    union, regression = model[0], model[1]
    tensors = {
        "classes": torch.from_numpy(regression.classes_),
        "coef": torch.from_numpy(regression.coef_),
        "intercept": torch.from_numpy(regression.intercept_),
    }
    for name, vectorizer in union.transformer_list:
        terms = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
        # No n-gram contains a newline.
        tensors[f"{name}.terms"] = torch.tensor(bytearray("\n".join(terms).encode()), dtype=torch.uint8)
        tensors[f"{name}.idf"] = torch.from_numpy(vectorizer.idf_)
    save_model(path, tensors)


def load(path: Path) -> Pipeline:
    """Return the classifier that `save` wrote.

    Raises:
        DataError: it is damaged.
    """
    model = untrained()
    try:
        tensors: dict[str, Tensor] = load_model(path)
        for name, vectorizer in model[0].transformer_list:
            vectorizer.vocabulary = bytes(tensors[f"{name}.terms"].tolist()).decode().split("\n")
            vectorizer.idf_ = np.asarray(tensors[f"{name}.idf"])
        for key in ("classes", "coef", "intercept"):
            setattr(model[1], f"{key}_", np.asarray(tensors[key]))
    except (CheckpointError, KeyError, ValueError) as error:
        raise DataError(f"{path}: no classifier ({error}); remove it, and it is trained again") from None
    return model
