from __future__ import annotations

from pathlib import Path

from mdnmt.exhibits.distinct_labels import distinct_rows, distinct_systems
from mdnmt.exhibits.rows import ScoreRow
from mdnmt.studies.resolve import resolve

CONFIG = Path(__file__).resolve().parents[3] / "config"


def row(label: str, method: str, group: str = "", choice: int | None = None) -> ScoreRow:
    return ScoreRow(group=group, label=label, method=method, choice=choice)


def test_rows_of_two_methods_with_one_label_have_their_names() -> None:
    rows = distinct_rows(row("Mixed", "mixed"), row("Mixed", "my-mixed"), row("E/DC", "waldm-edc"))
    assert [one.label for one in rows] == ["Mixed (mixed)", "Mixed (my-mixed)", "E/DC"]


def test_rows_of_other_groups_and_alternatives_of_one_row_keep_theirs() -> None:
    rows = [row("Mixed", "mixed"), row("Mixed", "own", group="Ours"), row("A", "a", choice=1), row("A", "b", choice=1)]
    assert distinct_rows(*rows) == tuple(rows)


def test_systems_of_a_figure_with_one_label_have_their_names() -> None:
    study = resolve(CONFIG, "smoke", Path("nowhere"))
    first = {run.method: run for run in reversed(study.runs)}
    systems = [[first[name]] for name in ("mixed", "mixed-post-norm", "waldm-edc")]
    assert [runs[0].label for runs in distinct_systems(systems)] == [
        "Mixed (mixed)",
        "Mixed (mixed-post-norm)",
        "E/DC",
    ]
