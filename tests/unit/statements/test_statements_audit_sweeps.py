"""The sweeps: what is right is let through, and whatever number is changed is found."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal

import pytest

from mdnmt.config.published import Place, Published, PublishedNumber
from mdnmt.statements.audit.printed_numbers import rounded, show, unit
from mdnmt.statements.audit.sweeps import SWEEPS, CheckedNumber

DOMAINS = ("Law", "Thesis", "Spoken")
METRICS = ("BLEU", "chrF")


def number(value: Decimal, star: bool = False) -> PublishedNumber:
    return PublishedNumber(float(value), f"{value}{'*' * star}", star, "")


def right_table(seed: int) -> dict[Place, PublishedNumber]:
    """Return a table whose averages, differences and totals are right, and whose stars stand above its first row."""
    chance = random.Random(seed)
    cells: dict[Place, PublishedNumber] = {}
    averages: dict[tuple[str, str], Decimal] = {}
    for row in ("Baseline", "A", "B"):
        for metric in METRICS:
            low = 1000 if row == "Baseline" else 3000
            scores = [Decimal(chance.randint(low, low + 1999)) / 100 for _ in DOMAINS]
            for domain, score in zip(DOMAINS, scores, strict=True):
                cells["T1", row, domain, metric] = number(score, star=row == "B")
            mean = (sum(scores) / len(scores)).quantize(Decimal("0.01"), ROUND_HALF_UP)
            averages[row, metric] = mean
            cells["T1", row, "Avg.", metric] = number(mean)
            cells["T2", row, metric, metric] = number(mean)
            if row != "Baseline":
                cells["T2", row, f"Δ{metric}", f"d{metric}"] = number(mean - averages["Baseline", metric])
    sizes = [chance.randint(100, 999) for _ in range(4)]
    for name, size in zip("wxyz", sizes, strict=True):
        cells["T3", f"EN-DE/{name}", "train", "sentences"] = PublishedNumber(size * 1000.0, f"{size}K", False, "")
    cells["T3", "EN-FR/v", "train", "sentences"] = PublishedNumber(5000.0, "5K", False, "")
    cells["T3", "EN-DE/Total", "train", "sentences"] = PublishedNumber(sum(sizes) * 1000.0, f"{sum(sizes)}K", False, "")
    return cells


def objections(cells: dict[Place, PublishedNumber]) -> list[tuple[str, str]]:
    published = Published("mine", cells)
    return [(kind, one.cell) for kind, sweep in SWEEPS.items() for one in sweep(published) if not one.agrees]


@pytest.mark.parametrize("seed", range(3))
def test_a_right_table_is_let_through_and_each_wrong_number_is_found(seed: int) -> None:
    cells = right_table(seed)
    assert objections(cells) == []
    done = {kind: len(list(sweep(Published("mine", cells)))) for kind, sweep in SWEEPS.items()}
    assert done == {"average": 6, "delta": 4, "star": 6, "total": 1}
    for place, what in (
        (("T1", "A", "Avg.", "chrF"), "average"),
        (("T2", "B", "ΔBLEU", "dBLEU"), "delta"),
        (("T3", "EN-DE/Total", "train", "sentences"), "total"),
    ):
        old = cells[place]
        step = 1000 if what == "total" else 0.01
        changed = PublishedNumber(round((old.value or 0) + step, 2), old.raw, False, "")
        assert objections({**cells, place: changed}) == [(what, " | ".join((*place[:2], f"{place[2]}/{place[3]}")))]


def test_a_star_may_stand_on_a_score_as_good_as_the_first_row_but_not_below() -> None:
    cells = {("T1", "Baseline", "Law", "BLEU"): number(Decimal("20.00"))}
    for score, wrong in (("20.00", False), ("19.99", True), ("20.01", False)):
        starred = {**cells, ("T1", "A", "Law", "BLEU"): number(Decimal(score), star=True)}
        assert objections(starred) == [("star", "T1 | A | Law/BLEU")] * wrong
        assert objections({**cells, ("T1", "A", "Law", "BLEU"): number(Decimal(score))}) == []


def test_numbers_that_are_not_available_are_passed_over() -> None:
    cells = right_table(0)
    empty = PublishedNumber(None, "", False, "not available")
    for place in (("T1", "A", "Avg.", "BLEU"), ("T2", "A", "ΔBLEU", "dBLEU"), ("T1", "Baseline", "Law", "BLEU")):
        left = {**cells, place: empty}
        assert objections(left) == []
    assert objections({**cells, ("T3", "EN-DE/w", "train", "sentences"): empty}) == []
    assert objections(dict.fromkeys(cells, empty)) == []


def test_an_average_that_is_cut_off_is_told_from_one_that_is_wrong() -> None:
    def average(printed: str, scores: tuple[str, ...]) -> CheckedNumber:
        cells = {
            ("T1", "A", domain, "BLEU"): number(Decimal(score))
            for domain, score in zip((*DOMAINS, "Avg."), (*scores, printed), strict=True)
        }
        [found] = SWEEPS["average"](Published("mine", cells))
        return found

    assert average("20.67", ("20", "21", "21")).agrees
    assert average("20.66", ("20", "21", "21")).comment == "Cut off where it should be rounded."
    assert average("20.65", ("20", "21", "21")).comment == ""
    half = average("0.01", ("0.01", "0.01", "0.025"))
    assert (half.agrees, half.comment) == (False, "Cut off where it should be rounded; exactly half way.")


def test_the_unit_of_the_last_digit() -> None:
    expected = {"22.45": "0.01", "8.86*": "0.01", "38.0*": "0.1", "–0.06": "0.01", "+1.4": "0.1", "": "1"}
    expected |= {"184K": "1000", "217 k": "1000", "1M": "1000000", "610.9 M": "100000", "14,942": "1"}
    assert {raw: unit(raw) for raw in expected} == {raw: Decimal(one) for raw, one in expected.items()}


def test_half_is_rounded_away_from_zero() -> None:
    for value, to, expected in (
        ("32.125", "0.01", "32.13"),
        ("-0.125", "0.01", "-0.13"),
        ("0.5925", "0.01", "0.59"),
        ("999500", "1000", "1000000"),
    ):
        assert rounded(Decimal(value), Decimal(to)) == Decimal(expected)


def test_numbers_are_shown_as_papers_print_them() -> None:
    expected = {"26.9": "26.90", "46.29333": "46.2933", "457": "457", "184000": "184,000", "-0.06": "-0.06", "7": "7"}
    assert {value: show(Decimal(value)) for value in expected} == expected
