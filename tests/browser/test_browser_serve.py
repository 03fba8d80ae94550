"""The page of `mdnmt serve` in a real browser: hostile text stays text, phones and keyboards are served."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser.chromium_pipe import Chromium
from page_server import finished_run, service_of, serving

from mdnmt.extras.serve.requests import Limits

pytestmark = pytest.mark.slow  # a server and a browser

LOADED = "(async () => { while (!document.querySelector('#runs input')) await new Promise(requestAnimationFrame); })()"
# The button that stops is there as long as sentences come.
ENDED = "(async () => { while (!$('stop').hidden) await new Promise(requestAnimationFrame); })()"
STATE = "$('state').textContent"
UNREACHED = """
[...document.querySelectorAll("textarea, select, input, button:not(.token), summary, .scroll")].filter((node) => {
  if (!node.checkVisibility()) return false;
  node.focus();
  return document.activeElement !== node || node.tabIndex < 0;
}).map((node) => node.outerHTML.slice(0, 90))
"""
NAMELESS = """
[...document.querySelectorAll("textarea, select, input, button, [role=group], [role=region]")].filter((node) =>
  !node.ariaLabel && !node.labels?.length && !node.textContent.trim()).map((node) => node.outerHTML.slice(0, 90))
"""
HOSTILE = (
    "<script>document.title = 'owned'</script> <img src=x onerror=\"document.title='owned'\">\n"
    "\u202eevil \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\n'\"&lt;b&gt; {{7*7}} ${7*7}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture
def address(folder: Path, make_spec: Any, toy_task: Path) -> Iterator[str]:
    runs = [finished_run(name, folder, make_spec, toy_task) for name in ("waldm", "dsa", "dmoe")]
    with serving(service_of(*runs, limits=Limits(max_characters=5_000))) as port:
        yield f"http://127.0.0.1:{port}/"


def translated(chromium: Chromium, address: str, text: str, *, domain: str = "law", **window: Any) -> None:
    chromium.said.clear()
    chromium.open(address, **window)
    chromium.run(LOADED)
    chromium.run(f"$('text').value = {text!r}; $('domain').value = {domain!r}; $('domain').oninput()")
    chromium.run("$('nbest').value = '3'; $('go').click()")
    chromium.run(ENDED)


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_a_text_is_translated_side_by_side(chromium: Chromium, address: str, width: int, dark: bool) -> None:
    translated(chromium, address, "bank rate price. Court rule judge.", width=width, dark=dark)
    assert "2 of 2 sentences" in chromium.run(STATE) and chromium.said == []
    assert chromium.run("document.querySelectorAll('article section .best').length") == 6
    assert chromium.run("document.querySelectorAll('article section ol li').length") == 12
    assert chromium.run("[...document.querySelectorAll('h3 span')].every((one) => /^score -\\d/.test(one.textContent))")
    assert chromium.run("document.querySelectorAll('details.inside').length") == 6
    chromium.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert chromium.run("document.documentElement.scrollWidth") <= width
    lefts = chromium.run("[...$('results').firstChild.querySelectorAll('section')].map((one) => one.offsetLeft)")
    assert len(set(lefts)) == (1 if width == 390 else 3)
    paper = chromium.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(paper) < 100) == dark


def test_hostile_text_stays_text(chromium: Chromium, address: str) -> None:
    translated(chromium, address, HOSTILE)
    assert "3 of 3 sentences" in chromium.run(STATE) and chromium.said == []
    assert chromium.run("document.title") == "mdnmt: try the models"
    assert chromium.run("document.querySelectorAll('main img, main script, main b:not(.token b)').length") == 0
    assert chromium.run("document.querySelector('.source').textContent") == HOSTILE.split("\n")[0]
    assert chromium.run("getComputedStyle(document.querySelector('.source')).unicodeBidi") == "isolate"


def test_a_megabyte_and_a_nul_are_refused_with_a_reason(chromium: Chromium, address: str) -> None:
    chromium.open(address)
    chromium.run(LOADED)
    chromium.run("$('text').value = 'word '.repeat(200000); $('text').oninput(); $('go').click()")
    assert chromium.run(STATE) == "The text has 1,000,000 characters; the limit is 5,000. Shorten it."
    # The server says so as well, to whoever asks without the page.
    ask = "(async () => { const body = JSON.stringify({text: TEXT, runs: [0]}); const answer = await fetch('api/translate', {method: 'POST', headers: {'Content-Type': 'application/json'}, body}); return [answer.status, (await answer.json()).message]; })()"  # noqa: E501
    status, message = chromium.run(ask.replace("TEXT", "'word '.repeat(200000)"))
    assert status == 413 and "the limit is 5,000" in message
    status, message = chromium.run(ask.replace("TEXT", "'a\\0b'"))
    assert status == 400 and "NUL" in message


def test_no_key_is_missing(chromium: Chromium, address: str) -> None:
    translated(chromium, address, "bank rate price")
    assert chromium.run(NAMELESS) == []
    assert chromium.run(UNREACHED) == []
    # One token of a heat map is in the order of tabs; the arrow keys move along the line and between lines.
    assert (
        chromium.run("document.querySelectorAll('.inside')[0].querySelectorAll('.token[tabindex=\"0\"]').length") == 1
    )
    chromium.run("document.querySelector('.token').focus()")
    caption = "document.querySelector('.inside caption').textContent"
    first = chromium.run(caption)
    chromium.press("ArrowRight")
    assert chromium.run(caption) != first and chromium.run("document.activeElement.ariaPressed") == "true"
    chromium.press("ArrowLeft")
    assert chromium.run(caption) == first and first.startswith("Source token")
    chromium.press("ArrowDown")
    assert chromium.run(caption) == "Target token <s>"
    chromium.press("End")
    assert chromium.run("document.activeElement.nextSibling") is None
    assert chromium.run("getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_the_table_shows_the_numbers_of_the_token_under_the_mouse(chromium: Chromium, address: str) -> None:
    translated(chromium, address, "bank rate price")
    found = chromium.run(
        "(async () => { const answer = await fetch('api/translate', {method: 'POST', headers: {'Content-Type': "
        "'application/json'}, body: JSON.stringify({text: 'bank rate price', runs: [0], domain: 'law'})});"
        " return JSON.parse((await answer.text()).split('\\n')[1]).decisions.source.values; })()"
    )
    for token in (0, len(found[0]) - 1):
        chromium.run(f"document.querySelectorAll('.inside')[0].querySelectorAll('.token')[{token}].onmouseenter()")
        shown = "[...document.querySelector('.inside tbody').rows].map((row) => [...row.cells].slice(1).map((cell) => Number(cell.title)))"  # noqa: E501
        assert chromium.run(shown) == [layer[token] for layer in found]


def test_a_blend_has_a_slider_and_what_cannot_blend_says_so(chromium: Chromium, address: str) -> None:
    chromium.open(address)
    chromium.run(LOADED)
    assert chromium.run("$('share').checkVisibility()") is False
    chromium.run("$('domain').selectedIndex = $('domain').options.length - 1; $('domain').oninput()")
    assert chromium.run("$('share').checkVisibility()") is True
    chromium.run("$('share').value = 25; $('share').oninput()")
    assert chromium.run("$('share').ariaValueText") == "75 % economy, 25 % law"
    chromium.run("$('text').value = 'bank rate'; $('go').click()")
    chromium.run(ENDED)
    found = chromium.run("[...document.querySelectorAll('section')].map((one) => one.children[1].className)")
    assert found == ["best", "bad", "best"]
    assert "cannot blend two" in chromium.run("document.querySelector('p.bad:not([id])').textContent")


def test_a_server_that_ended_is_said_to_have(chromium: Chromium, folder: Path, make_spec: Any, toy_task: Path) -> None:
    with serving(service_of(finished_run("waldm", folder, make_spec, toy_task))) as port:
        chromium.open(f"http://127.0.0.1:{port}/")
        chromium.run(LOADED)
    chromium.run("$('text').value = 'bank'; $('go').click()")
    chromium.run(ENDED)
    assert "does not answer" in chromium.run(STATE)
