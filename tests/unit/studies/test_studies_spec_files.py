"""What the rules ask of a study."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mdnmt.errors import EXIT_USER
from mdnmt.exhibits import spec_files
from mdnmt.exhibits.spec_files import SpecFiles


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_full_or_read_only_folder_of_snakemake_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    spec_file = SpecFiles(lambda: True)
    there = spec_file("{}")

    def fails(path: Path, text: str) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(spec_files, "write_text", fails)
    assert spec_file("{}") == there and Path(there).read_text() == "{}\n"
    with pytest.raises(SystemExit) as caught:
        spec_file('{"another": 1}')
    [line] = capsys.readouterr().err.splitlines()
    assert caught.value.code == EXIT_USER
    assert line.startswith("snakemake: .snakemake/specs/") and f".json: {os.strerror(number)}; make room or" in line


def test_a_dry_run_names_specs_and_writes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    planned = SpecFiles(lambda: False)("{}")
    assert not list(tmp_path.iterdir())
    assert SpecFiles(lambda: True)("{}") == planned and Path(planned).read_text() == "{}\n"
