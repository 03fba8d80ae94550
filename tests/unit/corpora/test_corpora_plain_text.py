"""`mdnmt fetch --text`: a corpus as plain files, as a user's own text stands in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mdnmt.cli import main

ROWS = "one\tun\n two  words \tdeux\u00a0mots\nthree\ttrois\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("config/corpora", "mine"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mine" / "train.tsv").write_text(ROWS)
    value = {
        "title": "Toy",
        "languages": ["en", "fr"],
        "source": {"provider": "local", "folder": "mine"},
        "reader": {"name": "tsv", "columns": {"en": 1, "fr": 2}},
    }
    (tmp_path / "config/corpora/toy.yaml").write_text(yaml.safe_dump(value))
    return tmp_path


def test_every_segment_becomes_a_line_of_both_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not main(["fetch", "toy", "--text", "out"])
    assert (project / "out/train.en").read_text() == "one\ntwo words\nthree\n"
    assert (project / "out/train.fr").read_text() == "un\ndeux mots\ntrois\n"
    assert capsys.readouterr().out.endswith("out: train.en and train.fr, 3 lines each\n")


def test_the_other_direction_and_fewer_lines(project: Path) -> None:
    assert not main(["fetch", "toy", "--text", "out", "--pair", "fr-en", "--lines", "2"])
    assert (project / "out/train.fr").read_text() == "un\ndeux mots\n"
    assert (project / "out/train.en").read_text() == "one\ntwo words\n"


def test_what_cannot_be_saved_is_told_and_leaves_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", "toy", "--text", "out", "--pair", "en-de"]) == 2
    assert "--pair en-de: expected two languages of en, fr" in capsys.readouterr().err
    assert main(["fetch", "toy", "tou", "--text", "out"]) == 2
    assert "--text takes one corpus, found toy, tou" in capsys.readouterr().err
    (project / "mine" / "train.tsv").write_text(ROWS + "a\tb\tc\n")
    assert main(["fetch", "toy", "--text", "out"]) == 2
    assert not (project / "out/train.en").exists()


def test_generated_text_can_be_saved_too(project: Path) -> None:
    value = {
        "title": "Made",
        "languages": ["en", "fr"],
        "source": {"provider": "generated"},
        "reader": {"name": "generated", "domain": 0, "sentences": 20},
    }
    (project / "config/corpora/made.yaml").write_text(yaml.safe_dump(value))
    assert not main(["fetch", "made", "--text", "out", "--lines", "5"])
    assert len((project / "out/train.en").read_text().splitlines()) == 5
