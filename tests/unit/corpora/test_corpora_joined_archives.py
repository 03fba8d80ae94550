"""Several files of one corpus as one archive."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.errors import DataError


def tgz(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def test_members_are_called_by_their_file(tmp_path: Path) -> None:
    files = [tgz(tmp_path / "a.tgz", {"t/x": b"1"}), tgz(tmp_path / "b.tgz", {"t/x": b"22"})]
    with open_files(files, 1_000_000) as archive:
        assert archive.names() == ["a.tgz/t/x", "b.tgz/t/x"]
        assert archive.read("a.tgz/t/x") == b"1"
        assert b"".join(archive.blocks("b.tgz/t/x")) == b"22"
        with pytest.raises(DataError, match=r"no file 'c\.tgz'"):
            archive.read("c.tgz/t/x")
        with pytest.raises(DataError, match=r"no member 't/y'"):
            archive.read("a.tgz/t/y")


def test_one_file_is_seen_as_it_is(tmp_path: Path) -> None:
    with open_files([tgz(tmp_path / "a.tgz", {"t/x": b"1"})], 1_000_000) as archive:
        assert archive.names() == ["t/x"]


def test_the_bound_holds_for_all_files_together(tmp_path: Path) -> None:
    large = b"x" * 60_000
    files = [tgz(tmp_path / name, {"x": large}) for name in ("a.tgz", "b.tgz")]
    with open_files(files, 100_000) as archive:
        archive.read("a.tgz/x")
        with pytest.raises(DataError, match="unpacks to more than 100000 bytes"):
            archive.read("b.tgz/x")


def test_a_file_without_a_suffix_is_text(tmp_path: Path) -> None:
    (tmp_path / "Translation-en").write_bytes(b"abc")
    with open_files([tmp_path / "Translation-en"], 100) as archive:
        assert archive.names() == ["Translation-en"]
        assert archive.read("Translation-en") == b"abc"
        with pytest.raises(DataError, match="no member"):
            archive.read("other")
    with open_files([tmp_path / "Translation-en"], 2) as archive, pytest.raises(DataError, match="unpacks to more"):
        archive.read("Translation-en")
    with open_files([tmp_path / "Translation-fr"], 2) as archive, pytest.raises(DataError, match="cannot be read"):
        archive.read("Translation-fr")
