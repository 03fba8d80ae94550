"""The report in a real browser: links resolve, tables sort, nothing complains, phones and keyboards are served.

`MDNMT_REPORT=results/smoke/report.html pytest tests/browser` looks at that page in place of a made-up one.
"""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from browser.chromium_pipe import Chromium
from browser.sample_study import write_study

from mdnmt.report import report_page

# What a cell is sorted by, in the words of the page's own data: a full number where there is one, else its text.
SORT_ALL = """
(() => {
  const wrong = [], seen = { tables: 0, heads: 0 };
  const shown = (head) => head.querySelector("button");
  const parsed = (cell) => {
    const text = (cell.dataset.sort ?? cell.textContent).trim();
    if (text === "" || text === "\\u2013") return null;
    const number = Number(text.replace(/[\\u202f\\u00a0 ,+*]/g, "").replace("\\u2212", "-"));
    return Number.isNaN(number) ? text : number;
  };
  const column = (table, head) => {
    // The place that a head's right edge has in the grid of the table, spans counted.
    const grid = [];
    [...table.tHead.rows].forEach((row, r) => {
      let place = 0;
      for (const cell of row.cells) {
        while (grid[r]?.[place]) place += 1;
        for (let y = 0; y < cell.rowSpan; y++)
          for (let x = 0; x < cell.colSpan; x++) ((grid[r + y] ??= [])[place + x] = cell);
        place += cell.colSpan;
      }
    });
    return grid.flatMap((row) => row.map((cell, x) => [cell, x])).find(([cell]) => cell === head)[1];
  };
  for (const table of document.querySelectorAll("table")) {
    const heads = [...table.querySelectorAll("th[data-sortable]")];
    if (heads.length) seen.tables += 1;
    const before = [...table.querySelectorAll("tbody tr")];
    for (const head of heads) {
      seen.heads += 1;
      const name = `${table.caption?.textContent}: ${head.textContent}`;
      const button = shown(head);
      if (!button) { wrong.push(`${name}: no button`); continue; }
      const at = column(table, head);
      for (let press = 0; press < 2; press++) {
        button.click();
        const order = head.getAttribute("aria-sort");
        if (order !== "ascending" && order !== "descending") wrong.push(`${name}: aria-sort is ${order}`);
        const others = heads.filter((one) => one !== head && one.hasAttribute("aria-sort"));
        if (others.length) wrong.push(`${name}: ${others.length} heads say they are sorted as well`);
        for (const body of table.tBodies) {
          const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
          if (body.rows.length !== rows.length && !body.rows[0].classList.contains("group"))
            wrong.push(`${name}: the group's name is no longer first`);
          const values = rows.map((row) => parsed(row.cells[at]));
          const known = values.filter((value) => value !== null);
          if (values.slice(0, known.length).includes(null)) wrong.push(`${name}: an empty cell is not last`);
          const sign = order === "ascending" ? 1 : -1;
          for (let i = 1; i < known.length; i++) {
            const [a, b] = [known[i - 1], known[i]];
            if (typeof a !== typeof b) continue;
            const more = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
            if (sign * more > 0) wrong.push(`${name}, ${order}: ${a} stands before ${b}`);
          }
        }
      }
      button.click();
      const after = [...table.querySelectorAll("tbody tr")];
      if (head.hasAttribute("aria-sort")) wrong.push(`${name}: the third press does not undo it`);
      if (after.some((row, i) => row !== before[i])) wrong.push(`${name}: the third press leaves another order`);
    }
  }
  return { wrong, seen };
})()
"""
LINKS = """
[...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")).filter((href) => {
  if (href.startsWith("#")) return !document.getElementById(decodeURIComponent(href.slice(1)));
  return !/^https?:\\/\\/[^\\/]+/.test(href);
})
"""
# Wider than the window, and not inside a box that scrolls by itself.
TOO_WIDE = """
[...document.body.querySelectorAll("*")].filter((node) => {
  if (node.closest(".scroll") && !node.matches(".scroll")) return false;
  if (node.matches(".skip") || !node.checkVisibility()) return false;
  return node.getBoundingClientRect().right > innerWidth + 1;
}).map((node) => `${node.tagName}.${node.className}: ${node.textContent.trim().slice(0, 60)}`)
"""
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map((one) => Number(one.tagName[1]))"
# Everything that can be acted on, or scrolls: where no key reaches it, some readers cannot.
UNREACHED = """
[...document.querySelectorAll("a[href], button, summary, .scroll")].filter((node) => {
  if (!node.checkVisibility()) return false;
  node.focus();
  return document.activeElement !== node || node.tabIndex < 0;
}).map((node) => node.outerHTML.slice(0, 90))
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page that is looked at: a made-up study's, or the one that MDNMT_REPORT names."""
    if given := os.environ.get("MDNMT_REPORT"):
        return Path(given)
    folder = tmp_path_factory.mktemp("study")
    made = folder / "report.html"
    made.write_text(report_page.render(write_study(folder)), encoding="utf-8")
    return made


