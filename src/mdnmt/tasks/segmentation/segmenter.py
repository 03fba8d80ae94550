"""Segment a line of text into tokens and join them again, with a task's own tokenizers and codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import ConfigError
from mdnmt.tasks.segmentation import sentence_pieces
from mdnmt.tasks.segmentation.bpe import Bpe, join_pieces
from mdnmt.tasks.segmentation.sentence_pieces import SentencePieces
from mdnmt.tasks.text.normalisation import Normaliser
from mdnmt.tasks.text.tokenise import detokenise, tokenise, tokenise_lines

CODES = "codes.bpe"
SEGMENTATION = "segmentation.json"


class NoDomainError(ConfigError):
    """The segmentation of a text depends on its domain, which is not known."""


def codes_file(bpe: str, lang: str, domain: str | None) -> str | None:
    """Return the file of the codes for a language and domain, None if words stay whole.

    Raises:
        NoDomainError: each domain has its own codes, and none is given.
    """
    if bpe == "domain" and domain is None:
        raise NoDomainError("text is taken apart by codes of its domain, which is not given")
    models = {"sentencepiece": "codes.model", "sentencepiece-side": f"codes.{lang}.model"}
    merges = {"joint": CODES, "side": f"codes.{lang}.bpe", "domain": f"codes.{domain}.bpe", "none": None}
    return {**merges, **models}[bpe]


@dataclass(frozen=True)
class Segmentation:
    """The content of `segmentation.json`: how a task's text is segmented, apart from the codes themselves.

    Attributes:
        bpe: as in the task's configuration.
        tokenizers: language -> tokenizer.
        forms: domain -> how its text is normalised, if not in the default way.
    """

    bpe: str = "joint"
    tokenizers: Mapping[str, str] = field(default_factory=dict)
    forms: Mapping[str, Normaliser] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> Segmentation:
        """Read it from the folder of a task or run; without the file (older tasks), it is Moses with joint codes.

        Raises:
            DataError: the file cannot be read.
        """
        path = folder / SEGMENTATION
        try:
            value = fsio.read_json(path)
            forms = {str(name): Normaliser(**form) for name, form in value["forms"].items()}
            return cls(str(value["bpe"]), dict(value["tokenizers"]), forms)
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise fsio.unreadable(path, error) from None

    def save(self, folder: Path) -> None:
        """Write it to a task's folder."""
        forms: dict[str, Any] = {name: dict(form.options()) for name, form in self.forms.items()}
        value = {"bpe": self.bpe, "tokenizers": dict(self.tokenizers), "forms": forms}
        fsio.write_json(folder / SEGMENTATION, value)

    def tokenizer(self, lang: str) -> str:
        """Return the tokenizer of a language."""
        return self.tokenizers.get(lang, "moses")

    @property
    def is_sentencepiece(self) -> bool:
        """Return whether sentencepiece segments the text."""
        return self.bpe.startswith("sentencepiece")


def segmentation_files(folder: Path, langs: Sequence[str]) -> list[str]:
    """Return the names of a task's files that turn text into token ids and back; a run keeps a copy of them."""
    codes = sorted(path.name for end in ("bpe", "model") for path in folder.glob(f"codes*.{end}"))
    made_with_choices = [SEGMENTATION] if (folder / SEGMENTATION).is_file() else []
    return [*made_with_choices, *codes, *(f"vocab.{lang}.txt" for lang in langs)]


class Segmenter:
    """Segments the text of one language of a task exactly as its training text was segmented."""

    def __init__(
        self, bpe: Bpe | SentencePieces | None, lang: str, tokenizer: str = "moses", form: Normaliser | None = None
    ) -> None:
        """Take the codes (None: words stay whole), the language, its tokenizer, and the normaliser."""
        self.bpe, self.lang, self.tokenizer, self.form = bpe, lang, tokenizer, form or Normaliser()

    @classmethod
    def load(cls, folder: Path, lang: str, domain: str | None = None) -> Segmenter:
        """Return the segmenter of the task in `folder` for `lang`, and for text of `domain` if that is known.

        Raises:
            DataError: the codes cannot be read.
            ConfigError: subword-nmt or sentencepiece is not installed.
            NoDomainError: each domain has its own codes, and none is given.
        """
        how = Segmentation.load(folder)
        name = codes_file(how.bpe, lang, domain)
        codes: Bpe | SentencePieces | None = None
        with _packages():
            if name is not None:
                try:
                    if name.endswith(".model"):
                        fsio.check_listed(folder / name)
                        codes = SentencePieces((folder / name).read_bytes(), name)
                    else:
                        codes = Bpe(fsio.read_text(folder / name), name)
                except (OSError, UnicodeDecodeError) as error:
                    raise fsio.unreadable(folder / name, error) from None
            return cls(codes, lang, how.tokenizer(lang), how.forms.get(domain or ""))

    def encode(self, line: str) -> list[str]:
        """Return the pieces of a line: normalised, tokenised, segmented.

        Raises:
            ConfigError: a package that tokenises is not installed.
        """
        with _packages():
            text = self.form.apply(line, self.lang)
            words = tokenise(text, self.lang, self.tokenizer) if text else []
            return self.bpe.segment(words) if self.bpe is not None else words


def plain_text(pieces: Sequence[str], lang: str, tokenizer: str = "moses") -> str:
    """Return the plain text of pieces, joined and detokenised; this needs no codes.

    Raises:
        ConfigError: sacremoses is not installed.
    """
    if tokenizer == "sentencepiece":
        return sentence_pieces.join_pieces(pieces)
    with _packages():
        return detokenise(join_pieces(pieces), lang, tokenizer) if pieces else ""


def round_trip(lines: Sequence[str], lang: str, tokenizer: str) -> list[str]:
    """Return normalised lines after the tokenizer and back; those of a reversible one do not change.

    Raises:
        ConfigError: a package that tokenises is not installed.
    """
    with _packages():
        return [detokenise(line, lang, tokenizer) for line in tokenise_lines((lang, tokenizer, lines))]


@contextmanager
def _packages() -> Iterator[None]:
    """Turn a missing package into a one-line error: a machine that only trains may lack the tokenizers."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0].replace("_", "-")
        raise ConfigError(f"needs the package {name}, which is not installed; pip install {name}") from None
