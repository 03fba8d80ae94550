"""Corpora by name (OPUS, the Hugging Face hub, git), from servers on loopback that answer in the real layouts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Site, serving
from reader_archives import zipped

from mdnmt.config.corpus import load_corpus
from mdnmt.config.corpus_source import HOSTS
from mdnmt.corpora.corpus_lock import OWN_LOCK, read_lock
from mdnmt.corpora.fetch_by_name import fetch_by_name
from mdnmt.errors import ConfigError, FetchError

SHA = "3330ac963cec0646663bb63ba5f9528e79d110da"
LINES = 4000
TABLE = "".join(f"Bank number {line}\tBanque numero {line}\n" for line in range(LINES)).encode()
TSV = {"name": "tsv", "columns": {"en": 1, "fr": 2}}


@dataclass
class Named:
    """A source by name, the path at which the real host has it, and a file of its kind."""

    source: dict[str, str]
    path: str
    reader: dict[str, Any]
    file: str


NAMED = {
    "opus": Named(
        {"opus": "ECB", "version": "v1", "pair": "en-fr"},
        "/OPUS-ECB/v1/moses/en-fr.txt.zip",
        {"name": "moses"},
        "ECB-v1-en-fr.txt.zip",
    ),
    "hf": Named(
        {"hf": "owner/Titles-2", "revision": SHA, "path": "data/titles.tsv"},
        f"/datasets/owner/Titles-2/resolve/{SHA}/data/titles.tsv",
        {**TSV, "file": "titles.tsv"},
        "titles.tsv",
    ),
    "git": Named(
        {"git": "owner/corpora", "commit": SHA, "path": "sets/en-fr/lines.tsv"},
        f"/owner/corpora/{SHA}/sets/en-fr/lines.tsv",
        {**TSV, "file": "lines.tsv"},
        "lines.tsv",
    ),
}
MEDIA = f"/media/owner/corpora/{SHA}/sets/en-fr/lines.tsv"  # where GitHub has what Git LFS stores


def data_of(kind: str, folder: Path, word: str = "") -> bytes:
    if kind != "opus":
        return TABLE + word.encode() * 2
    sides = {lang: "".join(f"{lang} {word} {line}\n" for line in range(LINES)) for lang in ("en", "fr")}
    folder.mkdir(exist_ok=True)
    path = zipped(folder / "served", {f"ECB.en-fr.{lang}": text.encode() for lang, text in sides.items()})
    return path.read_bytes()


def pointer(data: bytes) -> bytes:
    digest = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n".encode()


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str, Site, str]]:
    """Yield a host with its address, to which all names lead, and another one, as large files are kept elsewhere."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("mdnmt.corpora.providers.http.PAUSES_S", (0.0, 0.0))
    with serving() as (site, address), serving() as (other, elsewhere):
        for place in HOSTS:
            monkeypatch.setitem(HOSTS, place, address.removesuffix("/file"))
        yield site, address.removesuffix("/file"), other, elsewhere


