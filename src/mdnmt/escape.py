"""Escape any text for LaTeX, Markdown, HTML and CSV."""

from __future__ import annotations

import re
import unicodedata
from html import escape

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\N{RIGHTWARDS ARROW}": r"$\rightarrow$", "\N{EN DASH}": "--", "\N{EM DASH}": "---",
    "\N{MINUS SIGN}": "$-$",
    "\N{PLUS-MINUS SIGN}": r"$\pm$", "\N{MULTIPLICATION SIGN}": r"$\times$", "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{NO-BREAK SPACE}": "~", "\N{ALMOST EQUAL TO}": r"$\approx$", "\N{NOT EQUAL TO}": r"$\neq$",
    "\N{GREEK CAPITAL LETTER DELTA}": r"$\Delta$",
}  # fmt: skip

_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]()#+!|~$<>"} | {"&": "&amp;"})


_FORMULA = re.compile(r"[=@\t\r]|[+-].*?(?:[\w.]\(|[!|])", re.DOTALL)

# Terminal controls, direction marks, tag characters. Joiners and the soft hyphen are kept, because they are part of the
# spelling of words.
_ACTING = {
    code: " "
    for code in (*range(0x11000), *range(0xE0000, 0xE0080))
    if unicodedata.category(chr(code)) in {"Cc", "Cf"} and chr(code) not in "\n\t\u00ad\u200c\u200d"
}


def visible(text: str) -> str:
    """Return `text` with a space in place of every invisible character that has an effect."""
    return text.translate(_ACTING)


def one_line(text: str) -> str:
    """Return `text` with each run of white space or control characters replaced by one space."""
    return " ".join(visible(text).split())


def html(text: str) -> str:
    """Return `text` escaped for HTML content or a quoted attribute, without invisible controls."""
    return escape(visible(text))


def latex(text: str) -> str:
    """Return `text` as one line, escaped for LaTeX: no character acts as a command."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def csv_cell(text: str) -> str:
    """Return `text` for a cell of a CSV file, so that no spreadsheet takes it for a formula.

    Spreadsheets treat a cell that begins with =, @, + or - as a formula; a leading quote makes it text. Names such as
    "+DAMHA (mix)" call no function and are not changed.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def markdown(text: str) -> str:
    """Return `text` for a cell of a Markdown table: no pipe ends the cell, no tag and no emphasis begins."""
    return one_line(text).translate(_MARKDOWN)
