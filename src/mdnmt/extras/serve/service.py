"""Serve translations by finished runs to several requests at a time, sentence by sentence."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio
from mdnmt.config.decoding import Decoding
from mdnmt.decode.translator import PretrainedTranslator, Translation, Translator, open_run
from mdnmt.errors import ConfigError, MdnmtError
from mdnmt.extras.serve.blend import blended, can_blend
from mdnmt.extras.serve.decisions import decisions
from mdnmt.extras.serve.requests import Limits, TranslateRequest
from mdnmt.extras.serve.sentences import Sentence, split_sentences
from mdnmt.paths import RunPaths
from mdnmt.tasks.segmentation.segmenter import Segmentation

Event = dict[str, Any]
BLENDED = "(blend)"  # name of the additional domain label


@dataclass
class ServedRun:
    """A loaded run.

    Attributes:
        folder: the run's folder.
        name: what the page calls it.
        translator: translates, one sentence at a time.
        slots: names of the domain vectors of DSA, if training ties them to domains.
        turn: a fair lock, held while a sentence is translated.
    """

    folder: Path
    name: str
    translator: Translator | PretrainedTranslator
    slots: tuple[str, ...] = ()
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def load(cls, folder: Path, device: torch.device, pretrained: Path) -> ServedRun:
        """Load a finished run.

        Raises:
            MdnmtError: raised by `open_run`.
        """
        translator = open_run(folder, device, pretrained)
        if Segmentation.load(RunPaths(folder).segmentation).is_sentencepiece:
            raise ConfigError(f"{folder}: its task has bpe: sentencepiece, which is not served; expected merges")
        record = fsio.read_json(RunPaths(folder).record)
        architecture = record["spec"]["architecture"]
        slots = translator.domains if architecture.get("guidance_weight") else ()
        name = f"{record['method']}, seed {record['seed']}" if "method" in record else folder.name
        return cls(folder, name, translator, slots)

    def about(self) -> Event:
        """Return what the page needs to know about the run."""
        blends = isinstance(self.translator, Translator) and can_blend(self.translator.model)
        return {"name": self.name, "folder": str(self.folder), "can_blend": blends}

    def translate(self, text: str, request: TranslateRequest, config: Decoding) -> Event:
        """Return the translations of a sentence, best first, and what the layers decide on the best one.

        Raises:
            MdnmtError: raised by the translator, or the method cannot blend.
        """
        translator, domain = self.translator, request.domain
        if request.blend and not self.about()["can_blend"]:
            raise ConfigError("this method reads no domain, so it cannot blend two; choose one domain or none")
        if not isinstance(translator, Translator):
            [found] = translator.translate([text], config)
            return {"translations": _listed(found)}
        if request.blend:
            # Segmentation by domain uses the domain with the larger share.
            nearer = request.blend.first if request.blend.share <= 0.5 else request.blend.second
            [source] = translator.encode([text], nearer)
            first, second = translator.label(request.blend.first), translator.label(request.blend.second)
            model = blended(translator.model, first, second, request.blend.share)
            translator, domain = translator.with_model(model, BLENDED), BLENDED
        else:
            [source] = translator.encode([text], domain)
        [found] = translator.translate_ids([source], config, domain)
        event: Event = {"translations": _listed(found)}
        if request.inspect and len(source) > 1:
            target = translator.target_vocab.encode(found[0].pieces)
            event["decisions"] = decisions(translator, source, target, domain, self.slots)
        return event


def _listed(found: Sequence[Translation]) -> list[Event]:
    return [{"text": one.text, "score": one.score} for one in found]


class Service:
    """Translates texts; several at a time share each run sentence by sentence."""

    def __init__(self, runs: Sequence[ServedRun], limits: Limits, beam_size: int, threads: int) -> None:
        """Serve loaded runs.

        Args:
            runs: at least one.
            limits: of a request.
            beam_size: of the search, unless more translations are asked for.
            threads: of the CPU; at most this many runs work at the same time.

        Raises:
            ConfigError: the runs translate between different languages.
        """
        pairs = sorted({(run.translator.source_lang, run.translator.target_lang) for run in runs})
        if len(pairs) > 1:
            listed = ", ".join(f"{source} to {target}" for source, target in pairs)
            raise ConfigError(
                f"found runs that translate {listed}; expected one language pair; start one page for each"
            )
        self.runs, self.limits, self.beam_size = list(runs), limits, beam_size
        self.source_lang, self.target_lang = pairs[0]
        names = [run.name for run in runs]
        for run in runs:
            run.name = run.name if names.count(run.name) == 1 else str(run.folder)
        self.active = 0
        workers = max(1, min(threads, len(runs)))
        # A sentence is translated in one thread: a second one costs more than it saves (benchmarks/NOTES.md).
        # Only the matrix products of mBART-50 are large enough for several threads.
        each = threads // workers if any(not isinstance(run.translator, Translator) for run in runs) else 1
        self._pool = ThreadPoolExecutor(workers, "run", torch.set_num_threads, (max(1, each),))

    def about(self) -> Event:
        """Return what the page needs to know about the service."""
        domains = dict.fromkeys(name for run in self.runs for name in run.translator.domains)
        limits = {"characters": self.limits.max_characters, "sentence": self.limits.max_sentence_characters}
        return {
            "source_lang": self.source_lang,
            "target_lang": self.target_lang,
            "domains": list(domains),
            "limits": limits,
            "runs": [run.about() for run in self.runs],
        }

    def sentences(self, request: TranslateRequest) -> list[Sentence]:
        """Return the sentences of a request.

        Raises:
            ConfigError: it names a run that does not exist, or its text is empty.
            DataError: its text is not valid, or a sentence is too long.
        """
        if unknown := [number for number in request.runs if not 0 <= number < len(self.runs)]:
            raise ConfigError(f"found run {unknown[0]}, expected 0 to {len(self.runs) - 1}")
        if not (found := split_sentences(request.text, self.limits.max_sentence_characters)):
            raise ConfigError("there is no text to translate; type or paste some")
        return found

    async def events(self, request: TranslateRequest, sentences: list[Sentence]) -> AsyncIterator[Event]:
        """Yield one event for each sentence and run, as soon as it is translated.

        `start` comes first, then `sentence` or `error`, then `done`. A run that cannot serve the request at all has one
        error without a sentence's number.
        """
        yield {"event": "start", "sentences": [asdict(sentence) for sentence in sentences]}
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        numbers = list(dict.fromkeys(request.runs))
        tasks = [asyncio.create_task(self._work(number, request, sentences, queue.put_nowait)) for number in numbers]
        self.active += 1
        try:
            working = len(tasks)
            while working:
                event = await queue.get()
                if event is None:
                    working -= 1
                else:
                    yield event
            yield {"event": "done"}
        finally:
            self.active -= 1
            for task in tasks:
                task.cancel()

    async def _work(
        self, number: int, request: TranslateRequest, sentences: list[Sentence], put: Callable[[Event | None], None]
    ) -> None:
        run = self.runs[number]
        config = Decoding(beam_size=max(self.beam_size, request.nbest), nbest=request.nbest)
        loop = asyncio.get_running_loop()
        try:
            for place, sentence in enumerate(sentences):
                about: Event = {"run": number, "sentence": place}
                try:
                    # A request waits for one sentence of each other request, not for its whole text.
                    async with run.turn:
                        found = await loop.run_in_executor(self._pool, run.translate, sentence.text, request, config)
                    put({"event": "sentence", **about, **found})
                except ConfigError as error:
                    put({"event": "error", "run": number, "message": str(error)})
                    return
                except MdnmtError as error:
                    put({"event": "error", **about, "message": str(error)})
        except Exception:
            traceback.print_exc(file=sys.stderr)
            put({"event": "error", "run": number, "message": "internal error in mdnmt; see its log"})
        finally:
            put(None)

    def close(self) -> None:
        """Shut the threads down."""
        self._pool.shutdown(wait=False, cancel_futures=True)


async def closing_stream(events: AsyncIterator[Event], encode: Callable[[Event], bytes]) -> AsyncGenerator[bytes]:
    """Yield encoded events; the work is cancelled when the client disconnects."""
    async with aclosing(events) as open_events:  # type: ignore[type-var]
        async for event in open_events:
            yield encode(event)
