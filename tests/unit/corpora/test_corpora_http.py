"""Downloads from a server on loopback that does what servers do wrong: the file is right or absent, never wrong."""

from __future__ import annotations

import hashlib
import io
import random
import shutil
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loopback import serving

from mdnmt.config.corpus_source import HttpSource
from mdnmt.corpora.corpus_spec import FileSpec
from mdnmt.corpora.providers import http
from mdnmt.errors import FetchError
from mdnmt.machine import TooLarge

DATA = random.Random(3).randbytes(200_000)
NAME = "corpus.zip"
LARGE = 1 << 30
SHORT = DATA[:300]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("no_proxy", "*")
    with ExitStack() as stack:
        yield lambda: stack.enter_context(serving(DATA))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Client:
    """Downloads into a folder, and keeps the pauses that it would have made."""

    def __init__(self, folder: Path, *urls: str, pinned: bytes | None = None, md5: bytes | None = None) -> None:
        self.folder = folder
        digest = None if md5 is None else hashlib.md5(md5, usedforsecurity=False).hexdigest()
        self.source = HttpSource(provider="http", urls=urls, file=NAME, md5=digest)
        self.wanted = FileSpec(name=NAME)
        if pinned is not None:
            self.wanted = FileSpec(name=NAME, sha256=sha256(pinned), size_bytes=len(pinned))
        self.pauses: list[float] = []

    def download(self, bytes_max: int = LARGE, timeout_s: float = 20) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(http, "sleep", self.pauses.append)
            patch.setattr(http, "TIMEOUT_S", timeout_s)
            return http.download(self.source, self.wanted, self.folder, bytes_max=bytes_max)

    def has(self, data: bytes) -> bool:
        there = {path.name for path in self.folder.iterdir()}
        return there == {NAME} and (self.folder / NAME).read_bytes() == data

    def fails(self, match: str, **options: Any) -> None:
        with pytest.raises(FetchError, match=match) as caught:
            self.download(**options)
        assert "\n" not in str(caught.value)
        assert not (self.folder / NAME).exists()


