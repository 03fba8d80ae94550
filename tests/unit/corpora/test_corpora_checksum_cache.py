"""Checksums of local files are computed once, and written when they may be."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from mdnmt.corpora.checksum_cache import ChecksumCache, defer_checksums, write_deferred_checksums
from mdnmt.errors import DataError


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = tmp_path / "a", tmp_path / "cache" / "h.json"
    path.write_bytes(b"text")
    first = ChecksumCache(cache)
    digest = first.sha256(path)
    first.save()
    monkeypatch.setattr("mdnmt.corpora.checksum_cache.sha256_file", lambda path: "computed again")
    assert ChecksumCache(cache).sha256(path) == digest == hashlib.sha256(b"text").hexdigest()
    whole = cache.read_text()
    other_digit = whole.replace(digest, digest.translate(str.maketrans("0123456789", "1234567890")))
    for damaged in ("damaged {", '{"files": 5}', "[]", other_digit):
        cache.write_text(damaged)
        assert ChecksumCache(cache).sha256(path) == "computed again", damaged


def test_a_change_that_keeps_size_and_modification_time_is_seen(tmp_path: Path) -> None:
    path, other, cache = tmp_path / "a", tmp_path / "b", ChecksumCache(tmp_path / "h.json")
    path.write_bytes(b"text")
    before = path.stat()
    assert cache.sha256(path) == hashlib.sha256(b"text").hexdigest()
    path.write_bytes(b"TEXT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.sha256(path) == hashlib.sha256(b"TEXT").hexdigest()
    other.write_bytes(b"Text")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert cache.sha256(path) == hashlib.sha256(b"Text").hexdigest()


def test_a_pipe_is_refused_and_not_read(tmp_path: Path) -> None:
    os.mkfifo(path := tmp_path / "train.en")
    with pytest.raises(DataError, match=r"train\.en: is a pipe, expected a file"):
        ChecksumCache(tmp_path / "h.json").sha256(path)


def test_deferred_checksums_are_shared_and_written_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = tmp_path / "a", tmp_path / "cache" / "h.json"
    path.write_bytes(b"text")
    defer_checksums()
    try:
        first = ChecksumCache(cache)
        digest = first.sha256(path)
        first.save()
        assert not cache.exists()
        with monkeypatch.context() as patch:
            patch.setattr("mdnmt.corpora.checksum_cache.sha256_file", lambda path: "computed again")
            assert ChecksumCache(cache).sha256(path) == digest
    finally:
        write_deferred_checksums()
    monkeypatch.setattr("mdnmt.corpora.checksum_cache.sha256_file", lambda path: "computed again")
    assert ChecksumCache(cache).sha256(path) == digest
    cache.unlink()
    later = ChecksumCache(cache)
    later.sha256(path)
    later.save()
    assert cache.exists()  # no longer deferred
