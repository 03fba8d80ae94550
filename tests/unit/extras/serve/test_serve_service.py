"""Several requests share a run sentence by sentence; one that nobody reads any more stops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from page_server import service_of

from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.serve.requests import Blend, Limits, TranslateRequest
from mdnmt.extras.serve.service import ServedRun, Service


class Loaded(Translator):
    """Stands in for a translator of one language pair."""

    source_lang, target_lang, domains = "en", "fr", ("law",)

    def __init__(self) -> None:
        pass


class Slow(ServedRun):
    """A run whose sentences end when the test lets them."""

    def __init__(self) -> None:
        super().__init__(Path("slow"), "slow", Loaded())  # type: ignore[arg-type]
        self.order: list[str] = []
        self.begun, self.go = threading.Event(), threading.Event()

    def translate(self, text: str, *_: Any) -> dict[str, Any]:
        self.order.append(text)
        self.begun.set()
        assert self.go.wait(60)
        if text == "Long!":
            raise DataError("too long")
        if text == "Nowhere!":
            raise ConfigError("no such domain")
        if text == "Bug!":
            raise ZeroDivisionError
        return {"translations": [{"text": text.upper(), "score": 0.0}]}


async def gathered(service: Service, text: str) -> list[dict[str, Any]]:
    request = TranslateRequest(text=text, runs=[0])
    return [event async for event in service.events(request, service.sentences(request))]


def test_a_second_request_waits_for_one_sentence_not_for_the_text() -> None:
    run = Slow()
    service = Service([run], Limits(), 1, 1)

    async def both() -> None:
        long = asyncio.create_task(gathered(service, "A1! A2! A3! A4!"))
        await asyncio.to_thread(run.begun.wait, 60)
        short = asyncio.create_task(gathered(service, "B1!"))
        while not run.turn._waiters:  # the second stands in the queue before the first sentence ends
            await asyncio.sleep(0)
        run.go.set()
        done, _ = await asyncio.wait([long, short], return_when=asyncio.FIRST_COMPLETED)
        assert done == {short}
        await long

    asyncio.run(asyncio.wait_for(both(), 60))
    service.close()
    assert run.order == ["A1!", "B1!", "A2!", "A3!", "A4!"]
    assert service.active == 0


def test_a_reader_that_leaves_ends_the_work() -> None:
    run = Slow()
    service = Service([run], Limits(), 1, 1)

    async def leave() -> None:
        request = TranslateRequest(text="A1! A2! A3!", runs=[0])
        events = service.events(request, service.sentences(request))
        run.go.set()
        assert [(await anext(events))["event"] for _ in range(2)] == ["start", "sentence"]
        run.go.clear()
        await events.aclose()  # type: ignore[attr-defined]
        run.go.set()
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})  # what goes on by itself, to its end

    asyncio.run(leave())
    service.close()
    assert len(run.order) < 3 and service.active == 0


def test_a_sentence_that_fails_leaves_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    run = Slow()
    run.go.set()
    service = Service([run], Limits(), 1, 1)
    events = asyncio.run(gathered(service, "A1! Long! A2!"))
    assert [event["event"] for event in events] == ["start", "sentence", "error", "sentence", "done"]
    assert events[2] == {"event": "error", "run": 0, "sentence": 1, "message": "too long"}
    # What cannot be asked of the run at all is said once.
    events = asyncio.run(gathered(service, "Nowhere! A1!"))
    assert events[1:] == [{"event": "error", "run": 0, "message": "no such domain"}, {"event": "done"}]
    # A bug is told to the terminal, not to the page.
    events = asyncio.run(gathered(service, "Bug! A1!"))
    assert "ZeroDivisionError" in capsys.readouterr().err and "internal error in mdnmt" in events[1]["message"]
    service.close()


@pytest.mark.slow
def test_translations_are_those_of_the_translator(finished: Callable[[str], Path]) -> None:
    service = service_of(finished("mixed"), finished("dmoe"), beam_size=2)
    request = TranslateRequest(text="bank rate. Court judge", runs=[0, 1], domain="law", nbest=3)
    from mdnmt.config.decoding import Decoding

    async def found() -> list[dict[str, Any]]:
        return [event async for event in service.events(request, service.sentences(request))]

    events = [event for event in asyncio.run(found()) if event["event"] == "sentence"]
    assert sorted((event["run"], event["sentence"]) for event in events) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for event in events:
        translator, text = service.runs[event["run"]].translator, ("bank rate.", "Court judge")[event["sentence"]]
        [wanted] = translator.translate([text], Decoding(beam_size=3, nbest=3), "law")
        assert [(one["text"], one["score"]) for one in event["translations"]] == [(w.text, w.score) for w in wanted]
        assert ("decisions" in event) and (event["decisions"] is None) == (event["run"] == 0)
    service.close()


def test_what_a_method_cannot_do_is_said(finished: Callable[[str], Path]) -> None:
    service = service_of(finished("mixed"), finished("dmoe"), finished("waldm"))
    blend = Blend(first="economy", second="law", share=0.5)

    def events(**wanted: Any) -> list[dict[str, Any]]:
        request = TranslateRequest(text="bank", runs=[0, 1, 2], **wanted)

        async def all_of_them() -> list[dict[str, Any]]:
            return [event async for event in service.events(request, service.sentences(request))]

        return sorted((event for event in asyncio.run(all_of_them()) if "run" in event), key=lambda event: event["run"])

    found = events(blend=blend)
    assert "cannot blend" in found[0]["message"] and [event["event"] for event in found[1:]] == ["sentence"] * 2
    found = events()
    assert [event["event"] for event in found] == ["sentence", "error", "sentence"]
    assert "economy, law" in found[1]["message"]
    found = events(domain="medicine")
    assert all("no domain 'medicine'" in event["message"] for event in found)
    service.close()


def test_runs_of_two_language_pairs_are_refused() -> None:
    other = Slow()
    other.translator = type("Other", (Loaded,), {"target_lang": "de"})()  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="en to de, en to fr; expected one language pair"):
        Service([Slow(), other], Limits(), 1, 1)


def test_runs_of_one_name_are_told_apart() -> None:
    runs = [Slow(), Slow()]
    runs[0].folder = Path("a/slow")
    Service(runs, Limits(), 1, 1).close()
    assert [run.name for run in runs] == ["a/slow", "slow"]


def test_each_sentence_keeps_one_thread_busy() -> None:
    service = Service([Slow(), Slow()], Limits(), beam_size=2, threads=8)
    assert service._pool.submit(torch.get_num_threads).result() == 1
    assert service._pool._max_workers == 2
    service.close()
