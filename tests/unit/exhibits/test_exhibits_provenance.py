"""What is told of the machine and the code, and what never is."""

import getpass
import json
import re
import socket
from pathlib import Path

from mdnmt import provenance


def test_collect_is_plain_json_and_names_versions():
    made = provenance.collect()
    assert json.loads(json.dumps(made)) == made
    assert made["packages"]["numpy"] and made["cores"] >= 1 and made["cpu"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", made["utc"])


def test_collect_tells_no_path_and_no_host():
    text = json.dumps(provenance.collect() | {"commit": None})
    assert str(Path(provenance.__file__).parents[2]) not in text
    assert str(Path.home()) + "/" not in text
    host, user = socket.gethostname(), getpass.getuser()
    assert not re.search(rf"\b{re.escape(host)}\b", text)
    assert not re.search(rf"\b{re.escape(user)}\b", text)


def test_outside_a_repository_there_is_no_commit(monkeypatch):
    monkeypatch.setattr(provenance, "_git", lambda *arguments: None)
    assert provenance.git_state() == (None, None)


def test_a_file_that_git_does_not_track_has_no_commit(monkeypatch):
    monkeypatch.setattr(provenance, "_git", lambda *arguments: "" if arguments[0] == "ls-files" else "a" * 40)
    assert provenance.git_state() == (None, None)


def test_a_changed_file_makes_the_commit_dirty(monkeypatch):
    answers = {"ls-files": "provenance.py", "rev-parse": "a" * 40, "status": " M x"}
    monkeypatch.setattr(provenance, "_git", lambda *arguments: answers[arguments[0]])
    assert provenance.git_state() == ("a" * 40, True)
    answers["status"] = ""
    assert provenance.git_state() == ("a" * 40, False)
