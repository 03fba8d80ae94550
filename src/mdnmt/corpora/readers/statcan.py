"""Read statcan-dialogue-dataset: titles, footnotes and member labels of Statistics Canada's tables (en, fr)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import StatcanReader
from mdnmt.corpora.formats.archive import Archive, open_nested
from mdnmt.corpora.formats.archive_members import read_json
from mdnmt.corpora.formats.interface_text import count_tokens
from mdnmt.corpora.formats.json_entries import entries
from mdnmt.errors import DataError

_FOLDER = "statcan_dialogue_dataset/_data/"
_FOOTNOTES = _FOLDER + "footnotes.json"
_TITLES = _FOLDER + "basic_info.json"
_MEMBERS = _FOLDER + "members.zip"
REQUIRED = (_FOOTNOTES, _TITLES, _MEMBERS)

_SENTENCE_END = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"'»”)]))\s+(?=[\"'«“(]?\s?[A-ZÀ-ÖØ-Þ0-9])")
_CODE = re.compile(r"(?<!\s)\s*+\[[^\[\]]*\]\s*$")


def read(archive: Archive, source_lang: str, target_lang: str, options: StatcanReader) -> Iterator[tuple[str, str]]:
    """Yield the segments of the parts asked for, in the order titles, footnotes, labels.

    Raises:
        DataError: a member is missing or is not the JSON that was expected.
    """
    try:
        for pair in _texts(archive, source_lang, target_lang, options):
            if not (isinstance(pair[0], str) and isinstance(pair[1], str)):
                raise TypeError(f"expected text, found {pair!r:.60}")
            yield pair
    except (AttributeError, KeyError, TypeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise DataError(f"{archive.label}: its JSON is not laid out as expected ({said})") from None


def _texts(archive: Archive, source_lang: str, target_lang: str, options: StatcanReader) -> Iterator[tuple[str, str]]:
    sides = {"en": "En", "fr": "Fr"}
    source, target = sides[source_lang], sides[target_lang]
    if "titles" in options.parts:
        for table in entries(archive.blocks(_TITLES), f"{archive.label}:{_TITLES}"):
            yield table[f"title_{source_lang}"] or "", table[f"title_{target_lang}"] or ""
    if "footnotes" in options.parts:
        yield from _footnotes(archive, source, target)
    if "labels" in options.parts:
        yield from _labels(archive, source, target, options.min_label_tokens)


def _footnotes(archive: Archive, source: str, target: str) -> Iterator[tuple[str, str]]:
    seen: set[bytes] = set()
    for notes in entries(archive.blocks(_FOOTNOTES), f"{archive.label}:{_FOOTNOTES}"):
        for note in notes:
            pair = (note[f"footnotes{source}"] or "", note[f"footnotes{target}"] or "")
            if (digest := _digest(pair)) in seen:  # the same note may occur under hundreds of tables
                continue
            seen.add(digest)
            yield from sentence_pairs(*pair)


def _digest(pair: tuple[str, str]) -> bytes:
    """Return the 16-byte digest of a pair, for the set of seen pairs."""
    return hashlib.blake2b("\0".join(pair).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def sentence_pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of two texts one by one if both have the same number, else the whole texts."""
    sources = _SENTENCE_END.split(source.strip())
    targets = _SENTENCE_END.split(target.strip())
    if len(sources) == len(targets):
        yield from zip(sources, targets, strict=True)
    else:
        yield source, target


def _labels(archive: Archive, source: str, target: str, min_tokens: int) -> Iterator[tuple[str, str]]:
    members = open_nested(archive, _MEMBERS)
    seen: set[bytes] = set()
    for name in members.names():
        if not re.fullmatch(r"\d+\.json", name.rpartition("/")[2]):  # pids.json is a list of the others
            continue
        for dimension in read_json(members, name):
            for member in dimension["member"]:
                pair = (
                    _CODE.sub("", member[f"memberName{source}"] or ""),
                    _CODE.sub("", member[f"memberName{target}"] or ""),
                )
                # The length of the English side decides, so that both directions have the same text.
                english = pair[0] if source == "En" else pair[1]
                if (digest := _digest(pair)) not in seen and count_tokens(english) >= min_tokens:
                    seen.add(digest)
                    yield pair
