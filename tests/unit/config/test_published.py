"""The published numbers: every cell is there, as it was transcribed, and bad lines are named."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import pytest

from mdnmt.config.published import COLUMNS, Published, PublishedNumber, load_published
from mdnmt.errors import ConfigError

CONFIG = Path(__file__).resolve().parents[3] / "config"
PAPERS = ("jiang2020", "zhang2021", "song2026", "phan2022")

# Made once from the transcription that the files were made from, by another program than reads them now. A table
# without numbers may be filled in by a user, so its sums are not looked at.
SUMS = """
jiang2020 T1, 24 cells, 24 numbers, 0 stars: EN-DE/News = 221000; EN-DE/TED = 174000; EN-FR/TED = 536000;
    EN-FR/MEDICAL = 276000; ZH-EN/Laws = 220056; ZH-EN/News = 301450; ZH-EN/Speech = 220055; ZH-EN/Thesis =
    300425
jiang2020 T2, 22 cells, 22 numbers, 0 stars: News = 32.24; TED = 33.99; News + TED = 54.17; MTL = 56.17; AdvL =
    53.14; PAdvL = 56.55; WDC + WL = 56.68; Encoder = 58.08; Encoder + WL = 57.78; E/DC = 57.91; E/DC + WL =
    57.77
jiang2020 T3, 22 cells, 0 numbers, 0 stars: TED = 0; Medical = 0; TED + Medical = 0; MTL = 0; AdvL = 0; PAdvL =
    0; WDC + WL = 0; Encoder = 0; Encoder + WL = 0; E/DC = 0; E/DC + WL = 0
jiang2020 T4, 52 cells, 52 numbers, 0 stars: Laws = 60.8; News = 51.16; Speech = 29.94; Thesis = 27.28; Mixed =
    104.26; MTL = 104.43; AdvL = 103.7; PAdvL = 103.95; WDC + WL = 93.4; Encoder = 107.03; Encoder + WL =
    106.31; E/DC = 108.24; E/DC + WL = 107.4
jiang2020 T5, 16 cells, 0 numbers, 0 stars: EN-DE/with domain labels = 0; EN-DE/without domain labels = 0;
    EN-FR/with domain labels = 0; EN-FR/without domain labels = 0; ZH-EN/with domain labels = 0; ZH-EN/without
    domain labels = 0
jiang2020 T6, 6 cells, 0 numbers, 0 stars: Encoder + MTL = 0; Encoder + AdvL = 0; Encoder + PAdvL = 0; E/DC +
    MTL = 0; E/DC + AdvL = 0; E/DC + PAdvL = 0
jiang2020 T8, 44 cells, 44 numbers, 0 stars: Laws = 11.36; News = 6.99; Spoken = 8.83; Thesis = 2.28; Mixed =
    14.06; Multitask = 13.43; Adversarial = 12.53; PAdv = 14.6; WDC. w/ WL = 15.33; Encoder = 106.54; + Decoder
    = 107.67
phan2022 results, 8 cells, 8 numbers, 0 stars: direct-training = 44; E/DC = 2; E/DC-with-init = 2; Encoder = 40
phan2022 dataset, 6 cells, 6 numbers, 0 stars: News = 221000; TED = 174000
phan2022 report_T2_time_per_step, 3 cells, 3 numbers, 0 stars: direct-training = 1959.03; E/DC = 9694.38;
    Encoder = 7454.45
zhang2021 T1, 15 cells, 15 numbers, 0 stars: ZH-EN/news-commentary = 252000; ZH-EN/Laws = 221256; ZH-EN/Thesis =
    301425; ZH-EN/IWSLT = 232084; ZH-EN/Total = 1006765
zhang2021 T2, 9 cells, 9 numbers, 0 stars: EN-FR/ECB = 195500; EN-FR/KDE4 = 210500; EN-FR/IWSLT = 234500
zhang2021 T3, 32 cells, 32 numbers, 0 stars: Baseline = 308.54; DomainTag = 296.4; Word-Level Unsupervised
    learning = 312.95; Guided Learning = 315.3
song2026 T2, 21 cells, 21 numbers, 0 stars: UM-Corpus/Law = 219242; UM-Corpus/Thesis = 299565; UM-Corpus/Spoken
    = 219421; UM-Corpus/Science = 269309; OPUS/ECB = 175000; OPUS/News commentary = 120000; OPUS/TED = 149000
song2026 T3, 120 cells, 120 numbers, 24 stars: Baseline = 657.07; Transformer-big = 662.44; WALDM = 661.04;
    LDSPSLV = 655.06; DASA = 652.07; mBART-50 = 686.46; Domain-only = 673.24; Mix = 672.05
