"""What the server answers: the page under a strict policy, events line by line, one line for what it refuses."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from page_server import ask, service_of, serving, translate

from mdnmt.extras.serve.requests import Limits, TranslateRequest
from mdnmt.extras.serve.sentences import Sentence
from mdnmt.extras.serve.service import Event, ServedRun, Service


@pytest.fixture
def port(finished: Callable[[str], Path]) -> Iterator[int]:
    limits = Limits(max_characters=100, max_sentence_characters=60, requests_per_minute=100)
    with serving(service_of(finished("waldm"), finished("dmoe"), limits=limits)) as port:
        yield port


def test_the_page_may_load_nothing_from_elsewhere(port: int) -> None:
    status, headers, page = ask(port, "GET", "/")
    policy = headers["content-security-policy"]
    assert status == 200 and "default-src 'none'" in policy and "unsafe" not in policy
    assert b"http://" not in page and b"https://" not in page
    assert policy.count("'sha256-") == 2


def test_it_says_what_it_serves(port: int) -> None:
    found: dict[str, Any] = json.loads(ask(port, "GET", "/api/runs")[2])
    assert (found["source_lang"], found["target_lang"], found["domains"]) == ("en", "fr", ["economy", "law"])
    assert [run["can_blend"] for run in found["runs"]] == [True, True]
    assert found["limits"] == {"characters": 100, "sentence": 60}


def test_events_come_sentence_by_sentence(port: int) -> None:
    status, events = translate(port, text="bank rate.\nCourt judge.", runs=[0], nbest=2)
    assert status == 200
    assert [event["event"] for event in events] == ["start", "sentence", "sentence", "done"]
    assert [one["after"] for one in events[0]["sentences"]] == ["\n", "\n"]
    for event in events[1:3]:
        scores = [one["score"] for one in event["translations"]]
        assert len(scores) == 2 and scores == sorted(scores, reverse=True)
    _, events = translate(port, text="bank", runs=[0], inspect=False)
    assert "decisions" not in events[1]


@pytest.mark.parametrize(
    ("wanted", "status", "said"),
    [
        ({"text": "x" * 101}, 413, "has 101 characters; the limit is 100"),
        ({"text": "x" * 1_000_000}, 413, "the limit is 100"),
        ({"text": "x" * 61}, 400, "sentence 1 has 61 characters, the limit is 60"),
        ({"text": "  \n"}, 400, "no text"),
        ({"text": "a\0b"}, 400, "NUL"),
        ({"text": "a\ud800"}, 400, "Unicode"),
        ({"text": "a", "runs": [2]}, 400, "found run 2, expected 0 to 1"),
        ({"text": "a", "runs": []}, 400, "runs"),
        ({"text": "a", "nbest": 10_000}, 400, "nbest"),
        ({"text": "a", "blend": {"first": "law", "second": "economy", "share": 2}}, 400, "share"),
        ({"text": "a", "domain2": "law"}, 400, "domain2"),
        ({"text": ["a"]}, 400, "text"),
    ],
)
def test_what_it_refuses_it_explains_in_one_line(port: int, wanted: dict[str, Any], status: int, said: str) -> None:
    found, message = translate(port, **{"runs": [0], **wanted})
    assert found == status and said in message and "\n" not in message


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 50_000, b"null", b"3"])
def test_a_body_that_is_no_request_is_refused(port: int, body: bytes) -> None:
    status, _, found = ask(port, "POST", "/api/translate", body, Content_Type="application/json")
    assert status in (400, 413) and json.loads(found)["message"]


def test_other_sites_are_refused(port: int) -> None:
    body = json.dumps({"text": "bank", "runs": [0]}).encode()
    assert ask(port, "POST", "/api/translate", body, Content_Type="text/plain")[0] == 415
    for name in ("evil.example", "127.0.0.1.evil.example", ""):
        assert ask(port, "GET", "/", Host=name)[0] == 403
    for name in ("localhost", f"LOCALHOST:{port}", "127.0.0.1"):
        assert ask(port, "GET", "/", Host=name)[0] == 200


@pytest.mark.slow
@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\u202e rtl שלום", "😀" * 20, "a\x1b[2Jb", "'\"&<>"])
def test_hostile_text_is_translated_as_text(port: int, text: str) -> None:
    status, events = translate(port, text=text, runs=[0, 1], domain="law")
    assert status == 200 and events[-1] == {"event": "done"}
    assert events[0]["sentences"][0]["text"] == text.strip()


class Flood(Service):
    """Answers the text `flood` with events without an end."""

    async def events(self, request: TranslateRequest, sentences: list[Sentence]) -> AsyncIterator[Event]:
        if request.text != "flood":
            async for event in super().events(request, sentences):
                yield event
            return
        self.active += 1
        try:
            while True:
                yield {"event": "x" * 1_000_000}
        finally:
            self.active -= 1


def posted(port: int, length: int, body: bytes) -> socket.socket:
    """Return a connection on which a request was sent, in part if `length` is larger than the body."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    head = ["POST /api/translate HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    connection.sendall("\r\n".join([*head, f"Content-Length: {length}", "", ""]).encode() + body)
    return connection


