"""Debian packages as archives, and what becomes of damaged archives of all kinds."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdnmt.corpora.formats.archive import open_archive
from mdnmt.errors import DataError


def tar(members: dict[str, bytes | str]) -> bytes:
    """Return a tar archive; a member whose content is a string is a symbolic link to it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            if isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def ar(*members: tuple[str, bytes]) -> bytes:
    parts = [b"!<arch>\n"]
    for name, content in members:
        parts.append(f"{name:<16}{1700000000:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode())
        parts.append(content + b"\n" * (len(content) % 2))
    return b"".join(parts)


def deb(data: bytes, name: str = "data.tar.xz") -> bytes:
    return ar(("debian-binary", b"2.0\n"), ("control.tar.xz", lzma.compress(tar({"./control": b"odd"}))), (name, data))


FILES: dict[str, bytes | str] = {"./usr/a.mo": b"one", "./usr/b.mo": b"two " * 50_000, "./usr/link": "/etc/passwd"}


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("data.tar.xz", lzma.compress),
        ("data.tar.gz", gzip.compress),
        ("data.tar.bz2", bz2.compress),
        ("data.tar", bytes),
        ("data.tar.xz/", lzma.compress),  # as some tools write names
    ],
)
def test_the_files_of_a_package_are_read_and_its_links_are_none(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.deb"
    path.write_bytes(deb(pack(tar(FILES)), name))
    with open_archive(path, 1 << 20) as archive:
        assert archive.names() == ["usr/a.mo", "usr/b.mo"]
        assert archive.read("usr/b.mo") == FILES["./usr/b.mo"]
        assert archive.read("usr/a.mo") == b"one"
        assert b"".join(archive.blocks("usr/b.mo")) == FILES["./usr/b.mo"]
        with pytest.raises(DataError, match="no member 'usr/link'"):
            archive.read("usr/link")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (deb(lzma.compress(tar({"../evil": b"1"}))), "climbs out"),
        (deb(lzma.compress(tar({"/etc/evil": b"1"}))), "absolute"),
        (deb(lzma.compress(tar({"./a": b"1", "a": b"2"}))), "two members are called 'a'"),
        (deb(lzma.compress(tar({"./zeros": bytes(5_000_000)}))), "unpacks to more than 1000000 bytes"),
        (deb(b"\x28\xb5\x2f\xfd", "data.tar.zst"), "packed by zstd"),
        (deb(b"not xz"), "not a zip, deb or tar archive"),
        (ar(("debian-binary", b"2.0\n")), r"has no data\.tar"),
        (ar(), r"has no data\.tar"),
        (deb(lzma.compress(tar(FILES)))[:-100], "damaged Debian package"),
        (b"!<arch>\n" + b"x" * 200, "damaged Debian package"),
        (b"!<arch", "damaged|no data"),
    ],
)
def test_hostile_and_damaged_packages_are_refused_in_one_line(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "a.deb"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as caught, open_archive(path, 1_000_000) as archive:
        archive.read(archive.names()[0])
    assert "\n" not in str(caught.value)


def test_links_are_passed_over_in_packages_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar(FILES))
    with pytest.raises(DataError, match="link or a device"), open_archive(path, 1 << 20):
        pass


def whole_archives() -> list[bytes]:
    plain = tar({"a.txt": b"one\n" * 200, "x/b.txt": b"two"})
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", "one\n" * 200)
        archive.writestr("x/b.txt", "two")
    packed = [pack(plain) for pack in (bytes, gzip.compress, bz2.compress, lzma.compress)]
    return [*packed, zipped.getvalue(), deb(lzma.compress(plain)), deb(gzip.compress(plain), "data.tar.gz")]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    whole=st.sampled_from(whole_archives()),
    edits=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=8)), max_size=4),
    end=st.one_of(st.none(), st.floats(0, 1)),
)
def test_whatever_was_done_to_an_archive_it_is_read_or_refused(
    tmp_path: Path, whole: bytes, edits: list[tuple[float, bytes]], end: float | None
) -> None:
    data = bytearray(whole)
    for place, new in edits:
        at = int(place * len(data))
        data[at : at + len(new)] = new
    path = tmp_path / "a"
    path.write_bytes(data if end is None else data[: int(end * len(data))])
    try:
        with open_archive(path, 1_000_000) as archive:
            for name in archive.names():
                assert archive.read(name) == b"".join(archive.blocks(name))
    except DataError as error:
        assert "\n" not in str(error)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(head=st.sampled_from([b"", b"PK\3\4", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"!<arch>\n"]), rest=st.binary())
def test_any_bytes_are_read_or_refused(tmp_path: Path, head: bytes, rest: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(head + rest)
    try:
        with open_archive(path, 1_000_000) as archive:
            for name in archive.names():
                archive.read(name)
    except DataError as error:
        assert "\n" not in str(error)