song2026 T4, 32 cells, 30 numbers, 0 stars: Baseline = 89015854.6; Transformer-big = 266020822.83; WALDM =
    266029305.14; LDSPSLV = 171015640.46; DASA = 99019370.09; mBART-50 = 610900003.57; Domain-only =
    273024012.76; Domain+Sentence = 273024003.79
song2026 T5, 108 cells, 108 numbers, 18 stars: Transformer = 485.48; Transformer-big = 483.28; WALDM = 487.35;
    LDSPSLV = 479.57; DASA = 485.65; MBART-50-zero = 650.68; MBART-50 = 735.31; Domain-only = 490.45;
    Domain+Sentence = 490.69
song2026 T6, 84 cells, 81 numbers, 0 stars: Baseline = 131.41; +DAMHA = 138.09; +DMoE (Domain-only) = 130.86;
    +DAMHA+MoE (Domain-only) = 136.53; +DAMHA+DMoE (Domain-only) = 137.89; +DAMHA+DMoE (Domain-only)+Lb1 =
    137.13; +DAMHA+DMoE (Domain-only)+Lb2 = 137.39; +DAMHA+DMoE (Domain-only)+Loss = 137.67; +DMoE (mix) =
    132.51; +DAMHA+MoE (mix) = 137.31; +DAMHA+DMoE (mix) = 139.07; +DAMHA+DMoE (mix)+Lb1 = 138.09; +DAMHA+DMoE
    (mix)+Lb2 = 137.23; +DAMHA+DMoE (mix)+Loss = 137.41
