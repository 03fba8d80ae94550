"""Turn lines of text into BPE pieces, and pieces into text, as in the training of the model in this folder.

    python segment.py encode < text > pieces
    python segment.py decode < pieces > text

It needs the Python package subword-nmt, and sacremoses if segmentation.json names the tokenizer moses. `mdnmt export`
wrote it and, beside it, reversible.py; it does not need mdnmt.
"""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "segmentation"
# Invisible characters that mean nothing in a sentence, such as byte-order and direction marks.
_INVISIBLE = [0x00AD, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROL = [*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)]
_REMOVED = dict.fromkeys(code for code in [*_INVISIBLE, *_CONTROL] if not chr(code).isspace())
_LONE_APOSTROPHE = re.compile(r"(?<=\w) ’ (?=\w)")


class Segmenter:
    """Cuts source text into pieces and joins target pieces."""

    def __init__(self, folder: Path = HERE) -> None:
        from subword_nmt.apply_bpe import BPE

        said = json.loads((folder / "segmentation.json").read_text(encoding="utf-8"))
        self.tokenizers, base = said["tokenizers"], said["moses_languages"]
        self.source, self.target = said["source_lang"], said["target_lang"]
        if "moses" in self.tokenizers.values():
            from sacremoses import MosesDetokenizer, MosesTokenizer

            self._tokenizer: Any = MosesTokenizer(lang=base[self.source])
            self._detokenizer: Any = MosesDetokenizer(lang=base[self.target])
        if "reversible" in self.tokenizers.values():
            self._reversible = import_module("reversible")
        name = {"joint": "codes.bpe", "side": f"codes.{self.source}.bpe", "none": None}[said["bpe"]]
        self._bpe: Any = None
        if name is not None:
            codes = (folder / name).read_text(encoding="utf-8")
            merges = -1 if codes.count("\n") > 1 else 0
            self._bpe = BPE(io.StringIO(codes), merges=merges, separator="@@")

    def encode(self, line: str) -> list[str]:
        """Return the source pieces of a line, without special pieces."""
        text = " ".join(unicodedata.normalize("NFC", line.translate(_REMOVED)).split())
        words = text.split()
        if words and self.tokenizers[self.source] == "moses":
            words = self._tokenizer.tokenize(text, escape=False)
        elif words and self.tokenizers[self.source] == "reversible":
            words = self._reversible.split_words(text)
        return list(self._bpe.segment_tokens(words)) if self._bpe is not None else list(words)

    def decode(self, pieces: list[str]) -> str:
        """Return the plain text of target pieces; padding, start and end of a sentence are left out."""
        kept = [piece for piece in pieces if piece not in ("<pad>", "<s>", "</s>")]
        text = " ".join(kept).replace("@@ ", "").removesuffix("@@")
        if text and self.tokenizers[self.target] == "reversible":
            return str(self._reversible.join_words(text.split(" ")))
        if not text or self.tokenizers[self.target] != "moses":
            return text
        return _LONE_APOSTROPHE.sub("’", self._detokenizer.detokenize(text.split(" "), unescape=False).strip())


def main() -> None:
    """Convert standard input line by line."""
    if sys.argv[1:] not in (["encode"], ["decode"]):
        sys.exit("usage: python segment.py encode|decode < IN > OUT")
    segmenter = Segmenter()
    for raw in sys.stdin.buffer:
        line = raw.decode("utf-8").rstrip("\r\n")
        made = " ".join(segmenter.encode(line)) if sys.argv[1] == "encode" else segmenter.decode(line.split())
        sys.stdout.buffer.write(f"{made}\n".encode())


if __name__ == "__main__":
    main()
