"""Compare the code that trained a run with the code that is here.

`run.json` records a hash of the training code. Verbs that use a finished run print a line when the code here is other
code, and tables, the report, the certificate and the plan name the run. Two hashes whose code computes the same bits
are listed in `equivalent_code.yaml`, which only `make equivalent` writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mdnmt.code_hash import code_hash
from mdnmt.fsio import RECORD, read_json
from mdnmt.plugins import LOADED_BY_NAME, module_of
from mdnmt.provenance import NUMERIC_PACKAGES, package_versions

EQUIVALENT = Path(__file__).with_name("equivalent_code.yaml")
# Modules that training imports but that change no weight: files, errors, locks, records, and the readers of corpora
# (imported for the segmentation of Chinese). A fix in one of them must not keep a run from resuming.
_CHANGE_NO_WEIGHT = (
    *("mdnmt", "mdnmt.errors", "mdnmt.fsio", "mdnmt.gpu", "mdnmt.paths", "mdnmt.provenance", "mdnmt.code_hash"),
    *("mdnmt.fingerprint", "mdnmt.config.loader", "mdnmt.checkpoints.manifest", "mdnmt.checkpoints.invalid_checkpoint"),
    *("mdnmt.energy", "mdnmt.machine", "mdnmt.train.footprint", "mdnmt.methods.meta_device", "mdnmt.training_code"),
    "mdnmt.plugins",
    *("mdnmt.train.lease", "mdnmt.train.signals", "mdnmt.train.metrics_log", "mdnmt.train.conditions"),
    *("mdnmt.corpora", "mdnmt.corpora.checksum_cache", "mdnmt.tasks.text.stanford_segmenter"),
)


def training_code(builder: str) -> str:
    """Return the hash of the code that trains a method: training loop, its blocks and losses, no other methods."""
    own = module_of(builder, "mdnmt.methods") if builder != "mbart50" else "mdnmt.pretrained.run"
    try:
        return code_hash("mdnmt.train.run", own, chosen_from=LOADED_BY_NAME, without=_CHANGE_NO_WEIGHT)
    except ModuleNotFoundError:
        return "none"  # a plug-in that is not here any more


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

    Weights that we did not train (imported, zero-shot) have no training code.

    Args:
        record: the content of the run's run.json.
    """
    here = _code_here(record)
    if here is None or "imported" in record or not record.get("updates"):
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


def read_why_other_code(folder: Path) -> str:
    """Return the same for the run in a folder; "" where no record can be read, which its readers report."""
    try:
        return why_other_code(read_json(folder / RECORD))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""


def why_translated_by_other_code(record: Mapping[str, Any], code: str | None) -> str:
    """Return how the code that translated with a run differs from the code here; "" if it does not or is not known.

    Args:
        record: the content of the run's run.json.
        code: what `made_by` recorded with the translations.
    """
    here = _code_here(record)
    return "" if here is None or code is None or same_code(code, here) else "translated by other code"


def _code_here(record: Mapping[str, Any]) -> str | None:
    """Return the hash of the code here that trains the method of a run; None if the method is not here."""
    try:
        return training_code(record["spec"]["builder"])
    except (KeyError, ModuleNotFoundError):
        return None


def made_by(folder: Path) -> dict[str, Any]:
    """Return the record of the code and the packages that now make something with the run in a folder."""
    builder = read_json(folder / RECORD)["spec"]["builder"]
    return {"code": training_code(builder), "packages": package_versions(NUMERIC_PACKAGES)}


def say_other_code(folders: Iterable[Path]) -> None:
    """Print a line on standard error for each run that other code than this trained."""
    for folder in dict.fromkeys(folders):
        if why := read_why_other_code(folder):
            method = folder.resolve().parent.name
            print(
                f"mdnmt: {folder}: was {why} than this, which may compute something else from the same weights; go "
                f"back to that code, or train it again with this: `mdnmt retrain {method}` (accept_code_change=true "
                "resumes runs that are not finished)",
                file=sys.stderr,
                flush=True,
            )
