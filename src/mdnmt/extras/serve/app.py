"""The web application: one page and the two endpoints that it calls."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import re
from collections.abc import AsyncGenerator
from contextlib import suppress
from importlib.resources import files
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mdnmt.config.loader import validate_model
from mdnmt.errors import MdnmtError
from mdnmt.extras.serve.requests import Limits, RateLimiter, TranslateRequest
from mdnmt.extras.serve.service import Event, Service, closing_stream

DRAINED = 16 << 20  # bytes of a refused body that are read anyway, so that the browser gets the response


class SlowClient(Exception):
    """A client took too long to read a response, which has ended."""


class EventStream(StreamingResponse):
    """Sends encoded events; one that is not read in time ends, so that it does not keep others waiting."""

    def __init__(self, events: AsyncGenerator[bytes], limits: Limits) -> None:
        """Send events within the limits."""
        super().__init__(events, media_type="application/x-ndjson")
        self.events, self.limits = events, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send all events, and stop the work on those that are not sent.

        Raises:
            SlowClient: a limit was exceeded.
        """

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self.limits.stalled_seconds):
                await send(message)

        try:
            async with asyncio.timeout(self.limits.stream_seconds):
                await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            raise SlowClient from None
        finally:
            await self.events.aclose()


class Guard:
    """Answers only requests whose Host is this server, and forbids the page to load anything from elsewhere."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str] | None, policy: str) -> None:
        """Wrap an application.

        Args:
            app: the application.
            hosts: allowed values of Host; None: any. Without this check, another site could point its own name to this
                machine and read what is translated here (DNS rebinding).
            policy: the Content-Security-Policy.
        """
        self.app, self.hosts = app, hosts
        self.headers = {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        name = re.sub(r":\d+$", "", Headers(scope=scope).get("host", "")).strip("[]").lower()
        if self.hosts is not None and name not in self.hosts:
            refusal = _refused(403, f"this server is not called {name!r}; start it with --host {name} to allow that")
            return await refusal(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        with suppress(SlowClient):
            await self.app(scope, receive, with_headers)
        return None


def create_app(service: Service, hosts: frozenset[str] | None) -> ASGIApp:
    """Return the application that serves the page for a service."""
    page = files("mdnmt.extras.serve").joinpath("page.html").read_text(encoding="utf-8")
    limits, limiter = service.limits, RateLimiter(service.limits.requests_per_minute)

    async def show(_: Request) -> Response:
        return HTMLResponse(page)

    async def runs(_: Request) -> Response:
        return JSONResponse(service.about())

    async def translate(request: Request) -> Response:
        # A form on another site cannot send this type without a preflight request.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return _refused(415, "expected a request of type application/json")
        try:
            # JSON.stringify writes a character in at most six bytes.
            body = await _body(request, 6 * limits.max_characters + 10_000)
            value = json.loads(body) if body is not None else None
            characters = len(value["text"]) if isinstance(value, dict) and isinstance(value.get("text"), str) else 0
            if body is None or characters > limits.max_characters:
                found = f"has {characters:,}" if characters else "has more"
                return _refused(
                    413, f"the text {found} characters; the limit is {limits.max_characters:,}; shorten the text"
                )
            wanted = validate_model(value, TranslateRequest, "request")
            sentences = service.sentences(wanted)
        except ClientDisconnect:
            return Response()  # nobody reads it
        except (ValueError, RecursionError):
            return _refused(400, "the request is not JSON")
        except MdnmtError as error:
            return _refused(400, str(error))
        if service.active >= limits.max_active:
            return _refused(
                503, f"{service.active} texts are being translated, the limit; try again when one is done", retry=5
            )
        if seconds := limiter.wait(request.client.host if request.client else ""):
            wait = math.ceil(seconds)
            return _refused(429, f"more than {limiter.per_minute} requests a minute; try again in {wait} s", retry=wait)
        return EventStream(closing_stream(service.events(wanted, sentences), _line), limits)

    routes = [
        Route("/", show),
        Route("/api/runs", runs),
        Route("/api/translate", translate, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), hosts, _policy(page))


def server_config(app: ASGIApp) -> uvicorn.Config:
    """Return how uvicorn serves the application."""
    return uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", ws="none", http="h11", server_header=False,
        timeout_graceful_shutdown=1,
        proxy_headers=False,  # with them, a client chooses the address by which its requests are counted
    )  # fmt: skip


def _line(event: Event) -> bytes:
    return json.dumps(event, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _refused(status: int, message: str, retry: int | None = None) -> JSONResponse:
    headers = {"Retry-After": str(retry)} if retry is not None else None
    return JSONResponse({"message": message}, status, headers=headers)


async def _body(request: Request, most: int) -> bytes | None:
    """Return the body, or None if it has more than `most` bytes."""
    body, size = bytearray(), 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= most:
            body += chunk
        elif size > DRAINED:
            break
    return bytes(body) if size <= most else None


def _policy(page: str) -> str:
    """Return a policy that allows only the page's own style and script, and requests only to this server."""

    def hashes(tag: str) -> str:
        found: list[Any] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found)
        return " ".join(f"'sha256-{digest}'" for digest in digests)

    rules = {
        "default-src": "'none'",
        "script-src": hashes("script"),
        "style-src": hashes("style"),
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
