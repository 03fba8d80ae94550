"""A Hugging Face hub on loopback: its interface and its redirects to the store of large files, and what goes wrong."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def blob_id(data: bytes) -> str:
    """Return git's name of a file."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class Hub:
    """One model, `tiny/model`, at one commit; weights are large files, as on the real hub."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        self.cut: set[str] = set()  # names of files whose next download ends in the middle
        self.wrong: dict[str, bytes] = {}  # name -> what is sent instead
        self.sent: list[tuple[str, str]] = []  # name, range
        self.host = ""

    def is_large(self, name: str) -> bool:
        return name.endswith((".safetensors", ".bin", ".model"))

    def listing(self) -> dict[str, Any]:
        siblings = []
        for name, data in self.files.items():
            facts: dict[str, Any] = {"rfilename": name, "size": len(data), "blobId": blob_id(data)}
            if self.is_large(name):
                sha256 = hashlib.sha256(data).hexdigest()
                facts["lfs"] = {"sha256": sha256, "size": len(data), "pointerSize": 134}
            siblings.append(facts)
        return {"_id": "0", "id": "tiny/model", "sha": COMMIT, "siblings": siblings, "private": False, "tags": []}


class Server(ThreadingHTTPServer):
    request_queue_size = 64  # a client asks for all files at once


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        hub: Hub = self.server.hub
        path = urlsplit(self.path).path
        self.close_connection = True
        if path == f"/api/models/tiny/model/revision/{COMMIT}":
            data = json.dumps(hub.listing()).encode()
            self.head(200, {"Content-Type": "application/json", "Content-Length": len(data)})
            self.wfile.write(data)
        elif (found := re.fullmatch(rf"/tiny/model/resolve/{COMMIT}/(.+)", path)) and found[1] in hub.files:
            data = hub.files[found[1]]
            if not hub.is_large(found[1]):
                self.send(found[1], {"X-Repo-Commit": COMMIT, "ETag": f'"{blob_id(data)}"'}, body)
                return
            sha256 = hashlib.sha256(data).hexdigest()
            linked = {"X-Linked-Size": len(data), "X-Linked-ETag": f'"{sha256}"', "X-Repo-Commit": COMMIT}
            self.head(302, {**linked, "Location": f"{hub.host}/store/{found[1]}", "Content-Length": 0})
        elif path.startswith("/store/"):
            self.send(path.removeprefix("/store/"), {"ETag": '"store"'}, body)
        else:
            code = "RevisionNotFound" if path.startswith("/api/models/tiny/model/") else "RepoNotFound"
            self.head(404, {"X-Error-Code": code, "Content-Length": 0})

    def send(self, name: str, headers: dict[str, Any], body: bool) -> None:
        hub: Hub = self.server.hub
        data = hub.wrong.get(name, hub.files[name])
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        start = int(asked[1]) if asked else 0
        more = {"Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"} if start else {}
        self.head(206 if start else 200, {**headers, **more, "Content-Length": len(data) - start})
        if not body:
            return
        hub.sent.append((name, self.headers.get("Range", "")))
        if name in hub.cut:
            hub.cut.remove(name)
            data = data[: len(data) // 2]
        self.wfile.write(data[start:])

    def head(self, status: int, headers: dict[str, Any]) -> None:
        self.send_response(status)
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()


@contextmanager
def serving(folder: Path) -> Iterator[Hub]:
    """Yield a hub of the model in a folder, served on loopback."""
    server = Server(("127.0.0.1", 0), Handler)
    hub = Hub(folder)
    hub.host = f"http://127.0.0.1:{server.server_address[1]}"
    server.hub = hub  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
