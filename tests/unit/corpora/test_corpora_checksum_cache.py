"""Checksums of local files are computed once, and written when they may be."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from mdnmt.corpora.checksum_cache import ChecksumCache, defer_checksums, write_deferred_checksums


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, cache = tmp_path / "a", tmp_path / "cache" / "h.json"
    path.write_bytes(b"text")
    before = path.stat()
    first = ChecksumCache(cache)
    digest = first.sha256(path)
    first.save()
    monkeypatch.setattr("mdnmt.corpora.checksum_cache.sha256_file", lambda path: "computed again")
    assert ChecksumCache(cache).sha256(path) == digest == hashlib.sha256(b"text").hexdigest()
    path.write_bytes(b"longer text")
    assert ChecksumCache(cache).sha256(path) == "computed again"
    whole = cache.read_text()
    other_digit = whole.replace(digest, digest.translate(str.maketrans("0123456789", "1234567890")))
    for damaged in ("damaged {", '{"files": 5}', "[]", other_digit):
        cache.write_text(damaged)
        path.write_bytes(b"text")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert ChecksumCache(cache).sha256(path) == "computed again", damaged


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
