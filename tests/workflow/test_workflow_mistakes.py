"""A mistake in the configuration ends Snakemake at once, with one line that names file and key."""

from __future__ import annotations

import pytest
from chosen_cases import chosen_cases
from workflow.snakemake_project import Project


@pytest.fixture
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.create(tmp_path_factory.mktemp("mistakes") / "project")


MISTAKES = [
    ("config/config.yaml", "threads: 1", "thread: 1", "unknown key 'thread' (did you mean 'threads'?)"),
    ("config/studies/tiny.yaml", "beam_size: 2", "beam_size: two", "decoding.beam_size: "),
    ("config/tasks/tiny.yaml", "title: Tiny", "titel: Tiny", "unknown key 'titel' (did you mean 'title'?)"),
    ("config/studies/tiny.yaml", "- waldm-edc", "- waldm-edk", "no method 'waldm-edk' (did you mean 'waldm-edc'?)"),
]


@pytest.mark.slow
@pytest.mark.parametrize("mistake", chosen_cases(MISTAKES, MISTAKES[-1]), ids=lambda mistake: mistake[2])
def test_one_line_and_no_traceback(fresh: Project, mistake: tuple[str, str, str, str]) -> None:
    file, old, new, said = mistake
    fresh.edit(file, old, new)
    printed = fresh.snakemake("-n", status=1)
    assert "Traceback" not in printed
    [line] = [line for line in printed.splitlines() if said in line]
    assert "methods" in line if "method" in said else file in line


@pytest.mark.slow
def test_mistaken_option_of_the_command_line(fresh: Project) -> None:
    printed = fresh.snakemake("-n", "--config", "seeds=-1", status=1)
    assert "Traceback" not in printed
    assert [line for line in printed.splitlines() if "seeds" in line and "from 1" in line]
