"""HTML in text: decode entities and remove tags, which belong to a page and not to a sentence."""

from __future__ import annotations

import html
import re

# Also as a tokeniser leaves them: `& amp ;`.
_ENTITY = re.compile(r"&(?: ?(?:amp|apos|quot|lt|gt|nbsp|#\d{1,7}) ?|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z]{2,31}[0-9]{0,2});")
# Not those that are also words in angle brackets, as in `--set <option>`.
_BREAKING = "br p div li ul ol dl dt dd tr td th table tbody thead caption h1 h2 h3 h4 h5 h6 hr pre blockquote ph x img"
_INLINE = (
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd q s samp small span strike strong sub "
    "sup tt u wbr bpt ept it ut g mrk hi"
)
_TAG = re.compile(rf"</?({'|'.join(sorted([*_BREAKING.split(), *_INLINE.split()], key=len, reverse=True))})"
                  r"(?:\s[^<>]*)?/?>", re.IGNORECASE)  # fmt: skip
_PASSES = 3  # text may be escaped more than once: &amp;amp;


def entities(text: str) -> list[str]:
    """Return the HTML entities of a text."""
    if "&" not in text:
        return []
    return [found[0] for found in _ENTITY.finditer(text) if html.unescape(found[0].replace(" ", "")) != found[0]]


def tags(text: str) -> list[str]:
    """Return the HTML tags of a text; `<` and `>` around other words are no tags."""
    return [found[0] for found in _TAG.finditer(text)] if "<" in text else []


def unescape(text: str) -> str:
    """Return a text without tags and entities; tags that end a line, a cell or an image become a space."""
    for _ in range(_PASSES):
        if "&" not in text and "<" not in text:
            break
        plain = _TAG.sub(lambda tag: " " if tag[1].lower() in _BREAKING.split() else "", text)
        plain = _ENTITY.sub(lambda entity: html.unescape(entity[0].replace(" ", "")), plain)
        if plain == text:
            break
        text = plain
    return text
