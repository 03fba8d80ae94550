"""The files that hold a study's measured numbers, and how each kind of file is read into rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.errors import DataError
from mdnmt.fsio import read_json
from mdnmt.numbers.curve_points import curve_points
from mdnmt.numbers.score_file import read_scores
from mdnmt.paths import address

COLUMNS = (
    "task", "method", "variant", "label_condition", "seed", "split", "domain", "metric", "at", "value", "n",
    "signature", "run", "source",
)  # fmt: skip
EXTERNAL = "external"  # the variant of a system that is not trained here
ALL = "all"  # the domain of a number that is measured over all domains together
# Column of curves.tsv -> name of the metric and factor: shares are percentages, as in scores.json.
CURVES = {
    "loss": ("loss", 1.0),
    "nll": ("nll", 1.0),
    "ppl": ("perplexity", 1.0),
    "accuracy": ("accuracy", 100.0),
    "bleu": ("bleu", 1.0),
    "learning_rate": ("learning_rate", 1.0),
}
# Of significance tests; a metric's numbers are called `bleu_delta`, `bleu_p`, ...
TESTED = ("delta", "low", "high", "p", "p_corrected")
PRINTED = "printed"  # a measure of figures that show printed numbers
Row = dict[str, Any]


class System(Frozen):
    """A system that a file of a whole table or figure names.

    Attributes:
        method: as in `NumberSource`.
        variant: as in `NumberSource`.
        runs: seed -> folder of the run.
    """

    method: str
    variant: str = ""
    runs: dict[int, Path] = Field({})


class NumberSource(Frozen):
    """A file with measured numbers, of one system or of all systems of a table or figure.

    Attributes:
        kind: what the file is.
        path: the file.
        task: the task.
        method: the method's name in config/methods; "copy-source" for the untranslated source; the name in the study of
            a system that is not trained here.
        variant: the name of the study's variant, or of a run on one domain alone; "external" for a system that is not
            trained here; empty for the method itself.
        label_condition: gold, wrong, missing or predicted domain labels at translation time; empty if nothing is
            translated.
        seed: the training seed, or the number of the output of a system that is not trained here; None if neither
            exists.
        split: test or valid, for scores.
        run: the folder of the run; None if nothing was trained.
        systems: name in the file -> system, for a file with several, which has no method, seed and run of its own.
    """

    kind: Literal["scores", "curves", "resources", "significance", "measures"]
    path: Path
    task: str
    method: str = ""
    variant: str = ""
    label_condition: str = ""
    seed: int | None = None
    split: str = ""
    run: Path | None = None
    systems: dict[str, System] = Field({})

    @property
    def exhibit(self) -> Literal["significance", "figures"] | None:
        """Return the folder of the study's exhibit that the file belongs to; None: it is of a run or a task."""
        return {"significance": "significance", "measures": "figures"}.get(self.kind)  # type: ignore[return-value]


class NumberSources(Frozen):
    """All files with the numbers of a study."""

    sources: tuple[NumberSource, ...]


def shown_source(source: NumberSource) -> str:
    """Return how the table names a file."""
    return address(source.path) or source.path.as_posix()


def read_source(source: NumberSource) -> list[Row]:
    """Return the rows of one file, without those whose value is NaN or infinite.

    Raises:
        DataError: the file is missing, damaged, or not of its kind.
    """
    known = {
        "task": source.task,
        "method": source.method,
        "variant": source.variant,
        "label_condition": source.label_condition,
        "seed": source.seed,
        "split": source.split,
        "at": "",
        "n": None,
        "signature": "",
        "run": _address(source.run),
        "source": shown_source(source),
    }
    try:
        rows = [{**known, **row} for row in _READERS[source.kind](source)]
    except FileNotFoundError:
        raise DataError(f"{source.path}: no such file; start snakemake again, which makes it") from None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{source.path}: expected {source.kind} ({type(error).__name__}: {error}); remove it and start snakemake "
            "again"
        ) from error
    return [row for row in rows if math.isfinite(row["value"])]


def _scores(source: NumberSource) -> Iterator[Row]:
    """Yield the scores of each domain, and those of all validation sets as one text."""
    found = read_scores(source.path)
    for domain, of in (*found.domains.items(), *(((ALL, found.concatenated),) if found.concatenated else ())):
        for metric, score in of.scores.items():
            row = {"domain": domain, "metric": metric, "value": score.value}
            yield {**row, "n": of.num_sentences, "signature": score.signature}


def _curves(source: NumberSource) -> Iterator[Row]:
    """Yield what curves.tsv holds; `at` says after which update."""
    for point in curve_points(source.path):
        where = {"split": point.split, "domain": point.domain, "at": f"update={point.update}"}
        for column, (metric, factor) in CURVES.items():
            if column in point.values:
                yield {**where, "metric": metric, "value": factor * point.values[column]}


def _resources(source: NumberSource) -> Iterator[Row]:
    """Yield parameters, time, memory and energy of one system; `n` is the number of repeats behind a median."""
    name = source.variant or source.method
    row = read_json(source.path)["rows"][name]
    for metric, value in row.items():
        if metric not in ("values", "repeats") and value is not None:
            n = len(row["values"][metric]) if metric in row["values"] else None
            yield {"domain": ALL, "metric": metric, "value": float(value), "n": n}


def _significance(source: NumberSource) -> Iterator[Row]:
    """Yield differences from the baseline of a table, their intervals and p-values, over all seeds."""
    found = read_json(source.path)
    against = f"against={found['baseline']}"
    for name, domains in found["systems"].items():
        for domain, metrics in domains.items():
            for metric, tested in metrics.items():
                for key in TESTED:
                    if tested.get(key) is not None:
                        value = {"metric": f"{metric}_{key}", "value": float(tested[key])}
                        yield {**_system(source, name, None), "domain": domain, "at": against, **value}


def _measures(source: NumberSource) -> Iterator[Row]:
    """Yield what a figure measured: gates, proportions, probes, ...; `at` says where, as `layer=1;side=encoder`."""
    for measure in read_json(source.path)["measures"]:
        if measure["name"] != PRINTED:
            at = {str(key): value for key, value in measure["at"].items()}
            domain = str(at.pop("domain", ALL))
            where = ";".join(f"{key}={value}" for key, value in sorted(at.items()))
            value = {"metric": measure["name"], "value": float(measure["value"])}
            yield {**_system(source, measure["method"], measure["seed"]), "domain": domain, "at": where, **value}


def _system(source: NumberSource, name: str, seed: int | None) -> Row:
    """Return what is known about a system that a file names; one that the study does not train keeps its name."""
    system = source.systems.get(name, System(method=name))
    run = _address(system.runs.get(seed)) if seed is not None else ""
    return {"method": system.method, "variant": system.variant, "seed": seed, "run": run}


def _address(run: Path | None) -> str:
    return address(run / "run.json").removesuffix("/run.json") if run else ""


_READERS: dict[str, Callable[[NumberSource], Iterator[Row]]] = {
    "scores": _scores,
    "curves": _curves,
    "resources": _resources,
    "significance": _significance,
    "measures": _measures,
}
