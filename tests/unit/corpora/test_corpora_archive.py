from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from mdnmt.corpora.formats.archive import Budget, open_archive, open_nested
from mdnmt.corpora.formats.folder import Folder
from mdnmt.errors import DataError


def make_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tar_bytes(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for info, data in members:
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def test_zip_members_are_read(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.whl", {"x/a.txt": b"one", "b.txt": b"two"})
    with open_archive(path, 100) as archive:
        assert archive.names() == ["x/a.txt", "b.txt"]
        assert archive.read("x/a.txt") == b"one"
        assert archive.budget.left == 97


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_tar_members_are_read_however_it_is_packed(tmp_path: Path, pack) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(pack(tar_bytes([(tarfile.TarInfo("x/a.txt"), b"one"), (tarfile.TarInfo("b"), b"")])))
    with open_archive(path, 1 << 20) as archive:
        assert archive.names() == ["x/a.txt", "b"]
        assert archive.read("x/a.txt") == b"one"
        assert archive.read("b") == b""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../a", "climbs out"),
        ("x/../../a", "climbs out"),
        ("/etc/a", "absolute"),
        ("C:/a", "absolute"),
        ("a\\b", "malf"),
    ],
)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_hostile_names_are_refused(tmp_path: Path, name: str, reason: str, kind: str) -> None:
    path = tmp_path / "a"
    if kind == "zip":
        make_zip(path, {"good": b"1", name: b"2"})
    else:
        path.write_bytes(tar_bytes([(tarfile.TarInfo(name), b"2")]))
    with pytest.raises(DataError, match=reason), open_archive(path, 1 << 20):
        pass


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_a_tar_are_refused(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("innocent.txt")
    info.type, info.linkname = kind, "/etc/passwd"
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes([(info, b"")]))
    with pytest.raises(DataError, match="link or a device"), open_archive(path, 1 << 20):
        pass


def test_a_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("innocent.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="is a link"), open_archive(path, 1 << 20):
        pass


def test_a_zip_that_declares_more_than_the_bound_is_refused_unread(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "bomb.zip", {"zeros": bytes(5_000_000)})
    assert path.stat().st_size < 10_000
    with pytest.raises(DataError, match="more than 1000000 bytes"), open_archive(path, 1_000_000):
        pass


def test_a_zip_whose_header_lies_about_the_size_is_no_way_round(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "bomb.zip", {"zeros": bytes(5_000_000)})
    small = (10).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace((5_000_000).to_bytes(4, "little"), small))
    with open_archive(path, 1_000_000) as archive, pytest.raises(DataError, match=r"damaged|more than"):
        archive.read("zeros")


def test_reading_the_same_member_again_and_again_meets_the_bound(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"a": bytes(600)})
    with open_archive(path, 1000) as archive:
        archive.read("a")
        with pytest.raises(DataError, match="more than 1000 bytes"):
            archive.read("a")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_packed_tar_that_unpacks_to_more_than_the_bound_is_refused(tmp_path: Path, pack) -> None:
    path = tmp_path / "bomb.tar.x"
    path.write_bytes(pack(tar_bytes([(tarfile.TarInfo("a"), bytes(5_000_000)), (tarfile.TarInfo("b"), b"1")])))
    assert path.stat().st_size < 50_000
    with pytest.raises(DataError, match="more than 1000000 bytes"), open_archive(path, 1_000_000) as archive:
        archive.read("a")


def test_a_zip_in_a_zip_draws_on_the_same_bound(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner.zip", {"zeros": bytes(5_000_000)}).read_bytes()
    path = make_zip(tmp_path / "outer.zip", {"inner.zip": inner})
    with open_archive(path, 1_000_000) as archive, pytest.raises(DataError, match="more than 1000000"):
        open_nested(archive, "inner.zip")
    with open_archive(path, 10_000_000) as archive:
        assert open_nested(archive, "inner.zip").names() == ["zeros"]


def test_a_hostile_name_in_a_nested_zip_is_refused(tmp_path: Path) -> None:
    inner = make_zip(tmp_path / "inner.zip", {"../evil": b"1"}).read_bytes()
    path = make_zip(tmp_path / "outer.zip", {"inner.zip": inner})
    with open_archive(path, 1 << 20) as archive, pytest.raises(DataError, match="climbs out"):
        open_nested(archive, "inner.zip")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "1")
        archive.writestr("a", "2")
    with pytest.raises(DataError, match="two members"), open_archive(path, 1 << 20):
        pass


@pytest.mark.parametrize(
    "data", [b"", b"hello, I am no archive", b"PK\x03\x04 and then nothing", b"\x1f\x8b\x08broken"]
)
def test_what_is_no_archive_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"a\.whl: .*fetch it again") as caught, open_archive(path, 100):
        pass
    assert "\n" not in str(caught.value)


def test_an_altered_byte_in_a_member_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a", "some text that is stored as it is")
    path.write_bytes(path.read_bytes().replace(b"stored", b"STORED"))
    with open_archive(path, 1000) as archive, pytest.raises(DataError, match="damaged"):
        archive.read("a")


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"a": b""})
    with open_archive(path, 10) as archive, pytest.raises(DataError, match="no member 'b'"):
        archive.read("b")


def test_a_folder_reads_plain_and_packed_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"three" * 1000)[:-12])
    folder = Folder(tmp_path, 5000)
    assert folder.names() == ["a.txt", "b.gz", "c.gz"]
    assert (folder.read("a.txt"), folder.read("b.gz")) == (b"one", b"two")
    with pytest.raises(DataError, match=r"c\.gz: cannot be read"):
        folder.read("c.gz")


def test_a_packed_file_of_a_folder_is_stopped_at_the_bound_by_what_comes_out(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(bytes(50_000_000)))
    (tmp_path / "plain").write_bytes(b"x" * 2000)
    folder = Folder(tmp_path, 1000)
    assert len(folder.read("plain")) == 2000  # what is not packed is no bomb
    tracemalloc.start()
    with pytest.raises(DataError, match=r"bomb\.gz: unpacks to more than 1000 bytes; .*raise unpacked_bytes_max"):
        folder.read("bomb.gz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_a_budget_says_what_is_left() -> None:
    budget = Budget(10)
    budget.spend(4, "a")
    assert budget.left == 6
    with pytest.raises(DataError, match="a: unpacks to more than 10 bytes"):
        budget.spend(7, "a")
