"""A publisher on loopback: small archives in the layout of the real ones, and what goes wrong on the way to them."""

from __future__ import annotations

import hashlib
import io
import random
import re
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from mdnmt.config.corpus import load_corpus
from mdnmt.config.corpus_source import WebFile

LINES = 300  # of each corpus: enough for every 100th line to be held out
TALKS_17 = ("TED.dev2010", *(f"TED.tst{year}" for year in range(2010, 2016)))
TALKS_14 = ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012")


def sentences(name: str, lang: str, count: int) -> list[str]:
    """Return the lines of one language; those of another one have the same words, spelt otherwise."""
    generator = random.Random(name)
    words = [f"{name[:3]}{letter}" for letter in "abcdefgh"]
    lines = [" ".join(generator.choice(words) for _ in range(generator.randint(3, 9))) for _ in range(count)]
    # A language has letters of its own, so that nothing is taken for untranslated.
    return [f"{line} {number}{lang}" if lang != "en" else f"{line} {number}" for number, line in enumerate(lines)]


def text(name: str, lang: str, count: int = LINES) -> bytes:
    return "".join(f"{line}\n" for line in sentences(name, lang, count)).encode()


def opus(name: str) -> bytes:
    """Return an archive of OPUS, compressed so little that a part of it is not all of it."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for lang in ("en", "fr"):
            archive.writestr(zipfile.ZipInfo(f"{name}.en-fr.{lang}"), text(name, lang))
        archive.writestr(zipfile.ZipInfo("LICENSE"), "as its source")
    return packed.getvalue()


def tgz(members: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def iwslt(pair: str, prefix: str, sets: tuple[str, ...]) -> bytes:
    members = {}
    for lang in pair.split("-"):
        talk = f"<url>http://x/y</url>\n<talkid>7</talkid>\n<title>A talk {lang}</title>\n"
        members[f"{pair}/train.tags.{pair}.{lang}"] = talk.encode() + text(f"talks{prefix}", lang)
        for name in sets:
            body = "".join(
                f'<seg id="{number}"> {line} </seg>\n'
                for number, line in enumerate(sentences(f"{name}{prefix}", lang, 6), start=1)
            )
            document = f'<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n<refset>\n<doc docid="1">\n{body}</doc>\n'
            members[f"{pair}/{prefix}.{name}.{pair}.{lang}.xml"] = f"{document}</refset>\n</mteval>\n".encode()
    return tgz(members)


def archives() -> dict[str, bytes]:
    """Return an archive for each corpus of the study `open`."""
    europarl = {f"training/europarl-v7.de-en.{lang}": text("europarl", lang) for lang in ("de", "en")}
    return {
        "europarl-v7-de-en": tgz(europarl),
        "iwslt14-de-en": iwslt("de-en", "IWSLT14", TALKS_14),
        "opus-ecb-en-fr": opus("ECB"),
        "opus-kde4-en-fr": opus("KDE4"),
        "iwslt17-en-fr": iwslt("en-fr", "IWSLT17", TALKS_17),
        "news-commentary-v11-en-fr": opus("News-Commentary11"),
        "opus-ted2013-en-fr": opus("TED2013"),
    }


class Publisher:
    """What is served under which path, and the faults, each of which happens once unless it says otherwise."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.files: dict[str, bytes] = {}
        self.cut: set[str] = set()  # paths whose connection ends in the middle
        self.moved: dict[str, str] = {}  # path -> where it redirects to, always
        self.wrong: set[str] = set()  # paths at which another file of the same size is served
        self.stalls: set[str] = set()  # paths that send a half and then nothing, until `go_on`
        self.stalled, self.go_on = threading.Event(), threading.Event()
        self.requests: list[tuple[str, str]] = []  # path, range

    def publish(self, config: Path, name: str, data: bytes) -> list[str]:
        """Serve a corpus, lead its file in config/corpora to this host, and return its paths."""
        path = config / "corpora" / f"{name}.yaml"
        value = yaml.safe_load(path.read_text())
        named = load_corpus(config, name).source
        assert isinstance(named, WebFile)
        # What has a name has addresses too; the commands run in processes of their own, so they are written out.
        keys = {"sha256", "md5", "size_bytes"} & named.model_fields_set
        source = {"provider": "http", "urls": list(named.urls), "file": named.file, **dict.fromkeys(keys)}
        value["source"] = source
        paths = [f"/{number}{urlsplit(url).path}" for number, url in enumerate(source["urls"])]
        source["urls"] = [self.host + path for path in paths]
        facts = {
            "sha256": hashlib.sha256(data).hexdigest(),
            "size_bytes": len(data),
            "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
        }
        source.update({key: fact for key, fact in facts.items() if key in source})
        if "pairs" in value:
            value["pairs"] = LINES
        path.write_text(yaml.safe_dump(value, sort_keys=False))
        self.files.update(dict.fromkeys(paths, data))
        return paths


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        publisher: Publisher = self.server.publisher
        publisher.requests.append((self.path, self.headers.get("Range", "")))
        self.close_connection = True
        if self.path in publisher.moved:
            self.head(302, {"Location": publisher.moved[self.path], "Content-Length": "0"})
        elif self.path not in publisher.files:
            self.head(404, {"Content-Length": "0"})
        else:
            self.send(publisher, publisher.files[self.path])

    def send(self, publisher: Publisher, data: bytes) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        if self.path in publisher.wrong:
            publisher.wrong.remove(self.path)
            data = bytes(byte ^ 1 for byte in data)
        headers = {"ETag": '"one"', "Content-Length": str(len(data) - start)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        self.head(206 if start else 200, headers)
        half = start + (len(data) - start) // 2
        self.wfile.write(data[start:half])
        self.wfile.flush()
        if self.path in publisher.stalls:
            publisher.stalls.remove(self.path)
            publisher.stalled.set()
            publisher.go_on.wait()
        elif self.path in publisher.cut:
            publisher.cut.remove(self.path)
        else:
            self.wfile.write(data[half:])

    def head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that was killed


@contextmanager
def publishing() -> Iterator[Publisher]:
    """Yield a publisher that is served on loopback."""
    server = Server(("127.0.0.1", 0), Handler)
    publisher = Publisher(f"http://127.0.0.1:{server.server_address[1]}")
    server.publisher = publisher  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield publisher
    finally:
        publisher.go_on.set()
        server.shutdown()
        server.server_close()
        thread.join()