@pytest.mark.parametrize("reads", [False, True])
def test_a_client_that_reads_too_slowly_or_too_long_does_not_block_others(
    finished: Callable[[str], Path], reads: bool, capfd: pytest.CaptureFixture[str]
) -> None:
    given = {"stream_seconds": 0.3} if reads else {"stalled_seconds": 0.3}
    limits = Limits(requests_per_minute=10**6, max_active=1, **given)
    service = Flood([ServedRun.load(finished("waldm"), torch.device("cpu"), Path())], limits, 2, 1)
    body = json.dumps({"text": "flood", "runs": [0]}).encode()
    with serving(service) as port, posted(port, len(body), body) as slow:
        assert slow.recv(100).startswith(b"HTTP/1.1 200")
        if reads:
            while slow.recv(1 << 20):  # until the server ends it
                pass
        else:  # others can translate as soon as the server gives up
            while (status := translate(port, text="a", runs=[0])[0]) == 503:
                pass
            assert status == 200
        assert service.active == 0
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_leaves_while_uploading_leaves_no_traceback(
    finished: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(service_of(finished("waldm"))) as port:
        posted(port, 1000, b'{"text": ').close()
        assert translate(port, text="a", runs=[0])[0] == 200
    assert capfd.readouterr().err == ""


def test_the_rate_is_counted_by_the_address_of_the_connection(finished: Callable[[str], Path]) -> None:
    body = json.dumps({"text": "a", "runs": [0]}).encode()
    with serving(service_of(finished("waldm"), limits=Limits(requests_per_minute=2))) as port:
        headers = {"Content_Type": "application/json"}
        addresses = ("10.0.0.1", "10.0.0.2", "10.0.0.3")
        found = [ask(port, "POST", "/api/translate", body, X_Forwarded_For=one, **headers)[0] for one in addresses]
    assert found == [200, 200, 429]


def test_rate_and_load_are_bounded(finished: Callable[[str], Path]) -> None:
    service = service_of(finished("waldm"), limits=Limits(requests_per_minute=2, max_active=1))
    with serving(service) as port:
        # One that is refused for another reason counts nothing.
        assert [translate(port, text=text, runs=[0])[0] for text in ("a", "", "b")] == [200, 400, 200]
        status, message = translate(port, text="c", runs=[0])
        assert status == 429 and message.startswith("more than 2 requests a minute; try again in")
        service.active = 1
        body = json.dumps({"text": "d", "runs": [0]}).encode()
        status, headers, found = ask(port, "POST", "/api/translate", body, Content_Type="application/json")
        assert status == 503 and headers["retry-after"] == "5" and b"1 texts are being translated" in found
