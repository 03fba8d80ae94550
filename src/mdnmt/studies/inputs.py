"""What the rules ask of a study: which files tables and figures are made of, what is measured, what a verb is told."""

from __future__ import annotations

import hashlib
import sys
from errno import EACCES, EPERM
from pathlib import Path

from pydantic import BaseModel

from mdnmt.errors import EXIT_USER, owned_by_another, shown
from mdnmt.fsio import write_text
from mdnmt.paper import specs
from mdnmt.pretrained.files import TOY
from mdnmt.studies.study import Run, Study
from mdnmt.studies.table_specs import by_row, paper_table

SPECS = Path(".snakemake/specs")


def spec_file(spec: BaseModel | str) -> str:
    """Return where a verb finds what it is told: the command line has no room for all that a large study has to say.

    The name is that of the content, so that as a parameter it changes whenever, and only when, the content does.
    """
    text = spec if isinstance(spec, str) else spec.model_dump_json()
    path = SPECS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    if not path.exists():
        try:
            write_text(path, f"{text}\n")
        except OSError as error:
            # While Snakemake reads the rules: it shows a traceback of any error but its own, and exits with 1.
            owner = owned_by_another(path) if error.errno in {EACCES, EPERM} else ""
            said = f"{path}: {error.strerror or error}{owner}; make room or give write permission, then start again"
            print(f"snakemake: {shown(said)}", file=sys.stderr)
            raise SystemExit(EXIT_USER) from None
    return str(path)


def table_files(spec: specs.AnyTable) -> list[Path]:
    """Return the files that a table is made of."""
    if isinstance(spec, specs.NotationTableSpec):
        return []
    if isinstance(spec, specs.ExamplesTableSpec):
        return [spec.ambiguity] if spec.ambiguity else []
    if isinstance(spec, specs.CorporaTableSpec):
        return [row.stats for row in spec.rows if row.stats]
    if isinstance(spec, specs.ResourceTableSpec):
        records = [path for row in spec.rows for path in row.records]
        return records + ([spec.measure] if spec.measure else [])
    found = [path for row in spec.rows for path in row.records]
    found += [run.scores for row in spec.rows for run in row.runs]
    found += [path for row in spec.rows for run in row.runs for path in (*run.others, run.development) if path]
    if isinstance(spec, specs.ScoreTableSpec):
        found += [path for path in (spec.significance, spec.predicted_labels) if path]
    return found


def figure_files(spec: specs.AnyFigure) -> list[Path]:
    """Return the files and folders that a figure is made of."""
    if isinstance(spec, specs.CurvesSpec):
        return [run.curves for system in spec.systems for run in system.runs]
    if isinstance(spec, specs.ArchitectureSpec):
        return []
    if isinstance(spec, specs.AmbiguitySpec):
        return [spec.ambiguity] if spec.ambiguity else []
    if isinstance(spec, specs.OptionSweepSpec):
        points = [*spec.points, *([spec.baseline] if spec.baseline else [])]
        runs = [run for point in points for run in point.runs]
        return [run.scores for run in runs] + [run.analysis for run in runs if run.analysis]
    if isinstance(spec, specs.SweepSpec):
        return [run.scores for system in spec.systems for run in system.runs]
    if isinstance(spec, specs.GateUseSpec):
        scores = [run.scores for system in spec.systems for run in system.runs]
        return scores + [seed.analysis for system in spec.analysed for seed in system.seeds]
    analysed = spec.systems if isinstance(spec, specs.TsneSpec) else (spec.run,)
    return [seed.analysis for run in analysed for seed in run.seeds]


def measured_runs(study: Study, task: str) -> list[Run]:
    """Return the runs whose resources are measured: one a method and architecture, its first domain and seed."""
    tables = [paper_table(study, key) for key in study.config.tables]
    wanted = {
        method
        for table, made_from in tables
        if table.kind == "resources" and made_from.name == task
        for row in table.rows
        for method in row.methods
    }
    return [runs[0] for runs in by_row(study.makeable(task)).values() if runs[0].method in wanted]


def toy_weights(run: Run) -> str:
    """Return the name of the toy weights that a run starts from; "" where it starts from none."""
    weights = str(run.spec.architecture.get("weights", "")) if run.spec is not None else ""
    return weights.removeprefix(TOY) if weights.startswith(TOY) else ""
