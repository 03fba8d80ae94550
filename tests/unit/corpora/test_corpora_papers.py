"""Each corpus of the papers as its own file has it, from the address to the pairs, out of archives of its layout."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from loopback import Site, serving
from reader_archives import read_whole, tgz, zipped

from mdnmt.config.corpus import load_corpus
from mdnmt.corpora.availability import why_any_missing
from mdnmt.corpora.corpus_lock import OWN_LOCK, read_lock
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch_by_name import fetch_by_name
from mdnmt.corpora.read import CorpusText
from mdnmt.errors import FetchError

CONFIG = Path(__file__).parents[3] / "config"

TAGS = "<url>http://x/y.html</url>\n<keywords>a, b</keywords>\n<talkid>7</talkid>\n<title>T {0}</title>\n"
TAGS += "<description>D {0}</description>\n One {0}\nTwo {0}\n"


def xml(*segments: str) -> str:
    body = "\n".join(f'<seg id="{number}"> {text} </seg>' for number, text in enumerate(segments, start=1))
    text = f'<mteval>\n<refset>\n<doc docid="1">\n{body}\n</doc>\n</refset>\n</mteval>\n'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def iwslt(pair: str, prefix: str, *sets: str) -> dict[str, str]:
    """Return an archive of IWSLT: talks, and sets with one sentence each that says which it is."""
    members = {f"{pair}/README": "<not for us>"}
    for lang in pair.split("-"):
        members[f"{pair}/train.tags.{pair}.{lang}"] = TAGS.format(lang)
        for name in sets:
            members[f"{pair}/{prefix}.{name}.{pair}.{lang}.xml"] = xml(f"{name} {lang}")
    return members


def europarl(pair: str, *languages: str) -> dict[str, str]:
    return {f"training/europarl-v7.{pair}.{lang}": f"Resumption {lang}\n\nMadam {lang}\n" for lang in languages}


def opus(name: str) -> dict[str, str]:
    members = {f"{name}.en-fr.{lang}": f"Bank {lang}\nRate {lang}\n" for lang in ("en", "fr")}
    return {**members, f"{name}.en-fr.ids": "x\ny\n", "README": "OPUS", "LICENSE": "as its source"}


@dataclass
class Case:
    members: dict[str, str]
    train: list[str]  # of the first language, and likewise of the second
    held_out: dict[str, list[str]] = field(default_factory=dict)
    pack: Any = tgz


TALKS_17 = Case(
    {},
    ["One", "Two"],
    {"valid": ["TED.dev2010"], "test": ["TED.tst2015"]},
)
SETS_17 = ["TED.dev2010", *(f"TED.tst{year}" for year in range(2010, 2016))]
CASES = {
    "europarl-v7-de-en": Case(
        {**europarl("cs-en", "cs", "en"), **europarl("de-en", "de", "en"), **europarl("fr-en", "fr", "en")},
        ["Resumption", "", "Madam"],
    ),
    "iwslt14-de-en": Case(
        iwslt("de-en", "IWSLT14", "TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"),
        ["T", "D", "One", "Two"],
        {"test": ["TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"]},
    ),
    "iwslt17-en-fr": Case(iwslt("en-fr", "IWSLT17", *SETS_17), TALKS_17.train, TALKS_17.held_out),
    "iwslt17-en-fr-all": Case(iwslt("en-fr", "IWSLT17", *SETS_17), ["T", "D", "One", "Two"], {"test": SETS_17}),
    "iwslt17-zh-en": Case(iwslt("zh-en", "IWSLT17", *SETS_17), TALKS_17.train, TALKS_17.held_out),
    "opus-ecb-en-fr": Case(opus("ECB"), ["Bank", "Rate"], pack=zipped),
    "opus-kde4-en-fr": Case(opus("KDE4"), ["Bank", "Rate"], pack=zipped),
    "opus-ted2013-en-fr": Case(opus("TED2013"), ["Bank", "Rate"], pack=zipped),
    "news-commentary-v11-en-fr": Case(opus("News-Commentary11"), ["Bank", "Rate"], pack=zipped),
    "news-commentary-v16-en-fr": Case(opus("News-Commentary"), ["Bank", "Rate"], pack=zipped),
    "wmt18-news-commentary-v13-zh-en": Case(
        {
            f"training-parallel-nc-v13/news-commentary-v13.{pair}.{lang}": f"1929 {lang}\nPARIS {lang}\n"
            for pair in ("cs-en", "zh-en")
            for lang in pair.split("-")
        },
        ["1929", "PARIS"],
    ),
}


# Nobody documents what they are: their first download does.
UNPINNED = {"iwslt14-de-en", "opus-ecb-en-fr", "opus-ted2013-en-fr", "news-commentary-v16-en-fr"}


def test_every_corpus_of_the_web_is_tried() -> None:
    names = {path.stem for path in (CONFIG / "corpora").glob("*.yaml")}
    assert {name for name in names if load_corpus(CONFIG, name).source.provider == "http"} == set(CASES)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as (site, address):
        yield site, address.removesuffix("/file")


def settle(root: Path, name: str, host: str, data: bytes) -> list[str]:
    """Copy a corpus' file with its addresses on loopback and the facts of our small archive; return the paths."""
    value = yaml.safe_load((CONFIG / "corpora" / f"{name}.yaml").read_text())
    paths = [urlsplit(url).path for url in value["source"]["urls"]]
    value["source"]["urls"] = [host + path for path in paths]
    # What others documented of the real archives, once more of ours; some have no more than a first download.
    for key, fact in (("sha256", hashlib.sha256(data).hexdigest()), ("size_bytes", len(data))):
        if key in value["source"]:
            value["source"][key] = fact
    if "md5" in value["source"]:
        value["source"]["md5"] = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if "pairs" in value:
        value["pairs"] = 2
    (root / "config" / "corpora").mkdir(parents=True)
    (root / "config" / "corpora" / f"{name}.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    return paths


def sides(corpus: CorpusText, split: str) -> tuple[list[str], list[str]] | None:
    pairs = getattr(corpus, split)
    return None if pairs is None else ([one.strip() for one, _ in pairs], [other.strip() for _, other in pairs])


@pytest.mark.parametrize("name", CASES)
def test_from_the_address_to_the_pairs(web: tuple[Site, str], tmp_path: Path, name: str) -> None:
    (site, host), case = web, CASES[name]
    data = case.pack(tmp_path / "served", {key: text.encode() for key, text in case.members.items()}).read_bytes()
    (path, *_) = settle(tmp_path, name, host, data)
    site.files[path] = data
    config, corpora = tmp_path / "config", tmp_path / "resources" / "corpora"
    corpus = load_corpus(config, name)
    reason = why_any_missing({name: corpus}, corpora)
    assert (reason is None) == (name not in UNPINNED) and "mdnmt fetch " + name in (reason or "mdnmt fetch " + name)
    row = fetch_by_name(config, name, corpora)[corpus.source.file]  # type: ignore[union-attr]
    assert (row.origin, row.sha256) == (host + path, hashlib.sha256(data).hexdigest())
    spec = fetch_spec(name, corpus, corpora / "sha256.json", read_lock(config)).corpus
    one, other = corpus.languages[:2]
    for langs in ((one, other), (other, one)):
        text = read_whole(spec, corpora / name, *langs)
        wanted = {"train": case.train, "valid": None, "test": None, **case.held_out}
        for split, words in wanted.items():
            expected = words and tuple([f"{word} {lang}" if word else "" for word in words] for lang in langs)
            assert sides(text, split) == expected


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("fault", ["404", "503", "half an archive", "a page to log in"])
def test_nothing_is_left_and_nothing_recorded_of_what_cannot_be_had(
    web: tuple[Site, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    monkeypatch.setattr("mdnmt.corpora.providers.http.PAUSES_S", (0.0,))
    (site, host), case = web, CASES[name]
    data = case.pack(tmp_path / "served", {key: text.encode() for key, text in case.members.items()}).read_bytes()
    served = {"half an archive": data[: len(data) // 2], "a page to log in": b"<html>please log in</html>"}.get(fault)
    for path in settle(tmp_path, name, host, data):
        if served is not None:
            site.files[path] = served
    site.statuses = [int(fault)] * 50 if served is None else []
    with pytest.raises(FetchError) as caught:
        fetch_by_name(tmp_path / "config", name, tmp_path / "corpora")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "config" / OWN_LOCK).exists()
    assert list((tmp_path / "corpora" / name).iterdir()) == []
    shutil.rmtree(tmp_path / "config")
