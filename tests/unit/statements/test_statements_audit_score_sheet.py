"""The audit of any table: planted errors are found, and what rounding explains is let through."""

from __future__ import annotations

import json
import random
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from mdnmt.cli import main
from mdnmt.errors import DataError
from mdnmt.statements.audit.score_sheet import read
from mdnmt.statements.audit.score_sheet_checks import CHECKS, averages, four_points, report

STEP = Decimal("0.01")
Cells = dict[str, dict[str, str]]


def generated(chance: random.Random) -> tuple[list[str], dict[str, dict[str, Decimal]], str]:
    """Return columns, printed numbers by row, and how averages and differences were rounded: all of them are right."""
    domains = [f"D{number}" for number in range(chance.randint(2, 6))]
    rows = ["Baseline", *(f"System {number}" for number in range(chance.randint(2, 7)))]
    rounding = chance.choice([ROUND_HALF_UP, ROUND_HALF_EVEN])
    unrounded = chance.random() < 0.5  # averages and differences computed before the scores were rounded
    table: dict[str, dict[str, Decimal]] = {}
    exact: dict[str, Decimal] = {}
    for row in rows:
        true = [Decimal(chance.randint(150_000, 450_000)) / 10_000 for _ in domains]
        printed = [value.quantize(STEP, rounding) for value in true]
        mean = sum(true if unrounded else printed, Decimal(0)) / len(domains)
        exact[row] = mean if unrounded else mean.quantize(STEP, rounding)
        table[row] = dict(zip(domains, printed, strict=True)) | {"Avg.": mean.quantize(STEP, rounding)}
        if row != "Baseline":
            table[row]["ΔAvg."] = (exact[row] - exact["Baseline"]).quantize(STEP, rounding)
    return [*domains, "Avg.", "ΔAvg."], table, rounding


def marked(columns: list[str], table: dict[str, dict[str, Decimal]], chance: random.Random) -> Cells:
    """Return the cells as text: the best of each column in bold, stars at some that are above the baseline."""
    cells: Cells = {}
    for row, numbers in table.items():
        cells[row] = {}
        for name in columns:
            if name not in numbers:
                continue
            text = str(numbers[name])
            best = max(other[name] for other in table.values() if name in other)
            if name != "ΔAvg." and row != "Baseline" and numbers[name] > table["Baseline"][name]:
                text += "*" * (chance.random() < 0.5)
            cells[row][name] = f"**{text}**" if numbers[name] == best else text
    return cells


