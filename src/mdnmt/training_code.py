"""Compare the code that made a result with the code that is here.

`run.json` records a hash of the training code, and what other expensive stages write (data, translations, analyses,
COMET, predicted labels, measurements) one of the code of its stage (`made_by`). Verbs that use a finished run print a
line when the code here is other code, and tables, the report, the certificate and the plan name the run. Two hashes
whose code computes the same bits are listed in `equivalent_code.yaml`, which only `make equivalent` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from mdnmt.code_hash import code_hash
from mdnmt.fsio import RECORD, read_json
from mdnmt.plugins import LOADED_BY_NAME, module_of
from mdnmt.provenance import NUMERIC_PACKAGES, package_versions

EQUIVALENT = Path(__file__).with_name("equivalent_code.yaml")
# Modules that training imports but that change no weight: files, errors, locks, records, and the readers of corpora
# (imported for the segmentation of Chinese). A fix in one of them must not keep a run from resuming.
_NO_NUMBER = (
    *("mdnmt", "mdnmt.errors", "mdnmt.fsio", "mdnmt.gpu", "mdnmt.paths", "mdnmt.provenance", "mdnmt.code_hash"),
    *("mdnmt.fingerprint", "mdnmt.config.loader", "mdnmt.checkpoints.manifest", "mdnmt.checkpoints.invalid_checkpoint"),
    *("mdnmt.energy", "mdnmt.machine", "mdnmt.train.footprint", "mdnmt.methods.meta_device", "mdnmt.training_code"),
    *("mdnmt.plugin_kinds", "mdnmt.plugins"),
    *("mdnmt.train.lease", "mdnmt.train.signals", "mdnmt.train.metrics_log", "mdnmt.train.conditions"),
)
_CHANGE_NO_WEIGHT = (
    *_NO_NUMBER,
    *("mdnmt.corpora", "mdnmt.corpora.checksum_cache", "mdnmt.tasks.text.stanford_segmenter"),
)


# What a record raises in which the types are not those that were written.
_DAMAGED = (AttributeError, KeyError, TypeError, ValueError)


class Stage(NamedTuple):
    """A stage whose results are not made again when its code changes.

    Attributes:
        module: what makes it.
        done: what a note says about a result: "<done> by other code".
    """

    module: str
    done: str


DATA = {stage: Stage(f"mdnmt.tasks.{stage}_stage", "data prepared") for stage in ("text", "tokens", "codes", "arrays")}
STAGES = {
    **DATA,
    "train": Stage("mdnmt.train.run", "trained"),
    "labels": Stage("mdnmt.commands.predict_labels", "domains predicted"),
    "decode": Stage("mdnmt.commands.decode", "translated"),
    "analyse": Stage("mdnmt.commands.analyse", "analysed"),
    "words": Stage("mdnmt.commands.word_accuracy", "words counted"),
    "comet": Stage("mdnmt.commands.comet", "scored with COMET"),
    "measure": Stage("mdnmt.analysis.resources", "measured"),
}


def stage_code(stage: str, *builders: str) -> str:
    """Return the hash of the code of a stage, with the code of the methods that it runs, and of no others.

    Args:
        stage: a key of `STAGES`.
        builders: the builders of its runs.
    """
    own = [module_of(one, "mdnmt.methods") for one in builders]
    # Any reader may have read the data. The segmentation of Chinese changes data, but no weight.
    chosen = tuple(name for name in LOADED_BY_NAME if stage not in DATA or name != "mdnmt.corpora.readers")
    without = _NO_NUMBER if stage in DATA else _CHANGE_NO_WEIGHT
    readers = ["mdnmt.corpora.readers"] if stage == "text" else []
    try:
        return code_hash(STAGES[stage].module, *own, *readers, chosen_from=chosen, without=without)
    except ModuleNotFoundError:
        return "none"  # a plug-in that is not here any more


def training_code(builder: str) -> str:
    """Return the hash of the code that trains a method: training loop, its blocks and losses, no other methods."""
    return stage_code("train", builder)


@cache
def _equivalent(path: Path) -> list[frozenset[str]]:
    """Return sets of hashes whose code computes the same bits; none without the file."""
    found = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None
    return [frozenset(same) for sets in (found or {}).values() for same in sets]


def same_code(one: str | None, other: str) -> bool:
    """Say whether two hashes of training code are equal, or recorded as equivalent."""
    return one == other or any(one in same and other in same for same in _equivalent(EQUIVALENT))


def why_other_code(record: Mapping[str, Any]) -> str:
    """Return how the code that trained a run differs from the code here, for a line; "" if it does not.

    Weights that we did not train (imported, zero-shot) have no training code. A damaged record has none either: those
    who read its numbers report it.

    Args:
        record: the content of the run's run.json.
    """
    try:
        return _why_trained_by_other_code(record)
    except _DAMAGED:
        return ""


def _why_trained_by_other_code(record: Mapping[str, Any]) -> str:
    here = training_code(record["spec"]["builder"])
    if "imported" in record or not record.get("updates"):
        return ""
    # An attempt that began at the last update made none; it only wrote files.
    begun = [one for one in record.get("attempts") or () if one.get("at_update", 0) < record["updates"]]
    others = [one for one in (record, *begun) if not same_code(one.get("code"), here)]
    if not others:
        return ""
    if any(one.get("code") is None for one in others):
        return "trained by code that run.json does not record"
    made = next((one for one in reversed(others) if one.get("commit")), None)
    if made is None:
        return "trained by other code"
    changed = ", with changes that were not committed" if made.get("dirty") else ""
    return f"trained by other code (commit {made['commit'][:12]}{changed})"


def made_by(stage: str, *runs: Path, task: Path | None = None) -> dict[str, Any]:
    """Return the record of the code and the packages that now make something.

    Args:
        stage: a key of `STAGES`.
        runs: the folders of the runs that it is made with.
        task: the folder of the task's data; the record has the code that prepared them, too.
    """
    builders = sorted({read_json(run / RECORD)["spec"]["builder"] for run in runs})
    code = {**(data_code(task) if task is not None else {}), stage: stage_code(stage, *builders)}
    return {"code": code, "builders": builders, "packages": package_versions(NUMERIC_PACKAGES)}


def data_code(task: Path) -> dict[str, str]:
    """Return stage -> hash of the code that prepared the data of a task; {} if an older version did."""
    return dict(read_json(task / "task.json").get("code", {}))


def why_made_by_other_code(made: Mapping[str, Any]) -> str:
    """Return how the code that made something differs from the code here; "" if it does not or is not known.

    Args:
        made: what `made_by` returned.
    """
    builders = made.get("builders") or ()
    try:
        for stage, recorded in (made.get("code") or {}).items():
            of_run = () if stage in DATA else builders
            if stage in STAGES and not same_code(recorded, here := stage_code(stage, *of_run)) and here != "none":
                return f"{STAGES[stage].done} by other code"
    except _DAMAGED:
        return ""
    return ""


def say_other_data(task: Path) -> None:
    """Print a line on standard error if other code than this prepared the data of a task."""
    if why := why_made_by_other_code({"code": data_code(task)}):
        print(
            f"mdnmt: {task}: {why} than this, which may make other text of the same corpora; go back to that code, or "
            "remove the folder: the next start makes it again",
            file=sys.stderr,
            flush=True,
        )


def say_other_code(folders: Iterable[Path]) -> None:
    """Print a line on standard error for each run that other code than this trained."""
    for folder in dict.fromkeys(folders):
        try:
            why = why_other_code(read_json(folder / RECORD))
        except (OSError, ValueError):  # the verb reports it
            continue
        if why:
            method = folder.resolve().parent.name
            print(
                f"mdnmt: {folder}: was {why} than this, which may compute something else from the same weights; go "
                f"back to that code, or train it again with this: `mdnmt retrain {method}` (accept_code_change=true "
                "resumes runs that are not finished)",
                file=sys.stderr,
                flush=True,
            )
