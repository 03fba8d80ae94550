"""The classifier tells domains by their words, says how often it is right, and guesses the same each time."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mdnmt import fsio
from mdnmt.analysis import domain_classifier
from mdnmt.analysis.domain_classifier import predict
from mdnmt.cli import main
from mdnmt.decode.labels import read_predicted
from mdnmt.errors import DataError
from mdnmt.tasks.task_data import TaskData


@pytest.fixture
def data(toy_task: Path, monkeypatch: pytest.MonkeyPatch) -> TaskData:
    """Return the toy task with text of one's own: what tells its domains apart, and what they share, is known."""
    text = {
        ("train", "economy"): ["the rate of growth", "a bank index", "prices and rates"] * 4,
        ("train", "law"): ["the court rules", "a judge of the party", "orders and rules"] * 4,
        ("test", "economy"): ["rates and growth", "the index", "judge the court"],
        ("test", "law"): ["court orders"],
    }
    monkeypatch.setattr(TaskData, "text", lambda self, split, domain, lang: text[split, domain])
    return TaskData.load(toy_task)


def test_each_test_sentence_gets_a_label_and_the_shares_are_counted(data: TaskData) -> None:
    found = predict(data)
    assert found["domains"] == ["economy", "law"] and found["train_sentences"] == {"economy": 12, "law": 12}
    assert found["test"] == {
        "economy": {"accuracy": 2 / 3, "labels": [0, 0, 1]},
        "law": {"accuracy": 1.0, "labels": [1]},
    }
    assert found["accuracy"] == pytest.approx(5 / 6)


def test_no_more_training_text_than_needed_from_all_of_it(data: TaskData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(domain_classifier, "TRAIN_SENTENCES", 5)
    assert predict(data)["train_sentences"] == {"economy": 4, "law": 4}  # every third
    assert domain_classifier._spread(list("abcdefghijkl")) == ["a", "d", "g", "j"]


def test_one_domain_is_no_choice(data: TaskData, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskData, "text", lambda self, split, domain, lang: ["a"] if domain == "law" else [])
    with pytest.raises(DataError, match="training text of fewer than two domains"):
        predict(data)


def test_data_that_other_code_prepared_are_named(
    toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(toy_task, tmp_path / "task")
    record = fsio.read_json(tmp_path / "task/task.json")
    words = ["predict-labels", "--task", str(tmp_path / "task"), "--out", str(tmp_path / "labels.json")]
    assert main(words) == 0 and capsys.readouterr().err == ""
    fsio.write_sealed(tmp_path / "task/task.json", {**record, "code": {"text": "0" * 16}})
    assert main(words) == 0
    assert f"{tmp_path}/task: data prepared by other code than this" in capsys.readouterr().err


def test_the_verb_writes_the_same_bytes_each_time(
    toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        assert main(["predict-labels", "--task", str(toy_task), "--out", str(tmp_path / f"{name}.json")]) == 0
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    assert "of 5 test sentences classified correctly" in capsys.readouterr().out
    guesses = read_predicted(tmp_path / "one.json")
    assert {name: len(labels) for name, labels in guesses.items()} == {"economy": 5, "law": 5}
    assert set(guesses["law"]) <= {"economy", "law"} and guesses["law"].count("law") >= 4
