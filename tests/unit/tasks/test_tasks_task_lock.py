"""The lock of tasks: what came out first is entered, and what comes out later is held against it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.task import TaskConfig, load_task
from mdnmt.corpora.corpus_lock import own_lock
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.task_corpora import corpora_of
from mdnmt.errors import ConfigError, DataError
from mdnmt.fsio import read_json
from mdnmt.tasks.task_data import MANIFEST
from mdnmt.tasks.task_lock import LOCK, check_or_record, read_task_lock
from mdnmt.tasks.task_spec import TaskSpec, task_spec

CONFIG = Path(__file__).parents[3] / "config"


def splits(train: str = "a", test: str = "b") -> dict[str, dict[str, str]]:
    return {"train": {"law": train * 16}, "valid": {"law": "c" * 16}, "test": {"law": test * 16}}


def test_a_new_task_is_entered_and_the_same_one_passes(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    assert check_or_record(path, "mine", "01234567", splits())
    before = own_lock(path).read_bytes()
    assert not check_or_record(path, "mine", "01234567", splits())
    assert own_lock(path).read_bytes() == before
    assert before.startswith(b"# Like tasks.lock.yaml, for tasks that were first built in this checkout")
    assert not path.exists()  # under version control: making a task must not change it
    assert read_task_lock(own_lock(path)).tasks["mine"]["01234567"]["test"] == {"law": "b" * 16}


def test_another_fingerprint_is_another_task(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    check_or_record(path, "mine", "01234567", splits())
    assert check_or_record(path, "mine", "89abcdef", splits(test="d"))
    assert check_or_record(path, "other", "01234567", splits(test="d"))
    assert list(read_task_lock(own_lock(path)).tasks["mine"]) == ["01234567", "89abcdef"]


def test_other_sentences_are_refused_until_the_lock_lets_them_in(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    check_or_record(path, "mine", "01234567", splits())
    with pytest.raises(DataError) as caught:
        check_or_record(path, "mine", "01234567", splits("e", "d"))
    said = str(caught.value)
    assert "\n" not in said
    assert f"mine-01234567: train text of law is {'e' * 16}, was {'a' * 16} (and 1 more)" in said
    assert "remove 01234567 of mine there and make the task again" in said
    with pytest.raises(DataError, match=r"test text of news is .*, was not there"):
        check_or_record(path, "mine", "01234567", {**splits(), "test": {"law": "b" * 16, "news": "0" * 16}})
    own_lock(path).unlink()
    assert check_or_record(path, "mine", "01234567", splits("e", "d"))


def test_a_damaged_lock_is_told_in_one_line(tmp_path: Path) -> None:
    for text in ("tasks: {mine: 3}", "tasks: {mine: {x: {}}}", "tasks: {mine: {01234567: {a: {}}}}", "[1]"):
        (tmp_path / LOCK).write_text(text)
        with pytest.raises(ConfigError, match=LOCK) as caught:
            check_or_record(tmp_path / LOCK, "mine", "01234567", splits())
        assert "\n" not in str(caught.value)


def test_tasks_that_are_entered_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    path = tmp_path / LOCK
    threads = [
        threading.Thread(target=check_or_record, args=(path, f"task-{n}", "01234567", splits())) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_task_lock(own_lock(path)).tasks) == 12


def test_pinned_tasks_move_into_the_lock_under_version_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LOCK
    path.write_text(yaml.safe_dump({"tasks": {"mine": {"89abcdef": splits()}}}))
    assert not check_or_record(path, "mine", "89abcdef", splits())
    with pytest.raises(DataError, match=rf"{LOCK}: mine-89abcdef: train text of law"):
        check_or_record(path, "mine", "89abcdef", splits("e"))
    check_or_record(path, "mine", "01234567", splits("e"))
    (tmp_path / "config.yaml").touch()
    assert main(["pin", "--config", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{LOCK}: mine-01234567"
    assert not own_lock(path).exists()
    assert read_task_lock(path).tasks["mine"] == {"89abcdef": splits(), "01234567": splits("e")}


def made(project: Path) -> tuple[TaskSpec, list[str]]:
    """Fetch the text of a task of one domain and return its spec, and how the verb is called."""
    (project / "text").mkdir()
    for lang, word in (("en", "word"), ("fr", "mot")):
        lines = "".join(f"{word} {n} {'abcdefghij'[n % 10]}\n" for n in range(60))
        (project / "text" / f"acts.{lang}").write_text(lines)
    (project / "tasks").mkdir()
    value: dict[str, Any] = {
        "title": "Mine",
        "source_lang": "en",
        "target_lang": "fr",
        "domains": {"law": {"folder": str(project / "text"), "valid": 5, "test": 5}},
        "segmentation": {"bpe_merge_operations": 5},
    }
    (project / "tasks" / "mine.yaml").write_text(yaml.safe_dump(value))
    task: TaskConfig = load_task(project, "mine")
    corpora: dict[str, CorpusConfig] = corpora_of(project, task)
    for name, corpus in corpora.items():
        fetch(fetch_spec(name, corpus, project / "cache.json"), project / "corpora" / name)
    spec = task_spec("mine", task, corpora, project / "cache.json")
    where = ["--corpora", str(project / "corpora"), "--out", str(project / "out"), "--lock", str(project / LOCK)]
    return spec, ["task", "--spec", spec.model_dump_json(), *where]


def test_the_verb_holds_what_it_made_against_the_lock(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, call = made(tmp_path)
    assert not main(call)
    own = own_lock(tmp_path / LOCK)
    lock = read_task_lock(own)
    assert lock.tasks["mine"][spec.fingerprint] == read_json(tmp_path / "out" / MANIFEST)["splits"]
    assert not main(call)
    identity = lock.tasks["mine"][spec.fingerprint]["test"]["law"]
    text = own.read_text()
    own.write_text(text.replace(identity, "f" * 16))
    assert main(call) == 2
    assert f"test text of law is {identity}, was {'f' * 16}" in capsys.readouterr().err
    # Nobody takes it for a task that is whole.
    assert not (tmp_path / "out" / MANIFEST).exists()


def test_the_lock_of_the_project_has_the_demo_as_it_is_configured() -> None:
    task = load_task(CONFIG, "demo-en-fr")
    spec = task_spec("demo-en-fr", task, corpora_of(CONFIG, task), Path("nowhere.json"))
    known = read_task_lock(CONFIG / LOCK).tasks["demo-en-fr"]
    assert spec.fingerprint in known, "make the data of the demo, so that the lock has it, and commit the lock"
    assert set(known[spec.fingerprint]["test"]) == set(task.domains)
