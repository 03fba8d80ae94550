"""A server on loopback that does what servers do wrong."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Site:
    """What the server has, and how it misbehaves; `requests` is what it was asked."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.files: dict[str, bytes] = {}  # at other addresses
        self.etag: str | None = '"one"'
        self.ranges = True
        self.ignores_conditions = False
        self.statuses: list[int] = []  # answered one after the other, before anything else
        self.cuts: list[int] = []  # of the file: where the connection ends, one a request
        self.changes: list[bytes] = []  # after each cut the file is another
        self.says_length: int | None = None  # of the whole, in the place of the truth
        self.body = "length"  # or "chunked", "until closed"
        self.trickles = False
        self.shifts: list[int] = []  # how much too early a part begins, one a part
        self.stalls: list[int] = []  # of the file: where the server falls silent, one a request
        self.moved_to: str | None = None
        self.path: str | None = None  # the only one that it has, beside `files`; None: any
        self.requests: list[dict[str, str]] = []
        self.done = threading.Event()


class Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that does not want the rest


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        site: Site = self.server.site
        site.requests.append(dict(self.headers.items()))
        self.close_connection = True
        if self.path in site.files:
            self.whole(site.files[self.path])
        elif site.path is not None and self.path != site.path:
            self.empty(404, {})
        elif site.moved_to is not None and self.path != "/new":
            self.empty(302, {"Location": site.moved_to})
        elif site.statuses:
            self.empty(site.statuses.pop(0), {})
        else:
            self.send(site)

    def whole(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def empty(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": "0"}.items():
            self.send_header(name, value)
        self.end_headers()

    def send(self, site: Site) -> None:
        start, size = 0, site.says_length or len(site.data)
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        same = site.ignores_conditions or self.headers.get("If-Range", site.etag) == site.etag
        if asked and site.ranges and same:
            start = int(asked[1]) - (site.shifts.pop(0) if site.shifts else 0)
            if start >= size:
                self.empty(416, {"Content-Range": f"bytes */{size}"})
                return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        if site.etag:
            self.send_header("ETag", site.etag)
        if site.body == "length":
            self.send_header("Content-Length", str(size - start))
        elif site.body == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        stall = site.stalls.pop(0) if site.stalls else None
        end = site.cuts.pop(0) if site.cuts else len(site.data)
        body = site.data[start : max(start, stall if stall is not None else end)]
        for at in range(0, len(body), 1000 if site.trickles else 50_000):
            block = body[at : at + (1000 if site.trickles else 50_000)]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block) if site.body == "chunked" else block)
            self.wfile.flush()
        if stall is not None:
            site.done.wait()
        elif end < len(site.data):
            if site.changes:
                site.data, site.etag = site.changes.pop(0), site.etag and f'"{len(site.changes)}"'
        elif site.body == "chunked":
            self.wfile.write(b"0\r\n\r\n")


@contextmanager
def serving(data: bytes = b"") -> Iterator[tuple[Site, str]]:
    """Yield a server's site and the address of its file."""
    server, site = Server(("127.0.0.1", 0), Handler), Site(data)
    server.site = site  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site, f"http://127.0.0.1:{server.server_address[1]}/file"
    finally:
        site.done.set()
        server.shutdown()
        server.server_close()
        thread.join()
