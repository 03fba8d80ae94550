"""On a network file system a reader can see a file late, or short, for a moment after its writer has finished."""

from __future__ import annotations

import shutil

import pytest
import yaml
from workflow.snakemake_project import ROOT, Project

pytestmark = pytest.mark.slow

# Verb, or what `mdnmt exhibit` makes -> the file that its first process does not see as it is, and how much it sees.
LATE = {"decode": ("run.json", 0.5), "score": ("sums.json", None), "tables": ("scores.json", None)}
FIRST_READER = """
import pathlib, sys
late = {late!r}
words = [word.partition("/")[0] for word in sys.orig_argv[1:]]
verb = next((word for word in words if word in late), None)
if verb is not None and any(word.endswith("mdnmt") for word in sys.orig_argv):
    name, share = late[verb]
    read, marker = pathlib.Path.read_bytes, pathlib.Path("seen-late-" + verb)
    def read_late(self):
        data = read(self)
        if self.name != name or marker.exists():
            return data
        marker.touch()
        if share is None:
            raise FileNotFoundError(2, "No such file or directory", str(self))
        return data[: int(share * len(data))]
    pathlib.Path.read_bytes = read_late
"""


def test_files_that_show_late_or_short_cost_a_retry_and_change_nothing(project: Project) -> None:
    tables = {path: path.read_bytes() for path in sorted(project.folder.glob("results/tiny/tables/*.csv"))}
    translations = {
        path: path.read_bytes() for path in sorted(project.folder.glob("results/runs/*/*/*/test-*/hyp/hyp*"))
    }
    for folder in project.folder.glob("results/runs/*/*/*/test-*"):
        shutil.rmtree(folder)
    for table in tables:
        table.unlink()
    project.with_sitecustomize(FIRST_READER.format(late=LATE))
    printed = project.snakemake("--cores", "2", "--retries", "1")
    seen = {path.name.rpartition("-")[2] for path in project.folder.glob("seen-late-*")}
    assert seen == set(LATE), printed
    assert "Trying to restart job" in printed and "Traceback" not in printed
    assert tables and {path: path.read_bytes() for path in tables} == tables
    assert translations and {path: path.read_bytes() for path in translations} == translations


def test_the_profile_for_slurm_waits_for_files_and_tries_again() -> None:
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/profile.yaml").read_text())
    assert profile["latency-wait"] >= 60 and profile["retries"] >= 1