def write(path: Path, columns: list[str], cells: Cells) -> Path:
    lines = ["\t".join(["System", *columns])]
    lines += ["\t".join([row, *(found.get(name, "-") for name in columns)]) for row, found in cells.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def plant(kind: str, columns: list[str], table: dict[str, dict[str, Decimal]], chance: random.Random) -> Cells:
    """Return the cells with one error of a kind in them."""
    row = chance.choice([name for name in table if name != "Baseline"])
    if kind in ("average", "difference"):
        name = "Avg." if kind == "average" else "ΔAvg."
        wrong = {one: dict(numbers) for one, numbers in table.items()}
        wrong[row][name] += chance.choice([-1, 1]) * Decimal(chance.randint(3, 500)) / 100
        return marked(columns, wrong, chance)
    cells, name = marked(columns, table, chance), chance.choice(columns[:-2])
    if kind == "star":
        below = [one for one, numbers in table.items() if numbers[name] < table["Baseline"][name]]
        row = chance.choice(below) if below else row
        if not below:  # the baseline becomes the best of the column
            top = max(numbers[name] for numbers in table.values()) + 1
            return plant(kind, columns, {**table, "Baseline": {**table["Baseline"], name: top}}, chance)
        cells[row][name] = f"{table[row][name]}†"
        return cells
    others = [one for one in table if not cells[one][name].startswith("**")]
    best = next(one for one in table if cells[one][name].startswith("**"))
    other = chance.choice(others)
    cells[best][name], cells[other][name] = str(table[best][name]), f"**{table[other][name]}**"
    return cells


def found_in(path: Path) -> dict[str, list[str]]:
    sheet = read(path)
    return {name: [one.cell for one in check(sheet) if not one.agrees] for name, (_, check) in CHECKS.items()}


def test_planted_errors_are_found_and_right_tables_pass(tmp_path: Path) -> None:
    chance = random.Random(7)
    planted = recalled = compared = alarms = 0
    for number in range(200):
        columns, table, _ = generated(chance)
        right = write(tmp_path / "right.tsv", columns, marked(columns, table, chance))
        sheet = read(right)
        every = [one for _, check in CHECKS.values() for one in check(sheet)]
        compared, alarms = compared + len(every), alarms + sum(not one.agrees for one in every)
        kind = list(CHECKS)[number % len(CHECKS)]
        wrong = found_in(write(tmp_path / "wrong.tsv", columns, plant(kind, columns, table, chance)))
        planted, recalled = planted + 1, recalled + bool(wrong[kind])
    assert (planted, compared > 3000) == (200, True)
    assert recalled >= 0.95 * planted, f"{recalled} of {planted}"
    assert alarms <= 0.02 * compared, f"{alarms} of {compared}"


EXAMPLE = """\
# title: Table 2
# test: paired bootstrap, p < 0.05
# copied: none
System	Law	News/BLEU	Avg.	Δ	Law/TER
Mixed	30.12	25.40	27.76	-	51.0
Ours	**31.00***	25.30*	**28.15**	+0.39	**50.2**
Theirs	30.5	**26.0**	28.45	0.49	52.1
"""


def test_an_average_is_checked_only_where_all_its_scores_are_printed(tmp_path: Path) -> None:
    cells = {"Mixed": {"D0": "20.00", "D1": "30.00", "Avg.": "25.00"}, "Tag": {"D0": "21.00", "Avg.": "40.00"}}
    sheet = read(write(tmp_path / "t.tsv", ["D0", "D1", "Avg."], cells))
    assert [one.cell for one in averages(sheet)] == ["Mixed | Avg."]


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "table.tsv"
    path.write_text(EXAMPLE, encoding="utf-8")
    return path


def test_each_kind_of_error_is_named_with_its_cell(example: Path) -> None:
    found = found_in(example)
    assert found == {
        "average": ["Theirs | Avg."],
        "difference": ["Theirs | Δ"],
        "bold": ["Ours | Avg.", "Theirs | Avg."],
        "star": ["Ours | News/BLEU"],
    }
    text = report(read(example))
    assert "average     Theirs | Avg.: printed 28.45, recomputed 28.25." in text
    assert "rounding explains" in text and "Starred, but not better" in text and "averages: 2 of 3 agree" in text


def test_the_four_points_say_what_the_file_does_not(example: Path) -> None:
    answers = list(four_points(read(example)).values())
    assert answers == ["yes: TER", "yes: paired bootstrap, p < 0.05", "yes", "not said; add `# same data: ...`"]
    plain = example.with_name("plain.tsv")
    plain.write_text("System\tA\nx\t1.0*\ny\t2.0*\n", encoding="utf-8")
    answers = list(four_points(read(plain)).values())
    assert answers[0] == "not said; add `# better metric: ...`" and answers[1].startswith(
        "stars, but the file does not"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found 0 systems"),
        ("System\tA\nx\t1.0\n", "found 1 systems, expected a header and two or more"),
        ("System\tA\nx\t1.0\nx\t2.0\n", "line 3: the system 'x' is there twice"),
        ("System\tA\tA\nx\t1\t2\ny\t1\t2\n", "line 1: the column 'A' is there twice"),
        ("System\nx\ny\n", "line 1: found 0 column names"),
        ("System\tA\nx\t1.0\ny\t2,0\n", "line 3: A is '2,0'; expected a number like"),
        ("System\tA\nx\t1.0\t3\ny\t2.0\n", "line 2: found 3 cells, expected 2 at most"),
        ("# titel: T\nSystem\tA\nx\t1\ny\t2\n", "line 1: unknown key 'titel' (did you mean 'title'?)"),
        ("# baseline: z\nSystem\tA\nx\t1\ny\t2\n", "baseline 'z' is no row"),
    ],
)
def test_a_file_that_is_no_table_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read(path)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_the_verb_prints_and_writes_the_same(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(example)]) == 0
    assert "Does not agree" in capsys.readouterr().out
    out = example.with_suffix(".json")
    assert main(["audit", str(example), "--json", str(out)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    assert sum(not one["agrees"] for one in found["compared"]) == 5 and len(found["marie2021"]) == 4
    assert main(["audit", str(example), "--paper", "jiang2020"]) == 2
    assert main(["audit", str(example.with_name("absent.tsv"))]) != 0


def test_the_example_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "audit-any-table.md").read_text(encoding="utf-8")
    blocks = page.split("```")
    table = next(block for block in blocks if block.startswith("tsv\n")).removeprefix("tsv\n")
    (tmp_path / "table.tsv").write_text(table, encoding="utf-8")
    assert f"```\n{report(read(tmp_path / 'table.tsv'))}```" in page