def corpus(root: Path, kind: str, **pins: Any) -> Path:
    """Write a corpus `mine` and return its config folder."""
    named = NAMED[kind]
    value = {"title": "Mine", "languages": ["en", "fr"], "source": {**named.source, **pins}, "reader": named.reader}
    (root / "config" / "corpora").mkdir(parents=True, exist_ok=True)
    (root / "config" / "corpora" / "mine.yaml").write_text(yaml.safe_dump(value))
    return root / "config"


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("kind", NAMED)
def test_a_name_leads_to_the_file_through_cuts_and_redirects(
    web: tuple[Site, str, Site, str], tmp_path: Path, kind: str, moved: bool
) -> None:
    site, host, other, elsewhere = web
    data = data_of(kind, tmp_path)
    site.path = NAMED[kind].path
    if moved:  # as the hub sends to its CDN
        site.moved_to = elsewhere
    server = other if moved else site
    server.data, server.cuts = data, [len(data) // 3, 2 * len(data) // 3]
    config = corpus(tmp_path, kind)
    row = fetch_by_name(config, "mine", tmp_path / "corpora")[NAMED[kind].file]
    assert (tmp_path / "corpora" / "mine" / NAMED[kind].file).read_bytes() == data
    assert row.origin == host + NAMED[kind].path
    assert read_lock(config).row("mine", NAMED[kind].file) == row
    assert [request.get("Range") for request in server.requests] == [
        None,
        *(f"bytes={len(data) * third // 3}-" for third in (1, 2)),
    ]


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("kind", NAMED)
def test_another_file_than_the_pinned_or_locked_one_is_refused(
    web: tuple[Site, str, Site, str], tmp_path: Path, kind: str, pinned: bool
) -> None:
    site, _, _, _ = web
    data = site.data = data_of(kind, tmp_path)
    site.path = NAMED[kind].path
    config = corpus(tmp_path, kind, **({"sha256": hashlib.sha256(data).hexdigest()} if pinned else {}))
    fetch_by_name(config, "mine", tmp_path / "corpora")
    assert (config / OWN_LOCK).exists() != pinned
    before = (config / OWN_LOCK).read_bytes() if not pinned else b""
    site.data = data_of(kind, tmp_path, "other")
    with pytest.raises(FetchError, match=r"has sha256|bytes, expected"):
        fetch_by_name(config, "mine", tmp_path / "again")
    assert list((tmp_path / "again" / "mine").iterdir()) == []
    assert before == ((config / OWN_LOCK).read_bytes() if not pinned else b"")


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("cut", [True, False])
def test_a_pointer_of_git_lfs_leads_to_the_file(
    web: tuple[Site, str, Site, str], tmp_path: Path, pinned: bool, cut: bool
) -> None:
    site, host, _, _ = web
    site.files[NAMED["git"].path] = pointer(TABLE)
    site.path, site.data, site.cuts = MEDIA, TABLE, [len(TABLE) // 2] if cut else []
    pins = {"sha256": hashlib.sha256(TABLE).hexdigest(), "size_bytes": len(TABLE)} if pinned else {}
    row = fetch_by_name(corpus(tmp_path, "git", **pins), "mine", tmp_path / "corpora")["lines.tsv"]
    assert (row.origin, row.sha256) == (host + MEDIA, hashlib.sha256(TABLE).hexdigest())
    assert (tmp_path / "corpora" / "mine" / "lines.tsv").read_bytes() == TABLE


@pytest.mark.parametrize("sent", [TABLE[:-1], TABLE[::-1], None])
def test_what_is_not_the_file_of_the_pointer_is_refused(
    web: tuple[Site, str, Site, str], tmp_path: Path, sent: bytes | None
) -> None:
    site, _, _, _ = web
    site.files[NAMED["git"].path] = pointer(TABLE)
    if sent is None:  # a pointer there, too
        site.files[MEDIA] = pointer(TABLE)
    else:
        site.path, site.data = MEDIA, sent
    config = corpus(tmp_path, "git")
    with pytest.raises(FetchError, match="has a pointer of Git LFS to a file of") as caught:
        fetch_by_name(config, "mine", tmp_path / "corpora")
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "corpora" / "mine").iterdir()) == []
    assert not (config / OWN_LOCK).exists()


def test_names_that_lead_elsewhere_are_refused(tmp_path: Path) -> None:
    for kind, key, wrong in (
        ("opus", "version", "../v1"),
        ("opus", "pair", "en"),
        ("hf", "revision", "main"),
        ("hf", "path", "../titles.tsv"),
        ("git", "git", "corpora"),
        ("git", "path", "/etc/passwd"),
        ("git", "opus", "ECB"),
    ):
        with pytest.raises(ConfigError, match=r"corpora/mine.yaml"):
            load_corpus(corpus(tmp_path, kind, **{key: wrong}), "mine")
