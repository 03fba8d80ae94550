"""The files that hold a study's measured numbers, and how each kind of file is read into rows."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from mdnmt.config.base import Frozen
from mdnmt.config.metrics import METRICS
from mdnmt.errors import DataError
from mdnmt.fsio import read_json, read_text
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
Row = dict[str, Any]


class NumberSource(Frozen):
    """A file with measured numbers of one system, and what is known about all of them.

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
    """

    kind: Literal["scores", "curves", "resources"]
    path: Path
    task: str
    method: str
    variant: str = ""
    label_condition: str = ""
    seed: int | None = None
    split: str = ""
    run: Path | None = None


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
        "run": address(source.run / "run.json").removesuffix("/run.json") if source.run else "",
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
    """Yield the scores of scores.json, ter.json and comet-*.json."""
    found = read_json(source.path)
    for domain, entry in found["domains"].items():
        for metric in METRICS:
            if metric in entry:
                yield _score(domain, metric, entry[metric], int(entry["num_sentences"]))
    # All validation sets as one text.
    for metric, entry in found.get("concatenated", {}).items():
        yield _score(ALL, metric, entry, sum(int(domain["num_sentences"]) for domain in found["domains"].values()))


def _score(domain: str, metric: str, entry: Mapping[str, Any], num_sentences: int) -> Row:
    return {
        "domain": domain,
        "metric": metric,
        "value": float(entry["score"]),
        "n": num_sentences,
        "signature": str(entry["signature"]),
    }


def _curves(source: NumberSource) -> Iterator[Row]:
    """Yield what curves.tsv holds; `at` says after which update."""
    with io.StringIO(read_text(source.path), newline="") as handle:
        for line in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE):
            where = {"split": line["split"], "domain": line["domain"], "at": f"update={int(line['update'])}"}
            for column, (metric, factor) in CURVES.items():
                if line[column]:
                    yield {**where, "metric": metric, "value": factor * float(line[column])}


def _resources(source: NumberSource) -> Iterator[Row]:
    """Yield parameters, time, memory and energy of one system; `n` is the number of repeats behind a median."""
    name = source.variant or source.method
    row = read_json(source.path)["rows"][name]
    for metric, value in row.items():
        if metric not in ("values", "repeats") and value is not None:
            n = len(row["values"][metric]) if metric in row["values"] else None
            yield {"domain": ALL, "metric": metric, "value": float(value), "n": n}


_READERS: dict[str, Callable[[NumberSource], Iterator[Row]]] = {
    "scores": _scores,
    "curves": _curves,
    "resources": _resources,
}
