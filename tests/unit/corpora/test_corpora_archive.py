"""Archives of all kinds: they are read within their bounds, and hostile and damaged ones are refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reader_archives import Memory, ar, segments, tar_bytes, tgz, zip_bytes, zipped

from mdnmt.config.corpus_reader import GettextMoReader, HomeassistantReader, QuranReader
from mdnmt.corpora.formats import archive_members
from mdnmt.corpora.formats.archive import open_archive, open_nested
from mdnmt.corpora.formats.archive_members import read_whole
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.joined_archives import open_files
from mdnmt.errors import DataError

PACKS = [bytes, gzip.compress, bz2.compress, lzma.compress]
ZEROS = {"zeros": bytes(5_000_000), "b": b"1"}
FILES: dict[str, bytes | str] = {"./usr/a.mo": b"one", "./usr/b.mo": b"two " * 50_000, "./usr/link": "/etc/passwd"}


def deb(data: bytes, name: str = "data.tar.xz") -> bytes:
    control = lzma.compress(tar_bytes({"./control": b"odd"}))
    return ar(("debian-binary", b"2.0\n"), ("control.tar.xz", control), (name, data))


def of_kind(kind: bytes) -> bytes:
    """Return a tar archive with a link or a device."""
    info, buffer = tarfile.TarInfo("innocent.txt"), io.BytesIO()
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(info)
    return buffer.getvalue()


def zip_of(*members: tuple[str | zipfile.ZipInfo, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members:
            archive.writestr(name, text)
    return buffer.getvalue()


def linked() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("innocent.txt")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def test_zip_members_are_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.whl", {"x/a.txt": b"one", "b.txt": b"two"})
    with open_archive(path, 100) as archive:
        assert archive.names() == ["x/a.txt", "b.txt"]
        assert archive.read("x/a.txt") == b"one"
        assert archive.budget.left == 97
        with pytest.raises(DataError, match="no member 'b'"):
            archive.read("b")


@pytest.mark.parametrize("pack", PACKS)
def test_tar_members_are_read_however_it_is_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(pack(tar_bytes({"x/a.txt": b"one", "b": b""})))
    with open_archive(path, 1 << 20) as archive:
        assert archive.names() == ["x/a.txt", "b"]
        assert (archive.read("x/a.txt"), archive.read("b")) == (b"one", b"")


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        *zip(("data.tar", "data.tar.gz", "data.tar.bz2", "data.tar.xz"), PACKS, strict=True),
        ("data.tar.xz/", lzma.compress),  # as some tools write names
    ],
)
def test_the_files_of_a_package_are_read_and_its_links_are_none(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "a.deb"
    path.write_bytes(deb(pack(tar_bytes(FILES)), name))
    with open_archive(path, 1 << 20) as archive:
        assert archive.names() == ["usr/a.mo", "usr/b.mo"]
        assert archive.read("usr/b.mo") == FILES["./usr/b.mo"]
        assert archive.read("usr/a.mo") == b"one"
        assert b"".join(archive.blocks("usr/b.mo")) == FILES["./usr/b.mo"]
        with pytest.raises(DataError, match="no member 'usr/link'"):
            archive.read("usr/link")


def test_a_packed_archive_is_unpacked_once_for_members_one_after_the_other_and_again_beside_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {f"{number}": f"{number}".encode() * 9 for number in range(50)}
    path, opened = tmp_path / "a.tar.xz", []

    class Counted(lzma.LZMAFile):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            opened.append(self)

    path.write_bytes(lzma.compress(tar_bytes(members)))
    monkeypatch.setattr(lzma, "LZMAFile", Counted)
    with open_archive(path, 1 << 20) as archive:
        assert {name: archive.read(name) for name in archive.names()} == members and len(opened) == 1
        assert list(zip(archive.blocks("7"), archive.blocks("3"), strict=True)) == [(members["7"], members["3"])]
        assert len(opened) == 2
        assert {name: archive.read(name) for name in reversed(archive.names())} == members and len(opened) == 2


def refused(path: Path, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught, open_archive(path, 1_000_000) as archive:
        for name in archive.names():
            archive.read(name)
    assert "\n" not in str(caught.value)


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
def test_hostile_names_are_refused(tmp_path: Path, name: str, reason: str) -> None:
    path, members = tmp_path / "a", {"good": b"1", name: b"2"}
    for data in (zip_bytes(members), tar_bytes(members), deb(lzma.compress(tar_bytes(members)))):
        path.write_bytes(data)
        refused(path, reason)
    outer = zipped(tmp_path / "outer.zip", {"inner.zip": zip_bytes(members)})
    with open_archive(outer, 1 << 20) as archive, pytest.raises(DataError, match=reason):
        open_nested(archive, "inner.zip")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        *((of_kind(kind), "link or a device") for kind in (tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)),
        (tar_bytes(FILES), "link or a device"),
        (zip_of((linked(), "/etc/passwd")), "is a link"),
        (zip_of(("aaaa", "1"), ("bbbb", "2")).replace(b"bbbb", b"aaaa"), "two members"),
        (zip_bytes(ZEROS), "more than 1000000 bytes"),
        *((pack(tar_bytes(ZEROS)), "more than 1000000 bytes") for pack in PACKS[1:]),
        *((data, r"a\.whl: .*fetch it again") for data in (b"", b"hello, I am no archive", b"PK\x03\x04 and nothing")),
        (b"\x1f\x8b\x08broken", r"a\.whl: .*fetch it again"),
        (deb(lzma.compress(tar_bytes({"./a": b"1", "a": b"2"}))), "two members are called 'a'"),
        (deb(lzma.compress(tar_bytes(ZEROS))), "unpacks to more than 1000000 bytes"),
        (deb(b"\x28\xb5\x2f\xfd", "data.tar.zst"), "packed by zstd"),
        (deb(b"not xz"), "not a zip, deb or tar archive"),
        (ar(("debian-binary", b"2.0\n")), r"has no data\.tar"),
        (ar(), r"has no data\.tar"),
        (deb(lzma.compress(tar_bytes(FILES)))[:-100], "damaged Debian package"),
        (b"!<arch>\n" + b"x" * 200, "damaged Debian package"),
        (b"!<arch", "damaged|no data"),
    ],
)
def test_hostile_and_damaged_archives_are_refused_in_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "a.whl"
    path.write_bytes(data)
    refused(path, said)


def test_a_zip_whose_header_lies_about_the_size_is_no_way_round(tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.zip", ZEROS)
    small = (10).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace((5_000_000).to_bytes(4, "little"), small))
    with open_archive(path, 1_000_000) as archive, pytest.raises(DataError, match=r"damaged|more than"):
        archive.read("zeros")


def test_reading_the_same_member_again_and_again_meets_the_bound(tmp_path: Path) -> None:
    with open_archive(zipped(tmp_path / "a.zip", {"a": bytes(600)}), 1000) as archive:
        archive.read("a")
        with pytest.raises(DataError, match="more than 1000 bytes"):
            archive.read("a")


def test_a_zip_in_a_zip_draws_on_the_same_bound(tmp_path: Path) -> None:
    path = zipped(tmp_path / "outer.zip", {"inner.zip": zip_bytes(ZEROS)})
    with open_archive(path, 1_000_000) as archive, pytest.raises(DataError, match="more than 1000000"):
        open_nested(archive, "inner.zip")
    with open_archive(path, 10_000_000) as archive:
        assert open_nested(archive, "inner.zip").names() == list(ZEROS)


def test_an_altered_byte_in_a_member_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of(("a", "some text that is stored as it is")).replace(b"stored", b"STORED"))
    refused(path, "damaged")


def test_a_folder_reads_plain_and_packed_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"three" * 1000)[:-12])
    folder = Folder(tmp_path, 5000)
    assert folder.names() == ["a.txt", "b.gz", "c.gz"]
    assert (folder.read("a.txt"), folder.read("b.gz")) == (b"one", b"two")
    with pytest.raises(DataError, match=r"c\.gz: cannot be read"):
        folder.read("c.gz")


@pytest.mark.parametrize(("end", "pack"), [("gz", gzip.compress), ("xz", lzma.compress)])
def test_a_packed_file_of_a_folder_is_stopped_at_the_bound_by_what_comes_out(
    tmp_path: Path, end: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / f"bomb.{end}").write_bytes(pack(bytes(20_000_000)))
    (tmp_path / "plain").write_bytes(b"x" * 2000)
    folder = Folder(tmp_path, 1000)
    assert len(folder.read("plain")) == 2000  # what is not packed is no bomb
    tracemalloc.start()
    with pytest.raises(DataError, match=rf"bomb\.{end}: unpacks to more than 1000 bytes; .*raise unpacked_bytes_max"):
        folder.read(f"bomb.{end}")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_several_files_are_one_archive_whose_members_are_called_by_their_file(tmp_path: Path) -> None:
    files = [tgz(tmp_path / "a.tgz", {"t/x": b"1"}), tgz(tmp_path / "b.tgz", {"t/x": b"22"})]
    with open_files(files, 1_000_000) as archive:
        assert archive.names() == ["a.tgz/t/x", "b.tgz/t/x"]
        assert archive.read("a.tgz/t/x") == b"1"
        assert b"".join(archive.blocks("b.tgz/t/x")) == b"22"
        with pytest.raises(DataError, match=r"no file 'c\.tgz'"):
            archive.read("c.tgz/t/x")
        with pytest.raises(DataError, match=r"no member 't/y'"):
            archive.read("a.tgz/t/y")
    with open_files(files[:1], 1_000_000) as archive:
        assert archive.names() == ["t/x"], "one file is seen as it is"


def test_the_bound_holds_for_all_files_together(tmp_path: Path) -> None:
    files = [tgz(tmp_path / name, {"x": b"x" * 60_000}) for name in ("a.tgz", "b.tgz")]
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


def test_a_member_that_is_read_at_once_has_a_bound_and_readers_keep_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "MEMBER_BYTES_MAX", 50)
    assert read_whole(Memory({"a": b"x" * 50}), "a") == b"x" * 50
    with pytest.raises(DataError, match="memory:b: has more than 50 bytes, too many to read at once"):
        read_whole(Memory({"b": b"x" * 51}), "b")
    for name, options in (
        ("usr/share/locale/fr/LC_MESSAGES/a.mo", GettextMoReader(name="gettext-mo")),
        ("homeassistant/components/sun/translations/fr.json", HomeassistantReader(name="homeassistant")),
        ("fr-1/package/data.js", QuranReader(name="quran", packages={"en": "en", "fr": "fr"})),
    ):
        found = {name: b"x" * 51, name.replace("fr", "en"): b"x" * 51}
        with pytest.raises(DataError, match="has more than 50 bytes"):
            list(segments(Memory(found), options, "en", "fr"))


def whole_archives() -> list[bytes]:
    plain = tar_bytes(members := {"a.txt": b"one\n" * 200, "x/b.txt": b"two"})
    packed = [pack(plain) for pack in PACKS]
    return [*packed, zip_bytes(members), deb(lzma.compress(plain)), deb(gzip.compress(plain), "data.tar.gz")]


@pytest.mark.slow
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
                for block, other in zip(archive.blocks(name), archive.blocks(name), strict=True):  # two streams
                    assert block == other
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