def test_a_file_is_had_and_nothing_else_is_left(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    client = Client(tmp_path, url)
    assert client.download() == url
    assert client.has(DATA)
    assert (len(site.requests), client.pauses) == (1, [])
    assert "Range" not in site.requests[0]


@pytest.mark.parametrize("pinned", [None, DATA])
def test_cuts_at_all_tenths_in_turn_are_gone_on_from(serve: Any, tmp_path: Path, pinned: bytes | None) -> None:
    site, url = serve()
    site.cuts = [len(DATA) * tenth // 10 for tenth in range(10)]
    client = Client(tmp_path, url, pinned=pinned)
    client.download()
    assert client.has(DATA)
    starts = [f"bytes={len(DATA) * tenth // 10}-" for tenth in range(1, 10)]
    assert [request.get("Range") for request in site.requests] == [None, None, *starts]
    assert site.requests[2]["If-Range"] == '"one"'
    assert set(client.pauses) == {http.PAUSES_S[0]}  # each attempt but the first brought something new


@pytest.mark.parametrize("etag", ['"one"', None])
def test_a_server_without_ranges_is_asked_for_all_of_it(serve: Any, tmp_path: Path, etag: str | None) -> None:
    site, url = serve()
    site.ranges, site.etag, site.cuts = False, etag, [100_000]
    client = Client(tmp_path, url)
    client.download()
    assert client.has(DATA)


@pytest.mark.parametrize("etag", ['"one"', 'W/"weak"', None])
@pytest.mark.parametrize("pinned", [True, False])
def test_a_file_that_changes_meanwhile_is_never_two_halves(
    serve: Any, tmp_path: Path, etag: str | None, pinned: bool
) -> None:
    site, url = serve()
    new = random.Random(4).randbytes(len(DATA))
    site.etag, site.cuts, site.changes = etag, [100_000], [new]
    client = Client(tmp_path, url, pinned=new if pinned else None)
    client.download()
    assert client.has(new)


def test_a_server_that_ignores_the_condition_is_found_out_by_the_checksum(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    new = random.Random(4).randbytes(len(DATA))
    site.ignores_conditions, site.cuts, site.changes = True, [50_000], [new]
    client = Client(tmp_path, url, pinned=new)
    client.download()
    assert client.has(new)
    assert [request.get("Range") for request in site.requests] == [None, "bytes=50000-", None]


def test_a_weak_tag_vouches_for_nothing(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    new = random.Random(4).randbytes(len(DATA))
    site.etag, site.ignores_conditions, site.cuts, site.changes = 'W/"same"', True, [50_000], [new]
    client = Client(tmp_path, url)
    client.download()
    assert client.has(new)
    assert "Range" not in site.requests[1]


@pytest.mark.parametrize("pinned", [None, DATA])
def test_a_part_that_begins_elsewhere_is_not_taken(serve: Any, tmp_path: Path, pinned: bytes | None) -> None:
    site, url = serve()
    site.cuts, site.shifts = [50_000], [10_000]
    client = Client(tmp_path, url, pinned=pinned)
    client.download()
    assert client.has(DATA)
    assert [request.get("Range") for request in site.requests] == [None, "bytes=50000-", None]


def test_a_later_call_goes_on_where_an_earlier_one_was_killed(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, url = serve()
    site.cuts = [70_000]

    def killed(pause: float) -> None:
        raise KeyboardInterrupt

    client = Client(tmp_path, url)
    monkeypatch.setattr(http, "sleep", killed)
    with pytest.raises(KeyboardInterrupt):
        http.download(client.source, client.wanted, tmp_path, bytes_max=LARGE)
    assert not (tmp_path / NAME).exists()
    client.download()
    assert client.has(DATA)
    assert site.requests[1]["Range"] == "bytes=70000-"


def test_a_damaged_note_of_what_came_so_far_is_no_harm(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    for state in ("", "{}", "[1]", '{"url": 1}', "\0"):
        (tmp_path / f"{NAME}.part").write_bytes(b"from somewhere else")
        (tmp_path / f"{NAME}.part.json").write_text(state)
        client = Client(tmp_path, url)
        client.download()
        assert client.has(DATA)
        assert "Range" not in site.requests[-1]
        (tmp_path / NAME).unlink()


@pytest.mark.parametrize("statuses", [[503, 500, 429], [408, 425, 502], [504]])
def test_statuses_of_a_busy_server_are_waited_for_with_growing_pauses(
    serve: Any, tmp_path: Path, statuses: list[int]
) -> None:
    site, url = serve()
    site.statuses = list(statuses)
    client = Client(tmp_path, url)
    client.download()
    assert client.has(DATA)
    assert client.pauses == list(http.PAUSES_S[: len(statuses)])


@pytest.mark.parametrize(
    ("faults", "said", "requests"),
    [
        ({"statuses": [503] * 20}, r"no address has it: .*status 503 .*, 5 times; try again later", 5),
        ({"statuses": [404] * 5}, "status 404 Not Found", 1),
        ({"ranges": False, "cuts": [100_000] * 50}, "cut off at 100000 of 200000 bytes", 6),
        ({"says_length": len(DATA) + 10}, r"cut off at 200000 of 200010 bytes|has no such part", None),
        ({"moved_to": "file:///etc/hostname"}, "status 302", None),
        ({"moved_to": "ftp://127.0.0.1/x"}, "status 302", None),
        ({"moved_to": "/file"}, "status 302 .*infinite loop", None),
        ({"data": DATA * 2}, "300000", None),
        ({"data": DATA * 2, "body": "chunked"}, "300000", None),
    ],
)
def test_what_cannot_be_had_is_given_up(
    serve: Any, tmp_path: Path, faults: dict[str, Any], said: str, requests: int | None
) -> None:
    site, url = serve()
    for name, value in faults.items():
        setattr(site, name, value)
    client = Client(tmp_path, url)
    client.fails(said, bytes_max=300_000)
    assert requests in (None, len(site.requests))
    if requests == 5:
        assert client.pauses == list(http.PAUSES_S)


def test_a_name_that_nobody_knows_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    client = Client(tmp_path, "http://nowhere.invalid/file")
    client.fails("cannot be reached .*Name or service not known")
    assert client.pauses == []


@pytest.mark.parametrize("fault", ["404", "503", "changed", "shorter", "longer", "md5", "refused"])
def test_the_next_mirror_is_taken(serve: Any, tmp_path: Path, fault: str) -> None:
    (first, bad), (_, good) = serve(), serve()
    client = Client(tmp_path, bad, good, pinned=DATA)
    if fault in ("404", "503"):
        first.statuses = [int(fault)] * 9
    elif fault == "md5":
        client = Client(tmp_path, bad, good, md5=DATA)
        first.data = DATA[::-1]
    elif fault == "refused":
        client = Client(tmp_path, "http://127.0.0.1:1/file", good, pinned=DATA)
    else:
        first.data = {"changed": DATA[::-1], "shorter": DATA[:-1], "longer": DATA + b"x"}[fault]
    assert client.download() == good
    assert client.has(DATA)


def test_half_of_one_mirror_and_half_of_another_are_held_against_the_checksum(serve: Any, tmp_path: Path) -> None:
    (first, bad), (second, good) = serve(), serve()
    first.data, first.cuts, first.statuses = DATA[::-1], [100_000], []
    client = Client(tmp_path, bad, good, pinned=DATA)
    first.cuts = [100_000] * 9
    first.ranges = False
    assert client.download() == good
    assert client.has(DATA)
    assert [request.get("Range") for request in second.requests] == ["bytes=100000-", None]


def test_another_file_than_the_pinned_one_is_refused(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    for data, length, message in (
        (DATA[:-1] + bytes([DATA[-1] ^ 1]), None, "has sha256 .*, expected"),
        (DATA[:-1], None, "has 199999 bytes, expected 200000"),
        (DATA + b"x", None, "has 200001 bytes, expected 200000"),
        (b"", None, "has 0 bytes, expected 200000"),
        (DATA, len(DATA) - 10, "has 199990 bytes, expected 200000"),
    ):
        site.data, site.says_length = data, length
        Client(tmp_path, url, pinned=DATA).fails(message)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("body", ["chunked", "until closed"])
@pytest.mark.parametrize("cut", [None, 120_000])
@pytest.mark.parametrize("pinned", [True, False])
def test_bodies_whose_length_is_not_told(serve: Any, tmp_path: Path, body: str, cut: int | None, pinned: bool) -> None:
    site, url = serve()
    site.body, site.cuts = body, [] if cut is None else [cut]
    client = Client(tmp_path, url, pinned=DATA if pinned else None)
    if body == "until closed" and not pinned:
        client.fails("does not report the length of the file")
    else:
        client.download()
        assert client.has(DATA)


def test_a_trickle_is_waited_for(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    site.trickles = True
    client = Client(tmp_path, url)
    client.download()
    assert client.has(DATA)


def test_a_server_that_falls_silent_is_asked_again(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    site.stalls = [60_000]
    client = Client(tmp_path, url)
    client.download(timeout_s=0.3)
    assert client.has(DATA)
    assert site.requests[1]["Range"] == "bytes=60000-"


def test_a_redirect_is_followed_with_its_range(serve: Any, tmp_path: Path) -> None:
    site, url = serve()
    site.moved_to, site.cuts = "/new", [90_000]
    client = Client(tmp_path, url)
    assert client.download() == url
    assert client.has(DATA)
    assert [request.get("Range") for request in site.requests] == [None, None, "bytes=90000-", "bytes=90000-"]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, len(SHORT)), max_size=6),
    changes=st.lists(st.binary(max_size=400), max_size=3),
    statuses=st.lists(st.sampled_from([404, 408, 429, 500, 503]), max_size=3),
    etag=st.sampled_from(['"one"', 'W/"one"', None]),
    ranges=st.booleans(),
    body=st.sampled_from(["length", "chunked"]),
    pinned=st.booleans(),
)
def test_the_file_is_right_or_absent_whatever_happens(
    serve: Any, tmp_path_factory: pytest.TempPathFactory, pinned: bool, changes: list[bytes], **faults: Any
) -> None:
    site, url = serve()
    site.data, site.changes = SHORT, list(changes)
    for name, value in faults.items():
        setattr(site, name, value)
    folder = tmp_path_factory.mktemp("download")
    client = Client(folder, url, pinned=SHORT if pinned else None)
    try:
        client.download()
    except FetchError:
        assert not (folder / NAME).exists()
    else:
        got = (folder / NAME).read_bytes()
        assert got == SHORT if pinned else got in (SHORT, *changes)


def test_a_part_that_is_not_the_one_asked_for_is_not_taken(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, url = serve()
    site.cuts = [50_000]
    client = Client(tmp_path, url)

    def meanwhile(pause: float) -> None:
        client.pauses.append(pause)
        site.says_length = None
        site.data = DATA + b"more"  # longer now, but vouched for by the same tag

    monkeypatch.setattr(http, "sleep", meanwhile)
    http.download(client.source, client.wanted, tmp_path, bytes_max=LARGE)
    assert client.has(DATA + b"more")
    assert [request.get("Range") for request in site.requests] == [None, "bytes=50000-", None]


def test_a_file_that_the_disk_cannot_hold_is_not_begun(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, url = serve()
    site.cuts = [150_000]
    client = Client(tmp_path, url)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=199_999))
    with pytest.raises(TooLarge, match=rf"{NAME}: the download needs at least 0\.2 MB, 0\.2 MB are free there"):
        client.download()
    assert list(tmp_path.iterdir()) == []
    # Of a download cut short only the rest needs room.
    room = iter([200_000, 50_000])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=next(room)))
    site.cuts = [150_000]
    client.download()
    assert client.has(DATA)


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (10_000_000, "a.zip: 4.0 of 10.0 MB (40 %), 0.3 MB/s\na.zip: 8.0 of 10.0 MB (80 %), 0.4 MB/s\n"),
        (None, "a.zip: 4.0 MB, 0.3 MB/s\na.zip: 8.0 MB, 0.4 MB/s\n"),
    ],
)
def test_progress_is_a_line_at_each_interval_with_the_rate_since_the_last_one(total: int | None, expected: str) -> None:
    now, out = 0.0, io.StringIO()
    with http.ProgressLines("a.zip", 1_000_000, total, out, clock=lambda: now) as lines:
        lines.update(1_000_000)
        assert out.getvalue() == ""
        now = http.INTERVAL_S
        lines.update(2_000_000)
        lines.update(3_000_000)
        now = 2 * http.INTERVAL_S
        lines.update(1_000_000)
    assert out.getvalue() == expected
