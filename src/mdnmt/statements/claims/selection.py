"""The spec of the command `claims` for a study."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mdnmt.config.claims import is_own, needs, row_names, without_tables
from mdnmt.config.paper import PaperFigure, PaperTable
from mdnmt.exhibits.expected_options import of_exhibits
from mdnmt.exhibits.figure_request import paper_figure
from mdnmt.exhibits.headings import why_other
from mdnmt.exhibits.table_selection import paper_table
from mdnmt.score.metrics.comet_files import TOY
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study, Task
from mdnmt.studies.study_exhibits import split_key


def claims_spec(study: Study, paper: str, places: ResultPaths) -> ClaimsSpec:
    """Return the claims of a paper, and the tables and figures of the study that decide them."""
    left_out = [item for of, item in map(split_key, study.config.claims_without) if of == paper]
    claims = {name: without_tables(claim, left_out) for name, claim in study.claims[paper].items()}
    dropped = {
        name: tuple(item for item in left_out if item in {*needs(claim).tables} - {*needs(claims[name]).tables})
        for name, claim in study.claims[paper].items()
    }
    of = [needs(claim) for claim in claims.values()]
    tables = _shown(study.config.tables, paper, {item for one in of for item in one.tables})
    figures = _shown(study.config.figures, paper, {item for one in of for item in one.figures})
    shown: dict[str, tuple[PaperTable | PaperFigure, Task]] = {
        **{item: paper_table(study, key) for item, key in tables.items()},
        **{item: paper_figure(study, key) for item, key in figures.items()},
    }
    made_from = {item: task for item, (_, task) in shown.items()}
    return ClaimsSpec(
        paper=paper,
        title=study.papers[paper].title,
        claims=claims,
        tables={item: Path(places.table(key, "json")) for item, key in tables.items()},
        figures={item: Path(places.figure(key, "json")) for item, key in figures.items()},
        made_with=of_exhibits(study, [*tables.values(), *figures.values()], places),
        missing={item: task.missing for item, task in made_from.items() if task.missing},
        rows={item: row_names(paper_table(study, key)[0]) for item, key in tables.items()},
        domains={item: _domains(task) for item, task in made_from.items()},
        on_other_text={
            name: why for name, (item, task) in shown.items() if (why := why_other(paper, item, task.config))
        },
        left_out={name: items for name, items in dropped.items() if items},
        printed_bleu={item: _printed_bleu(paper_table(study, key)[0]) for item, key in tables.items()},
        unusable={"comet": "scored with a toy of random weights"} if study.comet.name == TOY else {},
    )


def _shown(keys: Iterable[str], paper: str, wanted: set[str]) -> dict[str, str]:
    """Return item -> key, for the wanted exhibits of the paper, or of our own, that the study shows."""
    found = {split_key(key)[1]: key for key in keys if split_key(key)[0] == paper}
    found |= {key: key for key in keys if is_own(key)}
    return {item: key for item, key in found.items() if item in wanted}


def _printed_bleu(table: PaperTable) -> str:
    """Return the metric that the table compares with the printed BLEU."""
    compared = [metric for metric in table.metrics if "BLEU" in table.printed_metrics.get(metric, ())]
    return compared[0] if compared else "bleu"


def _domains(task: Task) -> dict[str, str]:
    return {domain.stands_for or name: name for name, domain in task.config.domains.items()}
