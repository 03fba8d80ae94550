"""COMET of translations (Rei et al. 2020; 2022) by `unbabel-comet`, offline; only this module imports the library.

The library would unpickle the whole checkpoint, which can execute arbitrary code. This module reads only tensors and
plain values, builds the model from the checkpoint's own options, and requires all of its weights. The library's
`predict` starts a Lightning trainer, which takes over signals and looks for cluster settings. This module calls the
model batch by batch in the same order, so the scores are the same to the last bit.
"""

from __future__ import annotations

import inspect
import logging
import math
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mdnmt.config.comet import CometConfig
from mdnmt.config.loader import load_yaml
from mdnmt.errors import ConfigError, DataError
from mdnmt.fsio import write_sealed
from mdnmt.score.metrics.comet_environment import PYTHON
from mdnmt.score.metrics.comet_files import CHECKPOINT, ENCODER, HPARAMS, segments_of, verified
from mdnmt.score.test_sets import TestSets
from mdnmt.training_code import made_by

METRIC = "comet"
KIND = "regression_metric"  # COMET's name for models that score a translation given its source and a reference
TOY_MARK = "toy"  # key in hparams.yaml of a model with random weights
# In published checkpoints, but no longer in the model: newer transformers compute it from the configuration.
_LEFT_OVER = {"encoder.model.embeddings.position_ids"}
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY")


def score_domains(
    test_sets: TestSets, hypotheses_dir: Path, config: CometConfig, root: Path, device: torch.device
) -> tuple[dict[str, Any], dict[str, list[float]]]:
    """Score the hypotheses in `hypotheses_dir` for all domains of the task.

    Returns:
        The content of comet.json in the format of scores.json: {"domains": {domain: {"comet": {"score" (mean of the
        sentences x 100, unrounded), "signature"}, "num_sentences", "splits"}}, "mean": {"comet"}, "model": {"name",
        "checkpoint_sha256", "sha256", "toy"}}; and domain -> the model's output for each sentence.

    Raises:
        DataError: hypotheses are missing or too few, the model's files are not the expected ones, or a score is NaN or
            infinite.
        ConfigError: the library is not installed.
    """
    texts = {
        domain: (test_sets.sources(domain), test_sets.hypotheses(hypotheses_dir, domain), test_sets.references(domain))
        for domain in test_sets.domains
    }
    files = verified(config, root)
    model, toy = load(files.folder)
    model.to(device=device, dtype=torch.float16 if config.precision == "float16" else torch.float32)
    signature = _signature(config, files.checkpoint_sha256, device, toy)
    scored: dict[str, Any] = {}
    segments: dict[str, list[float]] = {}
    for domain, (sources, hypotheses, references) in texts.items():
        found = segment_scores(model, sources, hypotheses, references, config.batch_size)
        if wrong := [number for number, score in enumerate(found, start=1) if not math.isfinite(score)]:
            raise DataError(
                f"{hypotheses_dir}: line {wrong[0]} of {domain} has a COMET score that is not a finite number; with "
                "float16 it may be too large: score with precision float32"
            )
        segments[domain] = found
        mean = math.fsum(found) / len(found)
        scored[domain] = {METRIC: {"score": 100 * mean, "signature": signature}, "num_sentences": len(found)}
        if test_sets.splits:
            scored[domain]["splits"] = {name: hashes[domain] for name, hashes in test_sets.splits.items()}
    average = sum(values[METRIC]["score"] for values in scored.values()) / len(scored)
    of = {"name": config.name, "checkpoint_sha256": files.checkpoint_sha256, "sha256": files.sha256, "toy": toy}
    return {"domains": scored, "mean": {METRIC: average}, "model": of}, segments


def write_scores(
    path: Path, scores: dict[str, Any], segments: dict[str, list[float]], made_from: Sequence[Path] = ()
) -> None:
    """Write comet.json to `path`, and the sentence scores, {"domains": ...}, beside it as <name>.segments.json."""
    made = made_by("comet")
    write_sealed(segments_of(path), {"domains": segments}, made_from, made_by=made)
    write_sealed(path, scores, made_from, made_by=made)


def segment_scores(
    model: Any, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str], batch_size: int
) -> list[float]:
    """Return the model's score of each sentence, about 0 to 1; an empty hypothesis is scored like any other."""
    # Stripped as comet-score does; tabs and other line separators inside a line belong to the text.
    texts = [
        {"src": source.strip(), "mt": hypothesis.strip(), "ref": reference.strip()}
        for source, hypothesis, reference in zip(sources, hypotheses, references, strict=True)
    ]
    order = np.argsort([len(text["src"]) for text in texts])  # as in the library, ties included
    scores = [0.0] * len(texts)
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size].tolist()
            inputs = model.prepare_for_inference([texts[row] for row in rows])
            found_B = model(**{name: tensor.to(model.device) for name, tensor in inputs.items()}).score
            for row, score in zip(rows, found_B.tolist(), strict=True):
                scores[row] = score
    return scores