"""


def published() -> dict[str, Published]:
    return {paper: load_published(CONFIG, paper) for paper in PAPERS}


def expected() -> list[tuple[str, str, list[int], dict[str, Decimal]]]:
    """Return paper, table, [cells, numbers, stars] and row -> sum of each line of SUMS."""
    lines = re.sub(r"\n +", " ", SUMS).strip().split("\n")
    found = []
    for line in lines:
        head, _, body = line.partition(": ")
        (paper, table), counts = head.split(",")[0].split(" "), [int(part) for part in re.findall(r", (\d+) ", head)]
        rows = dict(pair.rsplit(" = ", 1) for pair in body.split("; "))
        found.append((paper, table, counts, {row: Decimal(total) for row, total in rows.items()}))
    return found


def exact(number: PublishedNumber | None) -> Decimal:
    assert number is not None and number.value is not None
    return Decimal(repr(number.value))


def test_all_tables_are_there_and_no_other() -> None:
    for paper, numbers in published().items():
        assert numbers.tables() == [table for of, table, _, _ in expected() if of == paper]
    assert sum(len(numbers.numbers) for numbers in published().values()) == 624


def test_rows_have_the_sums_they_were_made_with() -> None:
    for paper, table, counts, sums in expected():
        numbers = load_published(CONFIG, paper)
        cells = {place: number for place, number in numbers.numbers.items() if place[0] == table}
        assert numbers.rows(table) == list(sums), (paper, table)
        stars = sum(number.star for number in cells.values())
        there = [(place, number) for place, number in cells.items() if number.value is not None]
        assert (len(cells), stars) == (counts[0], counts[2]), (paper, table)
        if counts[1]:
            assert len(there) == counts[1], (paper, table)
            for row, total in sums.items():
                assert sum(exact(number) for place, number in there if place[1] == row) == total, (paper, table, row)


def test_a_value_is_what_is_printed() -> None:
    for place, number in (one for paper in PAPERS for one in load_published(CONFIG, paper).numbers.items()):
        digits = re.sub(r"[,* +]", "", number.raw).replace("–", "-")
        scale = {"k": 1000, "K": 1000, "M": 1_000_000}.get(digits[-1:], 1)
        if digits:
            assert exact(number) == Decimal(digits.rstrip("kKM")) * scale, place
        assert number.star == number.raw.endswith("*"), place
        assert number.value is not None or number.note or place[1] == "Baseline", f"{place}: why is it not available?"


@pytest.mark.parametrize(("table", "domains"), [("T3", 4), ("T5", 3)])
def test_averages_of_song_are_within_a_hundredth(table: str, domains: int) -> None:
    numbers = load_published(CONFIG, "song2026")
    columns = [column for column in numbers.columns(table) if column != "Avg."]
    assert len(columns) == domains
    for row in numbers.rows(table):
        for metric in ("BLEU", "chrF", "COMET"):
            mean = sum(exact(numbers.find(table, row, column, metric)) for column in columns) / domains
            assert abs(mean - exact(numbers.find(table, row, "Avg.", metric))) <= Decimal("0.01"), (row, metric)


def test_differences_of_song_table_6_are_right_but_for_one() -> None:
    numbers, wrong = load_published(CONFIG, "song2026"), []
    for row in numbers.rows("T6")[1:]:
        for column, metric in (("Bleu", "BLEU"), ("ChrF", "chrF"), ("Comet", "COMET")):
            delta = "ΔBLEU" if metric == "BLEU" else f"Δ{column}"
            score, base = (exact(numbers.find("T6", name, column, metric)) for name in (row, "Baseline"))
            if score - base != exact(numbers.find("T6", row, delta, f"d{metric}")):
                wrong.append((row, metric))
    assert wrong == [("+DMoE (Domain-only)", "BLEU")]


def test_totals_of_zhang_table_1_are_right() -> None:
    numbers = load_published(CONFIG, "zhang2021")
    for column in ("train", "dev", "test"):
        *parts, total = (exact(numbers.find("T1", row, column, "sentences")) for row in numbers.rows("T1"))
        assert sum(parts) == total


def test_phan_quotes_the_sizes_of_jiang() -> None:
    phan, jiang = load_published(CONFIG, "phan2022"), load_published(CONFIG, "jiang2020")
    for domain in ("News", "TED"):
        for column in ("Train", "Valid", "Test"):
            quoted = exact(phan.find("dataset", domain, column, "sentences"))
            assert quoted == exact(jiang.find("T1", f"EN-DE/{domain}", column, "sentences"))


def test_a_cell_is_found_or_is_none() -> None:
    numbers = load_published(CONFIG, "song2026")
    found = numbers.find("T3", "Mix", "Law", "COMET")
    assert found == PublishedNumber(86.15, "86.15*", True, "")
    assert numbers.find("T3", "Mix", "Laws", "COMET") is None
    probable = load_published(CONFIG, "jiang2020").find("T1", "EN-FR/TED", "Train", "sentences")
    assert probable is not None and (probable.value, probable.recommended) == (516_000, 226_000)


HEADER, CELL = "\t".join(COLUMNS), "T3\tMTL\tTED\tBLEU\t"


def write(tmp_path: Path, *lines: str) -> Path:
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "mine.tsv").write_text("".join(f"{line}\n" for line in ("# mine", *lines)), encoding="utf-8")
    return tmp_path


def test_a_paper_without_a_file_has_no_numbers(tmp_path: Path) -> None:
    assert load_published(tmp_path, "mine").numbers == {}


def test_a_typed_in_number_needs_no_raw_form_and_no_tabs_at_the_end(tmp_path: Path) -> None:
    numbers = load_published(write(tmp_path, HEADER, "T3\tMTL\tTED\tBLEU\t31.5"), "mine")
    assert numbers.find("T3", "MTL", "TED", "BLEU") == PublishedNumber(31.5, "31.5", False, "")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no lines; expected a header with table, row"),
        ([HEADER.replace("\tmetric", "")], "line 2: the column 'metric' is missing"),
        ([HEADER + "\tunit"], "line 2: the column 'unit' is unknown or twice there"),
        ([HEADER, "T3\tMTL\tTED\tBLEU\t26,09"], "line 3: value: '26,09' is not a number; write it like 26.09"),
        ([HEADER, "T3\tMTL\tTED\tBLEU\t1_000"], "line 3: value: '1_000' is not a number"),
        ([HEADER, "T3\tMTL\tTED\tBLEU\tnan"], "line 3: value: 'nan' is not a number"),
        ([HEADER, "T3\t\tTED\tBLEU\t1"], "line 3: row is empty"),
        ([HEADER, "T3\tMTL\tTED\tBLEU\t1\t1\tyes"], "line 3: star: found 'yes', expected \\* or nothing"),
        ([HEADER, "T3 MTL TED BLEU 1"], "line 3: row is empty"),
        ([HEADER, "\t".join("123456789")], "line 3: found 9 fields, expected 8"),
        ([HEADER, f"{CELL}1", "", f"{CELL}2"], "line 5: T3 / MTL / TED / BLEU is in line 3 already; remove one"),
        ([HEADER, f"{CELL}1e999"], "line 3: value: '1e999' is not a number"),
        ([HEADER.replace("\t", ",")], "line 2: the column 'table' is missing; separate them by tabs"),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=f"mine.tsv: {message}") as caught:
        load_published(write(tmp_path, *lines), "mine")
    assert "\n" not in str(caught.value)
