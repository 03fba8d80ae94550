"""The documentation site, opened as files in a real browser: no request to anybody, search, pages that fit a phone.

`make docs` builds the site and runs this; without a site in results/site it is skipped.
"""

from __future__ import annotations

import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser.chromium_pipe import Chromium

SITE = Path(os.environ.get("MDNMT_SITE", "results/site"))
pytestmark = pytest.mark.usefixtures("site")
PAGES = ("index.html", "tutorial.html", "methods/waldm.html", "reference/configuration.html", "reference/api.html")
# The width that the page needs beyond the window: wide tables and code scroll inside their own boxes.
OVERHANG = "document.documentElement.scrollWidth - window.innerWidth"
SEARCH = """
new Promise((done) => {
  const field = document.querySelector("input.md-search__input");
  field.focus();
  field.value = %s;
  field.dispatchEvent(new KeyboardEvent("keyup", { bubbles: true }));
  field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  const look = (left) => {
    const found = [...document.querySelectorAll(".md-search-result__link")].map((one) => one.getAttribute("href"));
    found.length || !left ? done(found) : setTimeout(() => look(left - 1), 100);
  };
  look(100);
})
"""


class Links(HTMLParser):
    """The links of a page, and what links to it may name."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.links += [value for key in ("href", "src") if (value := given.get(key))]


@pytest.fixture(scope="module")
def site() -> Path:
    if not (SITE / "index.html").is_file():
        pytest.skip("no site: `make docs` builds it")
    return SITE


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_fits_its_window_and_asks_nobody(chromium: Chromium, name: str, width: int) -> None:
    chromium.said.clear()
    chromium.open(SITE / name, width)
    assert chromium.run("document.querySelectorAll('h1').length") == 1
    assert chromium.run(OVERHANG) <= 0
    assert chromium.said == []


@pytest.mark.parametrize(
    ("words", "expected"), [("naive waldm", "methods/naive-waldm.html"), ("finished_only", "reproducibility.html")]
)
def test_search_finds_pages_without_a_server(chromium: Chromium, words: str, expected: str) -> None:
    chromium.open(SITE / "index.html")
    found = chromium.run(SEARCH % json.dumps(words))
    assert any(expected in link for link in found), found


def test_links_show_titles_and_not_names_of_files(site: Path) -> None:
    index = (site / "index.html").read_text(encoding="utf-8")
    assert '<a href="faults.html">Faults, and what you see</a>' in index
    shown = {
        page.name: re.findall(r">([^<>\s]+\.md)</a>", page.read_text(encoding="utf-8")) for page in site.glob("*.html")
    }
    assert {name: links for name, links in shown.items() if links} == {}


def test_no_link_of_the_site_is_dead(site: Path) -> None:
    pages = {page.resolve(): Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    dead = []
    for page, parser in pages.items():
        for link in parser.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            is_dead = not target.exists() or (
                parts.fragment and target in pages and parts.fragment not in pages[target].ids
            )
            dead += [f"{page.relative_to(site.resolve())}: {link}"] if is_dead else []
    assert len(pages) > 40 and dead == []
