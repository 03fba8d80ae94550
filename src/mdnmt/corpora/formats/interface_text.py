"""Turn a program's messages into plain text, without keyboard accelerators, tags and links."""

from __future__ import annotations

import html
import re

# "(&F)" after a Chinese or Japanese message, with the white space before it.
_ACCELERATOR_APART = re.compile(r"(?<!\s)\s*+\([&_]\w\)")
_AMPERSAND = re.compile(r"(?<!&)&(?!#?\w{1,10};)(?=\w)")
_UNDERSCORE = re.compile(r"(?<!\w)_(?=\w)|(?<=[^\W_])_(?=[^\W_])")
_BREAK = re.compile(r"</?(?:p|br|li|ul|ol|div|tr|td|table|h[1-6]|nl|para|title|item|list)\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_COLOUR = re.compile(r"</?color[\w ]*>|</?(?:bold|italic|big|small|b|i)>")
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")


def without_accelerator(text: str, sign: str) -> str:
    """Return `text` without the sign (`&` or `_`) that marks a menu's key; an entity such as `&lt;` stays."""
    if sign not in text:
        return text
    text = _ACCELERATOR_APART.sub("", text)
    if sign == "_":
        return _UNDERSCORE.sub("", text)
    return _AMPERSAND.sub("", text).replace("&&", "&")


def without_tags(text: str) -> str:
    """Return `text` without tags (those that break lines leave a blank) and with its entities resolved."""
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", text))
    return html.unescape(text) if "&" in text else text


def without_colours(text: str) -> str:
    """Return `text` without tags for colour and font; tags that represent a name (`<npcname>`) stay."""
    return _COLOUR.sub("", text) if "<" in text else text


def without_links(text: str) -> str:
    """Return `text` with `[words](address)` reduced to its words."""
    return _LINK.sub(r"\1", text) if "](" in text else text


def count_tokens(text: str) -> int:
    """Return the number of words and punctuation marks in `text`: "Not found." has three."""
    return len(_TOKEN.findall(text))
