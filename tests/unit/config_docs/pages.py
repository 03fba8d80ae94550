"""The project's pages, taken apart: links, code spans, code blocks."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "results" / "README.md", ROOT / "config" / "README.md"]
)
MANUAL = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
DOCS_METHOD = ROOT / "docs" / "your-own-method.md"
DOCS_FIGURE = ROOT / "docs" / "your-own-figure.md"
DOCS_RULE = ROOT / "docs" / "your-own-claim-rule.md"
DOCS_METRIC = ROOT / "docs" / "your-own-metric.md"
# kind of exception -> command -> why, where, or until what
EXCEPTIONS: dict[str, dict[str, str]] = yaml.safe_load(
    (ROOT / "tests" / "page_commands.yaml").read_text(encoding="utf-8")
)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, and the text of the page before it."""

    language: str
    text: str
    before: str


def read(page: Path) -> str:
    """Return the text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[Block]:
    """Return the fenced blocks of a page in one language."""
    text = read(page)
    found = [Block(match[1], match[2], text[: match.start()]) for match in _BLOCK.finditer(text)]
    return [block for block in found if block.language == language]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks."""
    return _BLOCK.sub("", read(page))


def spans(page: Path) -> list[str]:
    """Return the code spans in the prose of a page."""
    return re.findall(r"`([^`]+)`", prose(page))


def links(page: Path) -> list[str]:
    """Return the targets of the links and pictures of a page."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


def headings(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def commands(page: Path) -> list[str]:
    """Return the commands of a page's shell blocks, a line each, without comments."""
    lines = [line.split("  #")[0].strip() for block in blocks(page, "sh") for line in block.text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def named_files(page: Path) -> dict[str, str]:
    """Return path -> text of the YAML and Python blocks before which the page names a file of the project."""
    files = {}
    for block in (*blocks(page, "yaml"), *blocks(page, "python")):
        # The file is named in the last paragraph before the block, and a colon leads to the block.
        paragraph = re.sub(r"<!--.*?-->", "", block.before).strip().rpartition("\n\n")[2]
        named = re.findall(r"`((?:config|plugins|src)/[\w/.-]+\.(?:yaml|py))`", paragraph)
        if paragraph.endswith(":"):
            files.update(dict.fromkeys(named, block.text))
    return files


@cache
def source_texts() -> str:
    """Return all string literals of the package, f-string values as NUL, for looking up what a page quotes."""
    texts = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(str(part) for part in parts))
    return "\n".join(texts)
