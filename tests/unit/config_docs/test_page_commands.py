"""Every command on a page is run by a test, or listed as not run: `tests/page_commands.yaml` has the exceptions."""

from __future__ import annotations

import shlex

import pytest
from pages import EXCEPTIONS, MANUAL, ROOT, commands, read
from snakemake.cli import get_argument_parser


def test_every_exception_is_a_command_of_a_page_and_has_one_entry() -> None:
    named = [command for kind in EXCEPTIONS.values() for command in kind]
    assert set(EXCEPTIONS) == {"not_run", "run_by", "until"}
    assert sorted(named) == sorted(set(named))
    on_pages = {command for page in MANUAL for command in commands(page)}
    assert [command for command in named if command not in on_pages] == []


def test_the_tests_that_run_a_command_exist() -> None:
    for test in EXCEPTIONS["run_by"].values():
        path, _, name = test.partition("::")
        assert f"\ndef {name}(" in read(ROOT / path), test


@pytest.mark.parametrize("line", [line for page in MANUAL for line in commands(page) if "snakemake " in line])
def test_snakemake_accepts_the_options(line: str) -> None:
    options = shlex.split(line.partition("snakemake ")[2])
    get_argument_parser(profiles=[]).parse_args(options)
