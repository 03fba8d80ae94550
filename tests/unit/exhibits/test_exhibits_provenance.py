"""What is told of the machine and the code, and what never is."""

import getpass
import json
import re
import socket
import subprocess
from pathlib import Path

import pytest

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


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Return a repository with one commit, as though the package ran from there."""
    for name in ("src/mdnmt/provenance.py", "config/corpora.lock.yaml", "docs/page.md", ".gitignore"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("__pycache__/\n" if name == ".gitignore" else "first\n")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@x.invalid"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr(provenance, "__file__", str(tmp_path / "src/mdnmt/provenance.py"))
    return tmp_path


def test_changed_and_new_files_make_the_commit_dirty(repository):
    commit, before = provenance.git_state()
    assert commit and before is False
    changed = ("src/mdnmt/provenance.py", "docs/page.md")
    new = ("src/mdnmt/methods/own.py", "plugins/own.py", "workflow/rules/own.smk", "config/studies/own.yaml")
    uncounted = ("plugins/__pycache__/own.pyc", "docs/notes.md", "config/corpora.lock.yaml", "config/tasks.lock.yaml")
    for name in (*changed, *new, *uncounted):
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        was = path.read_text() if path.exists() else None
        path.write_text("second\n")
        assert provenance.git_state() == (commit, name not in uncounted), name
        path.unlink() if was is None else path.write_text(was)
