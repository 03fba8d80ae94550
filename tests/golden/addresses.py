"""The addresses of the runs of all shipped studies, as they were recorded: no refactoring may change one.

An address contains that of its task, which is known only once the corpora are there. Here a run's task is its name, so
that the recorded values hold in every checkout; tasks whose corpora are pinned are recorded in lines of their own.

A new study or method adds lines:

    PYTHONPATH=tests .venv/bin/python tests/golden/addresses.py
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mdnmt.fsio import write_text
from mdnmt.studies.resolve import resolve

ROOT = Path(__file__).resolve().parents[2]
RECORDED = Path(__file__).with_name("addresses.tsv")


def addresses(study: str) -> Iterator[tuple[str, str]]:
    """Yield (name, address) of each task and of the first seed's runs of a study."""
    resolved = resolve(ROOT / "config", study, ROOT / "resources" / "corpora")
    for name, task in resolved.tasks.items():
        yield f"{study}\t{name}", task.fingerprint
    first = resolved.config.seed_list[0]
    for run in resolved.runs:
        if run.seed != first or run.planned is None:
            continue
        if run.planned.architecture.get("revision", "") is None:
            continue  # pretrained weights that may be in resources/pretrained or not
        # The run that it starts from has a line of its own.
        start = None if run.planned.initial_run is None else "its start"
        spec = run.planned.model_copy(update={"task_fingerprint": run.task, "initial_run": start})
        yield f"{study}\t{run.task}/{run.directory}", spec.fingerprint


def recorded() -> dict[str, str]:
    """Return name -> address."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return {name: address for name, _, address in (line.rpartition("\t") for line in lines)}


def main() -> None:
    """Add what is new; keep what is recorded."""
    studies = sorted(path.stem for path in (ROOT / "config" / "studies").glob("*.yaml"))
    now = {name: address for study in studies for name, address in addresses(study)}
    lines = sorted((now | (recorded() if RECORDED.is_file() else {})).items())
    write_text(RECORDED, "".join(f"{name}\t{address}\n" for name, address in lines))


if __name__ == "__main__":
    main()