def load(folder: Path) -> tuple[Any, bool]:
    """Return the model in a folder, on the CPU and in float32, and whether it is a toy.

    Raises:
        DataError: it is not a COMET model of the supported kind, is damaged or incomplete, or contains other objects
            than tensors and plain values.
        ConfigError: the library is not installed, or hparams.yaml cannot be read.
    """
    where, path = folder / HPARAMS, folder / CHECKPOINT
    beside = load_yaml(where)
    if not isinstance(beside, dict) or beside.get("class_identifier") != KIND:
        found = beside.get("class_identifier") if isinstance(beside, dict) else beside
        raise DataError(f"{where}: class_identifier is {found!r}, expected {KIND!r}: a model that reads references")
    saved = _read(path)
    hparams, weights = saved.get("hyper_parameters"), saved.get("state_dict")
    if not isinstance(hparams, dict) or not isinstance(weights, dict):
        raise DataError(f"{path}: lacks hyper_parameters or state_dict; expected a checkpoint as COMET is published")
    if beside.get("layer_transformation") == "sparsemax_patch":
        # The library does the same for models that say sparsemax but were trained with softmax.
        hparams = {**hparams, "layer_transformation": "softmax"}
    model = build(hparams, folder / ENCODER)
    try:
        missing, unexpected = model.load_state_dict(weights, strict=False)
    except (RuntimeError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: does not fit {folder / ENCODER} ({_last_line(error)})") from None
    if odd := sorted(missing) or sorted(set(unexpected) - _LEFT_OVER):
        what = "lacks" if missing else "has, beside the model's weights,"
        raise DataError(f"{path}: {what} {odd[0]}; it is not the checkpoint of the model in hparams.yaml")
    return model.eval(), beside.get(TOY_MARK) is True


def build(hparams: dict[str, Any], encoder: Path) -> Any:
    """Return the library's model for the options of a checkpoint, with random weights.

    Args:
        hparams: the checkpoint's `hyper_parameters`; the encoder that they name is ignored.
        encoder: folder with the encoder's configuration and tokenizer.

    Raises:
        DataError: the options do not fit such a model, or the encoder cannot be read.
        ConfigError: the library is not installed.
    """
    kind = library()
    accepted = inspect.signature(kind.__init__).parameters
    options = {name: value for name, value in hparams.items() if name in accepted}
    options |= {"pretrained_model": str(encoder), "load_pretrained_weights": False, "local_files_only": True}
    try:
        return kind(**options)
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{encoder}: no COMET model can be made with it ({_last_line(error)})") from None


def library() -> Any:
    """Return the library's model class, imported in offline mode."""
    os.environ.update(dict.fromkeys(_OFFLINE, "1"))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecation warnings of its pinned dependencies
            from comet.models import RegressionMetric
    except ImportError as error:
        raise ConfigError(
            f"COMET cannot be imported ({error}): it has an environment of its own; `mdnmt comet --make-environment` "
            f"makes it, `{PYTHON} -m mdnmt comet` scores there"
        ) from None
    logging.getLogger("comet").setLevel(logging.ERROR)
    return RegressionMetric


def _read(path: Path) -> dict[str, Any]:
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # among others pickle.UnpicklingError, and importing pickle is banned
        asked = re.search(r"(?:GLOBAL|Unsupported \w+) ([\w.]+)", str(error))
        if asked is not None:
            raise DataError(
                f"{path}: refused: holds more than weights and asks for {asked[1]}, which could run any code; get the "
                "published checkpoint"
            ) from None
        raise DataError(f"{path}: is damaged, or no checkpoint ({_last_line(error)}); get it again") from None
    if not isinstance(saved, dict):
        raise DataError(f"{path}: holds a {type(saved).__name__}, expected a checkpoint as COMET is published")
    return saved


def _signature(config: CometConfig, checkpoint_sha256: str, device: torch.device, toy: bool) -> str:
    from importlib.metadata import version

    parts = [f"model:{config.name}", *(["toy:random-weights"] if toy else []), f"checkpoint:{checkpoint_sha256[:12]}"]
    parts += [f"precision:{config.precision}", f"batch:{config.batch_size}", f"device:{device.type}"]
    return "|".join([*parts, f"version:{version('unbabel-comet')}"])


def _last_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
