"""Make any text harmless in LaTeX and in Markdown; HTML has `html.escape`."""

from __future__ import annotations

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


def one_line(text: str) -> str:
    """Return `text` with every run of white space or control characters as one space."""
    return " ".join("".join(" " if ord(c) < 32 or ord(c) == 127 else c for c in text).split())


def latex(text: str) -> str:
    """Return `text` as LaTeX prints it: no character of it is a command."""
    return "".join(_LATEX.get(character, character) for character in one_line(text))


def markdown(text: str) -> str:
    """Return `text` for a cell of a Markdown table: no pipe ends the cell, no tag and no emphasis begins."""
    return one_line(text).translate(_MARKDOWN)
