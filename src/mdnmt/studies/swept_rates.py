"""Choose learning rates from the finished runs of a sweep, for other studies to read."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

from mdnmt.config.learning_rates import ChosenRate, LearningRates
from mdnmt.errors import ConfigError, DataError
from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.studies.study import Run, Study


def swept_rates(study: Study, results: Path, *, finished_only: bool = False) -> LearningRates:
    """Return the best rate of each method that the study lists: the one with the lowest validation loss.

    The loss is the mean over the runs of a method (domains, tasks and seeds). Of equal losses the lower rate wins.

    Args:
        study: the sweep.
        results: the folder with its runs.
        finished_only: leave out methods with a run that is not finished.

    Raises:
        ConfigError: the study sweeps nothing.
        DataError: a run is not finished, or two runs of a method and a rate differ in more than task, domain and seed.
    """
    if not study.config.rate_sweep:
        raise ConfigError(f"study {study.name}: found no rate_sweep, expected a study that sweeps learning rates")
    found: dict[str, dict[float, list[float]]] = {}
    unfinished = set()
    for run in study.runs:
        variant = study.config.variants.get(run.method)
        method = variant.method if variant else run.method
        if finished_only and not _record(run, results).exists():
            unfinished.add(method)
            continue
        losses = found.setdefault(method, {})
        losses.setdefault(run.planned.training.learning_rate, []).append(_loss(run, results))
    chosen = {}
    found = {method: losses for method, losses in found.items() if method not in unfinished}
    for method, losses in found.items():
        means = {rate: round(fmean(values), 4) for rate, values in sorted(losses.items())}
        best = min(means, key=lambda rate: (means[rate], rate))
        chosen[method] = ChosenRate(learning_rate=best, validation_loss=dict(means))
    return LearningRates(study=study.name, methods=chosen)


def as_yaml(rates: LearningRates) -> str:
    """Return the table as the text of its file."""
    lines = [
        "# yaml-language-server: $schema=../schema/learning-rates.json",
        f"# Written by `mdnmt rates {rates.study}`. Do not edit it by hand.",
        f"study: {rates.study}",
        "methods:" if rates.methods else "methods: {}",
    ]
    for method, row in rates.methods.items():
        losses = ", ".join(f"{rate:.10f}".rstrip("0") + f": {loss}" for rate, loss in row.validation_loss.items())
        chosen = f"{row.learning_rate:.10f}".rstrip("0")
        lines.append(f"  {method}: {{learning_rate: {chosen}, validation_loss: {{{losses}}}}}")
    return "\n".join(lines) + "\n"


def _record(run: Run, results: Path) -> Path:
    return RunPaths(results / "runs" / run.address).record


def _loss(run: Run, results: Path) -> float:
    path = _record(run, results)
    try:
        return float(read_json(path)["validation"]["all"]["loss"])
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; train this run first, all rates of the sweep are compared") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path}: expected validation.all.loss ({error!r}); train the run again") from error
