"""The Moses zips of OPUS."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reader_archives import BOUND, gives_pairs_or_says_why, grows, many, pairs_of, zipped

from mdnmt.config.corpus_reader import MosesReader
from mdnmt.corpora.formats.archive import open_archive
from mdnmt.corpora.readers import reader
from mdnmt.errors import DataError

OPTIONS = MosesReader(name="moses")
ECB = {
    "ECB.en-fr.en": b"a monetary policy\nb\n",
    "ECB.en-fr.fr": "une politique monétaire\nbé\n".encode(),
    "ECB.en-fr.ids": b"en/1.xml.gz\tfr/1.xml.gz\ts1\ts1\n",
    "ECB.en-fr.xml": b"<cesAlign/>",
    "README": b"Corpus Name: ECB\n",
    "LICENSE": b"see README\n",
}


def test_both_sides_are_found_by_the_pair_in_either_order(tmp_path: Path) -> None:
    path = zipped(tmp_path / "en-fr.txt.zip", ECB)
    expected = [("a monetary policy", "une politique monétaire"), ("b", "bé")]
    assert pairs_of(path, OPTIONS, "en", "fr") == expected
    assert pairs_of(path, OPTIONS, "fr", "en") == [(fr, en) for en, fr in expected]


def test_a_corpus_of_several_words_and_a_folder_are_found(tmp_path: Path) -> None:
    members = {"moses/News-Commentary.v16.en-fr.en": b"a\n", "moses/News-Commentary.v16.en-fr.fr": b"b\n"}
    assert pairs_of(zipped(tmp_path / "a.zip", members), OPTIONS, "en", "fr") == [("a", "b")]


def test_another_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.zip: has no member <corpus>\.de-en\.de"):
        pairs_of(zipped(tmp_path / "a.zip", ECB), OPTIONS, "de", "en")
    two = {**ECB, "KDE4.en-fr.en": b"x\n"}
    with pytest.raises(DataError, match=r"several members <corpus>\.en-fr\.en: 'ECB\.en-fr\.en', 'KDE4\.en-fr\.en'"):
        pairs_of(zipped(tmp_path / "b.zip", two), OPTIONS, "en", "fr")
    odd = {**ECB, "ECB.en-fr.fr": b"x\n"}
    with pytest.raises(DataError, match=r"c\.zip:ECB\.en-fr\.en:2 has no counterpart"):
        pairs_of(zipped(tmp_path / "c.zip", odd), OPTIONS, "en", "fr")


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    def made(count: int):
        members = {"ECB.en-fr.en": many(count, "en"), "ECB.en-fr.fr": many(count, "fr")}
        path = zipped(tmp_path / str(count), members)

        def read():
            with open_archive(path, BOUND) as archive:
                yield from reader("moses").read(archive, "en", "fr", OPTIONS)

        return read

    assert grows(made) < 1.3


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*ECB, "x/ECB.en-fr.en", "A.fr-en.fr"]) | st.text(max_size=5), st.binary(), max_size=5
    ),
    st.integers(1, 9),
)
def test_any_members_give_pairs_or_a_clear_line(members: dict[str, bytes], block: int) -> None:
    gives_pairs_or_says_why(members, block, OPTIONS, "en", "fr")
