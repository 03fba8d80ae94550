"""The readers of two line-aligned members: statmt's tgz, and the Moses zips of OPUS."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import BOUND, gives_pairs_or_says_why, grows, many, pairs_of, reads, tgz, zipped

from mdnmt.config.corpus_reader import MosesReader, ParallelReader
from mdnmt.corpora.formats.archive import open_archive
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError

DE, EN = "training/europarl-v7.de-en.de", "training/europarl-v7.de-en.en"
EUROPARL = ParallelReader(name="parallel", members={"de": DE, "en": EN})
TEXT = {
    "training/europarl-v7.cs-en.cs": b"x\n",
    DE: "Wiederaufnahme\n\nGrüße\u2028Sie\n".encode(),
    EN: b"Resumption\nof\nGreetings",
}


@pytest.mark.parametrize("pack", [tgz, zipped])
def test_two_members_are_read_in_step_whatever_else_is_there(tmp_path: Path, pack) -> None:
    path = pack(tmp_path / "europarl", TEXT)
    # A blank line stays one, and nothing but the line feed ends a line.
    expected = [("Wiederaufnahme", "Resumption"), ("", "of"), ("Grüße\u2028Sie", "Greetings")]
    assert pairs_of(path, EUROPARL, "de", "en") == expected
    assert pairs_of(path, EUROPARL, "en", "de") == [(en, de) for de, en in expected]


def test_what_is_wrong_with_a_member_is_said_with_its_line(tmp_path: Path) -> None:
    for name, data, said in (
        (EN, b"a\nb\n", rf"{DE}: 3 lines against 2 in .*{EN}; .*{DE}:3 has no counterpart"),
        (EN, b"a\nb\nc\nd\n", rf"{DE}: 3 lines against 4 in .*{EN}; .*{EN}:4 has no counterpart"),
        (EN, b"a\nb\xe9\nc\n", rf"{EN}:2: the byte 0xe9 is not UTF-8"),
        (DE, b"a\nb\nc\0\n", rf"{DE}:3: has a NUL byte"),
        (DE, b"\n\n\n", rf"{DE}: is empty"),
        (DE, b"a\n" + b"b" * 2_000_000 + b"\nc\n", rf"{DE}:2: is longer than 1048576 bytes"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            pairs_of(tgz(tmp_path / "a.tgz", {**TEXT, name: data}), EUROPARL, "de", "en")
        assert "\n" not in str(caught.value)


def test_missing_members_and_languages_are_named(tmp_path: Path) -> None:
    path = tgz(tmp_path / "a.tgz", {DE: b"a\n"})
    with pytest.raises(DataError, match=rf"a\.tgz: has no member '{EN}'"):
        pairs_of(path, EUROPARL, "de", "en")
    with pytest.raises(DataError, match="`members` names none for 'fr', only de, en"):
        pairs_of(path, EUROPARL, "de", "fr")


def test_a_damaged_archive_is_told_while_it_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {DE: many(5000, "de"), EN: many(5000, "en")})
    data = bytearray(path.read_bytes())
    data[3000] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged or unreadable"):
        pairs_of(path, EUROPARL, "de", "en")


def test_a_member_that_unpacks_to_more_than_the_bound_is_refused(tmp_path: Path) -> None:
    path = tgz(tmp_path / "a.tgz", {DE: many(2000, "de"), EN: many(2000, "en")})
    with open_archive(path, 420_000) as archive, pytest.raises(DataError, match="unpacks to more than 420000 bytes"):
        for _ in range(2):  # once is within the bound
            assert len(list(reader("parallel").read(archive, "de", "en", EUROPARL))) == 2000


def test_a_zip_whose_names_are_not_what_they_say_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"é": b"x"})
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xc3("))
    with pytest.raises(DataError, match=r"a\.zip: not a zip.*, or damaged"):
        pairs_of(path, EUROPARL, "de", "en")


def test_a_sparse_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in (DE, EN):
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = 1, {"GNU.sparse.map": "0,1", "GNU.sparse.size": str(1 << 40)}
            archive.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(DataError, match=rf"{DE}: refused, a sparse file"):
        pairs_of(path, EUROPARL, "de", "en")


def test_the_sides_may_stand_in_two_files(tmp_path: Path) -> None:
    paths = [zipped(tmp_path / "de.zip", {"text": b"eins\n"}), zipped(tmp_path / "en.zip", {"text": b"one\n"})]
    options = ParallelReader(name="parallel", members={"de": "de.zip/text", "en": "en.zip/text"})
    with open_files(paths, BOUND) as archive:
        assert list(reader("parallel").read(archive, "de", "en", options)) == [("eins", "one")]
    with open_files(paths, 6) as archive, pytest.raises(DataError, match="more than 6 bytes"):
        list(reader("parallel").read(archive, "de", "en", options))


def test_a_layout_without_sets_of_its_own_has_none(tmp_path: Path) -> None:
    with open_archive(tgz(tmp_path / "a.tgz", TEXT), BOUND) as archive:
        assert reader("parallel").held_out(archive, "valid", "de", "en", EUROPARL) is None


@pytest.mark.slow
@pytest.mark.parametrize("pack", [tgz, zipped])
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path, pack) -> None:
    def made(count: int):
        return reads(pack(tmp_path / str(count), {DE: many(count, "de"), EN: many(count, "en")}), EUROPARL, "de", "en")

    assert grows(made) < 1.3


@pytest.mark.slow
@pytest.mark.parametrize("pack", [tgz, zipped])
def test_any_damage_to_an_archive_gives_pairs_or_a_clear_line(tmp_path: Path, pack) -> None:
    path = pack(tmp_path / "whole", {DE: many(40, "de"), EN: many(40, "en")})
    whole = path.read_bytes()

    @settings(max_examples=300, deadline=None)
    @given(st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), min_size=1), st.integers(0))
    def damaged(changes: list[tuple[int, int]], length: int) -> None:
        data = bytearray(whole)
        for at, value in changes:
            data[at] = value
        path.write_bytes(bytes(data[: len(data) - length % len(data)] if length % 2 else data))
        try:
            pairs_of(path, EUROPARL, "de", "en")
        except DataError as error:
            assert str(error).startswith("whole") and "\n" not in str(error)

    damaged()


@settings(max_examples=150, deadline=None)
@given(st.binary(), st.binary(), st.integers(1, 9))
def test_any_bytes_give_pairs_or_a_clear_line(one: bytes, other: bytes, block: int) -> None:
    gives_pairs_or_says_why({DE: one, EN: other}, block, EUROPARL, "de", "en")


MOSES = MosesReader(name="moses")
ECB = {
    "ECB.en-fr.en": b"a monetary policy\nb\n",
    "ECB.en-fr.fr": "une politique monétaire\nbé\n".encode(),
    "ECB.en-fr.ids": b"en/1.xml.gz\tfr/1.xml.gz\ts1\ts1\n",
    "ECB.en-fr.xml": b"<cesAlign/>",
    "README": b"Corpus Name: ECB\n",
    "LICENSE": b"see README\n",
}


def test_both_sides_of_a_moses_zip_are_found_by_the_pair_in_either_order(tmp_path: Path) -> None:
    path = zipped(tmp_path / "en-fr.txt.zip", ECB)
    expected = [("a monetary policy", "une politique monétaire"), ("b", "bé")]
    assert pairs_of(path, MOSES, "en", "fr") == expected
    assert pairs_of(path, MOSES, "fr", "en") == [(fr, en) for en, fr in expected]


def test_a_corpus_of_several_words_and_a_folder_are_found(tmp_path: Path) -> None:
    members = {"moses/News-Commentary.v16.en-fr.en": b"a\n", "moses/News-Commentary.v16.en-fr.fr": b"b\n"}
    assert pairs_of(zipped(tmp_path / "a.zip", members), MOSES, "en", "fr") == [("a", "b")]


def test_a_zip_that_is_no_moses_zip_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.zip: has no member <corpus>\.de-en\.de"):
        pairs_of(zipped(tmp_path / "a.zip", ECB), MOSES, "de", "en")
    two = {**ECB, "KDE4.en-fr.en": b"x\n"}
    with pytest.raises(DataError, match=r"several members <corpus>\.en-fr\.en: 'ECB\.en-fr\.en', 'KDE4\.en-fr\.en'"):
        pairs_of(zipped(tmp_path / "b.zip", two), MOSES, "en", "fr")
    odd = {**ECB, "ECB.en-fr.fr": b"x\n"}
    with pytest.raises(DataError, match=r"c\.zip:ECB\.en-fr\.en:2 has no counterpart"):
        pairs_of(zipped(tmp_path / "c.zip", odd), MOSES, "en", "fr")


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*ECB, "x/ECB.en-fr.en", "A.fr-en.fr"]) | st.text(max_size=5), st.binary(), max_size=5
    ),
    st.integers(1, 9),
)
def test_any_members_give_pairs_or_a_clear_line(members: dict[str, bytes], block: int) -> None:
    gives_pairs_or_says_why(members, block, MOSES, "en", "fr")
