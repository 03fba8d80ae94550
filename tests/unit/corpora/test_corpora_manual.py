"""Files that a user gets by hand: named before anything is made, checked once they are there."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from missing_corpora import why_any_missing
from reader_archives import read_whole

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.availability import why_lost, why_missing
from mdnmt.corpora.corpus_lock import NO_LOCK, read_lock
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.fetch_by_name import fetch_by_name
from mdnmt.errors import DataError, FetchError

YAML = """\
title: UM-Corpus
languages: [en, fr]
source:
  provider: manual
  file: Toy.zip
  page: https://example.org/form
  steps: fill in the form
  members: ["*/Toy.en-fr.en", "*/Toy.en-fr.fr"]
reader: {name: moses}
"""
WHAT_TO_DO = (
    "https://example.org/form: fill in the form; then put it there as resources/manual/Toy.zip "
    "(it contains */Toy.en-fr.en, */Toy.en-fr.fr)"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "config" / "corpora").mkdir(parents=True)
    (tmp_path / "config" / "corpora" / "toy.yaml").write_text(YAML)
    (tmp_path / "resources" / "manual").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(text: str = "un\ndeux\n", names: tuple[str, str] = ("Toy.en-fr.en", "Toy.en-fr.fr")) -> None:
    with zipfile.ZipFile("resources/manual/Toy.zip", "w") as archive:
        for name, lines in zip(names, ("one\ntwo\n", text), strict=True):
            archive.writestr(zipfile.ZipInfo(f"Toy/{name}"), lines)


def corpus(**changes: Any) -> CorpusConfig:
    import yaml

    return CorpusConfig.model_validate({**yaml.safe_load(YAML), **changes})


CORPORA = Path("resources/corpora")
CACHE = CORPORA / "sha256.json"


def test_what_is_to_be_done_is_told_in_one_line_when_the_dag_is_built(project: Path) -> None:
    assert why_missing(corpus(), CORPORA / "toy") == f"needs UM-Corpus: {WHAT_TO_DO}"
    with pytest.raises(FetchError, match=r"^needs UM-Corpus: https://example\.org/form: fill in the form"):
        fetch_by_name(Path("config"), "toy", CORPORA)
    put()
    assert why_any_missing({"toy": corpus()}, CORPORA) is None


def test_the_file_stays_where_it_is_and_is_read_from_there(project: Path) -> None:
    put()
    spec = fetch_spec("toy", corpus(pairs=2), CACHE)
    fetch(spec, CORPORA / "toy")
    assert {path.name for path in (CORPORA / "toy").iterdir()} == {"corpus.json"}
    assert read_whole(spec.corpus, CORPORA / "toy", "en", "fr")["train"] == [("one", "un"), ("two", "deux")]
    assert why_lost(spec, CORPORA / "toy") == ""
    Path("resources/manual/Toy.zip").unlink()
    assert "Toy.zip is not there" in why_lost(spec, CORPORA / "toy")


def test_it_is_locked_when_it_is_fetched_by_name_and_another_one_is_then_refused(project: Path) -> None:
    put()
    fetch_by_name(Path("config"), "toy", CORPORA)
    row = read_lock(Path("config")).corpora["toy"][0]
    assert (row.file, row.origin) == ("Toy.zip", "https://example.org/form")
    put("un\ntrois\n")
    spec = fetch_spec("toy", corpus(), CACHE, read_lock(Path("config")))
    assert spec.corpus.files[0].sha256 == row.sha256
    with pytest.raises(FetchError, match=r"Toy\.zip: has .*expected .*; put the right file there") as caught:
        fetch(spec, CORPORA / "toy")
    assert "\n" not in str(caught.value)


def test_without_a_lock_a_changed_file_is_another_text(project: Path) -> None:
    put()
    first = fetch_spec("toy", corpus(), CACHE, NO_LOCK).corpus
    fetch(fetch_spec("toy", corpus(), CACHE), CORPORA / "toy")
    put("un\ntrois et plus\n")
    second = fetch_spec("toy", corpus(), CACHE, NO_LOCK).corpus
    assert first.identity() != second.identity()
    with pytest.raises(DataError, match="was planned with; start again to plan with the new file"):
        read_whole(first, CORPORA / "toy", "en", "fr")


@pytest.mark.parametrize(
    ("french", "message"),
    [
        ("Other.en-fr.fr", r"Toy\.zip: has no \*/Toy\.en-fr\.fr; put the right file there"),
        ("../../x", "climbs out"),
        ("Toy.en-fr.fr", "has 2 pairs, expected 3"),
        ("", "not a zip, deb or tar archive"),
    ],
)
def test_a_file_that_is_another_one_says_so(project: Path, french: str, message: str) -> None:
    put(names=("Toy.en-fr.en", french))
    if not french:
        Path("resources/manual/Toy.zip").write_bytes(b"<html>")
    with pytest.raises(DataError, match=message):
        fetch(fetch_spec("toy", corpus(pairs=3), CACHE), CORPORA / "toy")
    assert not (CORPORA / "toy" / "corpus.json").exists()


@pytest.mark.parametrize("steps", ["two\nlines", ""])
def test_the_steps_are_one_line(steps: str) -> None:
    source = {**corpus().source.model_dump(), "steps": steps}
    with pytest.raises(ValueError, match="steps"):
        corpus(source=source)