def unfold(chromium: Chromium) -> None:
    chromium.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def test_every_link_leads_somewhere(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    assert chromium.run("document.querySelectorAll('a[href^=\"#\"]').length") > 5
    assert chromium.run(LINKS) == []


def test_every_table_sorts_by_every_head_that_can_be_pressed(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    unfold(chromium)
    found: dict[str, Any] = chromium.run(SORT_ALL)
    assert found["wrong"] == []
    assert found["seen"]["tables"] >= 2 and found["seen"]["heads"] >= found["seen"]["tables"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_console_is_silent_and_nothing_is_asked_of_the_network(chromium: Chromium, page: Path, dark: bool) -> None:
    chromium.said.clear()
    chromium.open(page, dark=dark)
    chromium.run("location.hash = document.querySelector('main a[href^=\"#\"]').hash")
    unfold(chromium)
    assert chromium.said == []
    paper = chromium.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(paper) < 100) == dark


@pytest.mark.slow
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_the_page_never_scrolls_sideways(chromium: Chromium, page: Path, width: int) -> None:
    chromium.open(page, width=width)
    for _ in range(2):  # folded, then unfolded
        assert chromium.run("innerWidth") == width
        assert chromium.run("document.documentElement.scrollWidth") <= width
        assert chromium.run(TOO_WIDE) == []
        unfold(chromium)


def test_everything_can_be_reached_by_the_keyboard(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    chromium.press("Tab")
    assert chromium.run("document.activeElement.className") == "skip"
    chromium.press("Enter")
    assert chromium.run("document.activeElement.id") == "main"
    unfold(chromium)
    assert chromium.run(UNREACHED) == []
    # A head of a table sorts by the space bar, and says so.
    chromium.run("document.querySelector('th[data-sortable] button').focus()")
    chromium.press("Space")
    assert chromium.run("document.activeElement.closest('th').getAttribute('aria-sort')") in ("ascending", "descending")


def test_what_has_the_focus_is_seen_to_have_it(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    for _ in range(6):
        chromium.press("Tab")
        assert chromium.run("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_headings_are_in_order_and_tables_say_what_they_are(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    levels: list[int] = chromium.run(HEADINGS)
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    nameless = "[...document.querySelectorAll('table')].filter((one) => !one.caption?.textContent.trim()).length"
    assert chromium.run(nameless) == 0
    assert chromium.run("document.querySelectorAll('thead th:not([scope]), tbody th:not([scope])').length") == 0
    assert chromium.run("[...document.querySelectorAll('.scroll')].filter((x) => !x.ariaLabel).length") == 0


def test_a_link_to_what_is_folded_unfolds_it(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    folded = "document.querySelector('main a[href^=\"#run-\"]')"
    address = chromium.run(f"{folded}.hash")
    block = f"document.getElementById({address[1:]!r})"
    assert chromium.run(f"{block}.open") is False
    chromium.run(f"{folded}.focus()")
    chromium.press("Enter")
    assert chromium.run(f"{block}.open") is True
    assert chromium.run("location.hash") == address


@pytest.mark.slow
def test_it_prints(chromium: Chromium, page: Path) -> None:
    chromium.open(page)
    assert chromium.printed().startswith(b"%PDF")
    chromium.ask("Emulation.setEmulatedMedia", media="print")
    assert chromium.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert chromium.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
