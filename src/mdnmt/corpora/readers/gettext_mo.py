"""Read the compiled gettext catalogues (.mo) of Debian packages: English messages with their translations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import GettextMoReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import read_whole, some_members
from mdnmt.corpora.formats.gettext import read_mo
from mdnmt.corpora.formats.interface_text import count_tokens, without_accelerator, without_colours, without_tags
from mdnmt.errors import DataError

_FOLDERS = {"zh": "zh_CN"}
_PREFIX = re.compile(r"^[^\^\n]{1,80}\^")


def read(archive: Archive, source_lang: str, target_lang: str, options: GettextMoReader) -> Iterator[tuple[str, str]]:
    """Yield messages and translations; for a message with plural forms, the first and the last form.

    Raises:
        DataError: no side is English, there is no catalogue of the other language, or one is damaged.
    """
    if "en" not in (source_lang, target_lang):
        raise DataError(f"{archive.label}: read with English on one side, not {source_lang}-{target_lang}")
    other = target_lang if source_lang == "en" else source_lang
    folder = f"locale/{_FOLDERS.get(other, other)}/LC_MESSAGES"
    for name in some_members(archive, rf"(?:^|/){folder}/[^/]+\.mo$", f"member {folder}/*.mo"):
        for entry in read_mo(read_whole(archive, name), f"{archive.label}:{name}"):
            messages = [(entry.msgid, entry.msgstr[0])]
            if entry.msgid_plural is not None and len(entry.msgstr) > 1:  # a single form would repeat the pair
                messages.append((entry.msgid_plural, entry.msgstr[-1]))
            for message in messages:
                english, foreign = (_plain(text, options) for text in message)
                if foreign and count_tokens(english) >= options.min_tokens:
                    yield (english, foreign) if source_lang == "en" else (foreign, english)


def _plain(text: str, options: GettextMoReader) -> str:
    if options.context_prefix:
        text = _PREFIX.sub("", text)
    if options.accelerator:
        text = without_accelerator(text, options.accelerator)
    return without_colours(text) if options.tags_are_names else without_tags(text)
