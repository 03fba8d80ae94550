"""Decode with the ONNX graphs in this folder: beam search, and scores of given translations.

    echo "BPE pieces of a sentence" | python translate.py [DOMAIN]

It needs the Python packages onnxruntime and numpy. `mdnmt export` wrote it; it does not need mdnmt.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

PAD, START, END, UNKNOWN = range(4)
HERE = Path(__file__).resolve().parent


def log_softmax(logits: Any) -> Any:
    """Return log-probabilities along the last axis."""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


class Translator:
    """Translates sentences that are lists of BPE pieces, one at a time."""

    def __init__(self, folder: Path = HERE, threads: int = 0) -> None:
        import onnxruntime

        self.about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        open_graph = onnxruntime.InferenceSession
        self.encoder, self.decoder = (
            open_graph(str(folder / f"{name}.onnx"), options, providers=["CPUExecutionProvider"])
            for name in ("encoder", "decoder")
        )
        sides = (self.about["source_lang"], self.about["target_lang"])
        lists = ((folder / "segmentation" / f"vocab.{lang}.txt").read_text(encoding="utf-8") for lang in sides)
        source, self.target = (text.removesuffix("\n").split("\n") for text in lists)
        self.number = {piece: place for place, piece in enumerate(source) if place > UNKNOWN}
        self.target_number = {piece: place for place, piece in enumerate(self.target) if place > UNKNOWN}

    def start(self, pieces: list[str], domain: str | None) -> dict[str, Any]:
        """Return the inputs of the first decoder step for one prefix."""
        about = self.about
        if len(pieces) > about["max_source_pieces"]:
            raise ValueError(f"found {len(pieces)} pieces, expected at most {about['max_source_pieces']}")
        inputs = {"source": np.array([[*(self.number.get(piece, UNKNOWN) for piece in pieces), END]], dtype=np.int64)}
        if about["domains"]:
            if domain not in about["domains"]:
                raise ValueError(f"found the domain {domain!r}, expected one of {', '.join(about['domains'])}")
            inputs["domain"] = np.array([about["domains"].index(domain)], dtype=np.int64)
        names = [output.name for output in self.encoder.get_outputs()]
        state = dict(zip(names, self.encoder.run(None, inputs)))  # noqa: B905
        if about["domains"]:
            state["domain"] = inputs["domain"]
        empty = np.zeros((1, about["heads"], 0, about["head_width"]), dtype=np.float32)
        for layer in range(about["layers"]):
            state[f"past_key_{layer}"] = state[f"past_value_{layer}"] = empty
        return state

    def step(self, words: list[int], position: int, state: dict[str, Any]) -> Any:
        """Read the newest piece of each prefix; return the logits [P, V] of the next one, and update the state."""
        inputs = {"word": np.array(words, dtype=np.int64), "position": np.array([position], dtype=np.int64)}
        logits, *grown = self.decoder.run(None, {**inputs, **state})
        for output, value in zip(self.decoder.get_outputs()[1:], grown):  # noqa: B905
            state[output.name.replace("grown", "past")] = value
        return logits

    def logits(self, source: list[str], target: list[str], domain: str | None = None) -> Any:
        """Return the logits [T + 1, V] of each target piece and of the end, given the true pieces before it."""
        state = self.start(source, domain)
        words = [START, *(self.target_number.get(piece, UNKNOWN) for piece in target)]
        return np.concatenate([self.step([word], place, state) for place, word in enumerate(words)])

    def score(self, source: list[str], target: list[str], domain: str | None = None) -> float:
        """Return the log-probability of a translation, including its end."""
        ids = [*(self.target_number.get(piece, UNKNOWN) for piece in target), END]
        return float(log_softmax(self.logits(source, target, domain))[range(len(ids)), ids].sum())

    def translate(
        self, pieces: list[str], domain: str | None = None, beam_size: int = 5, max_length: int = 200
    ) -> list[tuple[list[str], float]]:
        """Return translations, best first, with log-probability / length (the end counts)."""
        max_length = min(max_length, self.about["max_target_pieces"] + 1)
        state = self.start(pieces, domain)
        found: list[tuple[list[str], float]] = []
        prefixes, scores = [[START]], np.zeros(1)
        for position in range(max_length):
            log_p = log_softmax(self.step([prefix[-1] for prefix in prefixes], position, state).astype(np.float64))
            log_p[:, [PAD, START]] = -np.inf
            if position == max_length - 1:
                log_p[:, [word for word in range(log_p.shape[1]) if word != END]] = -np.inf
            total = (scores[:, None] + log_p).ravel()
            best = np.argsort(-total, kind="stable")[: 2 * beam_size]
            going = []
            for rank, place in enumerate(best):
                parent, word = divmod(int(place), log_p.shape[1])
                if word != END:
                    going.append((parent, word, total[place]))
                elif rank < beam_size and len(found) < beam_size and np.isfinite(total[place]):
                    ended = [self.target[number] for number in prefixes[parent][1:]]
                    found.append((ended, float(total[place]) / (position + 1)))
            if len(found) >= beam_size or position == max_length - 1:
                break
            going = going[:beam_size]
            parents = [parent for parent, _, _ in going]
            prefixes = [[*prefixes[parent], word] for parent, word, _ in going]
            scores = np.array([score for _, _, score in going])
            state = {name: value[parents] for name, value in state.items()}
        return sorted(found, key=lambda one: -one[1])


def main() -> None:
    """Translate standard input line by line."""
    translator = Translator()
    domain = sys.argv[1] if len(sys.argv) > 1 else None
    for raw in sys.stdin.buffer:
        best, _ = translator.translate(raw.decode("utf-8").split(), domain)[0]
        sys.stdout.buffer.write((" ".join(best) + "\n").encode())


if __name__ == "__main__":
    main()
