"""A mutated configuration is valid or refused in one line with status 2, in bounded time; `make long` takes 500."""

from __future__ import annotations

import os
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from mutated_config import mutated
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.errors import EXIT_USER

# Mutations from this number on, and how many; docs/faults.md says what 500 gave.
FIRST = int(os.environ.get("MDNMT_MUTATIONS_FROM", "0"))
NUMBER = int(os.environ.get("MDNMT_MUTATIONS", "40"))
MOST_SECONDS = 20  # of processor time, where a valid configuration takes less than two
MOST_MEMORY = 2 << 30  # bytes beyond what the process has


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project.create(tmp_path_factory.mktemp("mutated") / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made.folder)
        yield made


def ended(words: list[str], output: Path) -> tuple[int, str]:
    """Return status and output of a verb in a fork of its own, with a limit to its time and memory."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            log = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            # pytest has put files of its own here.
            sys.stdout = sys.stderr = os.fdopen(log, "w", encoding="utf-8", buffering=1)
            taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_MEMORY, resource.RLIM_INFINITY))
            resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
            status = main(words)
        except SystemExit as error:
            status = int(error.code or 0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), output.read_text(encoding="utf-8", errors="replace")


@pytest.mark.slow
def test_a_mutated_configuration_is_valid_or_refused_in_one_line(project: Project, tmp_path: Path) -> None:
    audit = ["audit", "--config", "config", "--paper", "jiang2020", "--json", str(tmp_path / "audit.json")]
    for words in (["plan"], audit):
        status, said = ended(words, tmp_path / "said")
        assert status == 0, said
    counts: Counter[str] = Counter()
    for number in range(FIRST, FIRST + NUMBER):
        file, name, content = mutated(project.path("config"), number)
        path = project.path(f"config/{file}")
        good = path.read_bytes()
        path.write_bytes(content)
        try:
            status, said = ended(audit if file.startswith("audit/") else ["plan"], tmp_path / "said")
        finally:
            path.write_bytes(good)
        where = f"mutation {number}: {file}: {name}: status {status}: {said[-3000:]}"
        assert status in (0, EXIT_USER) and "Traceback" not in said, where
        if status == EXIT_USER:
            assert said.count("\n") == 1 and len(said) < 2100 and "config" in said, where
        assert not any(ord(c) < 32 and c not in "\n\t" for c in said), where
        counts["valid" if status == 0 else "refused"] += 1
    print(dict(counts))
    assert counts["refused"] > NUMBER / 4 and counts["valid"] > 0
