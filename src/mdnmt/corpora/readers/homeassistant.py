"""Read homeassistant: the texts of its interface, one JSON file per component and language, joined on their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mdnmt.config.corpus_reader import HomeassistantReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_json
from mdnmt.corpora.formats.interface_text import count_tokens, without_links, without_tags
from mdnmt.errors import DataError

REQUIRED = ("homeassistant/components/sun/translations/en.json",)
_FILES = {"zh": "zh-Hans"}


def read(
    archive: Archive, source_lang: str, target_lang: str, options: HomeassistantReader
) -> Iterator[tuple[str, str]]:
    """Yield the texts that a component has in both languages; the English side has at least `min_tokens`.

    Raises:
        DataError: no component has both languages, or a file is not JSON.
    """
    source_file, target_file = (_FILES.get(lang, lang) for lang in (source_lang, target_lang))
    pattern = re.compile(rf"^(homeassistant/components/[^/]+/translations/){re.escape(source_file)}\.json$")
    names = set(archive.names())
    english = 0 if source_lang == "en" else 1
    found = False
    for name in archive.names():
        match = pattern.match(name)
        other = f"{match[1]}{target_file}.json" if match else ""
        if other not in names:
            continue
        found = True
        target = dict(_texts(read_json(archive, other)))
        for key, text in _texts(read_json(archive, name)):
            if key in target:
                pair = _plain(text), _plain(target[key])
                if count_tokens(pair[english]) >= options.min_tokens:
                    yield pair
    if not found:
        raise DataError(f"{archive.label}: no component has both {source_file}.json and {target_file}.json")


def _plain(text: str) -> str:
    return without_tags(without_links(text.replace("**", "").replace("`", "")))


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts of nested mappings under their joined keys; a text may also be `[%key:...%]`, a reference."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, f"{key}/{name}")
    elif isinstance(value, str) and not value.startswith("[%key:"):
        yield key, value
