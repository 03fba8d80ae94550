"""The spec of the command `claims` for a study."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.config.claims import is_own, row_names, without_tables
from mdnmt.config.paper import PaperFigure, PaperTable
from mdnmt.exhibits.expected_options import of_exhibits
from mdnmt.exhibits.headings import why_other
from mdnmt.exhibits.request import paper_figure, paper_table
from mdnmt.score.metrics.comet_files import TOY
from mdnmt.statements.claims.decide import VERSION
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study, Task
from mdnmt.studies.study_exhibits import split_key


def claims_spec(study: Study, paper: str, places: ResultPaths) -> ClaimsSpec:
    """Return the claims of a paper, and the tables and figures of the study that decide them."""
    left_out = [exhibit for name, exhibit in map(split_key, study.config.claims_without) if name == paper]
    claims = {name: without_tables(claim, left_out) for name, claim in study.claims[paper].items()}
    # Claim -> the tables that it would read if the study did not leave them out.
    dropped = {
        name: tuple(exhibit for exhibit in left_out if exhibit in {*claim.tables} - {*claims[name].tables})
        for name, claim in study.claims[paper].items()
    }
    tables = _shown(study.config.tables, paper, {exhibit for one in claims.values() for exhibit in one.tables})
    figures = _shown(study.config.figures, paper, {exhibit for one in claims.values() for exhibit in one.figures})
    shown: dict[str, tuple[PaperTable | PaperFigure, Task]] = {
        **{exhibit: paper_table(study, key) for exhibit, key in tables.items()},
        **{exhibit: paper_figure(study, key) for exhibit, key in figures.items()},
    }
    tasks = {exhibit: task for exhibit, (_, task) in shown.items()}
    return ClaimsSpec(
        paper=paper,
        title=study.papers[paper].title,
        decision=VERSION,
        claims=claims,
        tables={exhibit: Path(places.table(key, "json")) for exhibit, key in tables.items()},
        figures={exhibit: Path(places.figure(key, "json")) for exhibit, key in figures.items()},
        made_with=of_exhibits(study, [*tables.values(), *figures.values()], places),
        missing={exhibit: task.missing for exhibit, task in tasks.items() if task.missing},
        rows={exhibit: row_names(paper_table(study, key)[0]) for exhibit, key in tables.items()},
        domains={exhibit: _domains(task) for exhibit, task in tasks.items()},
        on_other_text={
            name: why for name, (exhibit, task) in shown.items() if (why := why_other(paper, exhibit, task.config))
        },
        left_out={name: exhibits for name, exhibits in dropped.items() if exhibits},
        printed_bleu={exhibit: _printed_bleu(paper_table(study, key)[0]) for exhibit, key in tables.items()},
        unusable={"comet": "scored with a toy of random weights"} if study.comet.name == TOY else {},
    )


def _shown(keys: Iterable[str], paper: str, wanted: set[str]) -> dict[str, str]:
    """Return exhibit -> key, for the wanted exhibits of the paper, or of our own, that the study shows."""
    found = {split_key(key)[1]: key for key in keys if split_key(key)[0] == paper}
    found |= {key: key for key in keys if is_own(key)}
    return {exhibit: key for exhibit, key in found.items() if exhibit in wanted}


def _printed_bleu(table: PaperTable) -> str:
    """Return the metric that the table compares with the printed BLEU."""
    compared = [metric for metric in table.metrics if "BLEU" in table.printed_metrics.get(metric, ())]
    return compared[0] if compared else "bleu"


def _domains(task: Task) -> dict[str, str]:
    return {domain.stands_for or name: name for name, domain in task.config.domains.items()}
