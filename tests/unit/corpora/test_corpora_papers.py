"""Each corpus of the papers as its own file has it, from the address to the pairs, out of archives of its layout."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from loopback import Site, serving
from missing_corpora import why_any_missing
from reader_archives import read_whole, tgz, zipped

from mdnmt.config.corpus import load_corpus
from mdnmt.config.corpus_source import HOSTS, WebFile
from mdnmt.corpora.availability import why_lost
from mdnmt.corpora.corpus_lock import OWN_LOCK, read_lock
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch_by_name import fetch_by_name
from mdnmt.errors import FetchError

CONFIG = Path(__file__).parents[3] / "config"
SPLITS = ("train", "valid", "test")
IT = ["GNOME", "KDE4", "PHP", "Ubuntu", "OpenOffice"]

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


def opus(name: str, pair: str = "en-fr", *words: str) -> dict[str, str]:
    members = {
        f"{name}.{pair}.{lang}": "".join(f"{word} {lang}\n" for word in words or ("Bank", "Rate"))
        for lang in pair.split("-")
    }
    return {**members, f"{name}.{pair}.ids": "x\ny\n", "README": "OPUS", "LICENSE": "as its source"}


def packed(path: Path, members: Mapping[str, bytes]) -> Path:
    """Write one text as a packed file."""
    (text,) = members.values()
    path.write_bytes(gzip.compress(text))
    return path


TITLES = """lang,doc_id,workshop,publisher,source_text,target_text
en-fr,26839447,WMT'16,pubmed,"Global Health: ""Where"" do, en",Santé fr
en-pt,1,WMT'16,pubmed,no,nothing
en-fr,26839446,WMT'16,pubmed,Carabin en,Les carabins fr
"""


def phan(domain: str, *splits: str) -> dict[str, dict[str, str] | str]:
    return {f"{split}.{lang}": f"{domain} {split} {lang}\n" for split in splits or SPLITS for lang in ("en", "de")}


@dataclass
class Case:
    members: Mapping[str, Any]  # of the one file; or file -> its members, or its text
    train: list[str]  # of the first language, and likewise of the second
    held_out: dict[str, list[str]] = field(default_factory=dict)
    pack: Any = tgz

    def served(self, sources: list[dict[str, Any]], folder: Path) -> list[bytes]:
        """Return the files of a corpus in the order of its sources."""
        if len(sources) == 1:
            members = {key: text.encode() for key, text in self.members.items()}
            return [self.pack(folder / "served", members).read_bytes()]
        assert len(self.members) == len(sources)
        return [
            value.encode()
            if isinstance(value, str)
            else self.pack(folder / "served", {key: text.encode() for key, text in value.items()}).read_bytes()
            for value in self.members.values()
        ]


TALKS_17 = Case({}, ["One", "Two"], {"valid": ["TED.dev2010"], "test": ["TED.tst2015"]})
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
    "opus-emea-de-en": Case(opus("EMEA", "de-en"), ["Bank", "Rate"], pack=zipped),
    "opus-jrc-acquis-de-en": Case(opus("JRC-Acquis", "de-en"), ["Bank", "Rate"], pack=zipped),
    "opus-tanzil-de-en": Case(opus("Tanzil", "de-en"), ["Bank", "Rate"], pack=zipped),
    "opus-opensubtitles-de-en": Case(opus("OpenSubtitles", "de-en"), ["Bank", "Rate"], pack=zipped),
    "opus-it-de-en": Case({name: opus(name, "de-en", name) for name in IT}, IT, pack=zipped),
    "medline-titles-en-fr": Case({"WMT16.csv.gz": TITLES}, [], pack=packed),
    "phan-news-en-de": Case(phan("news"), ["news train"], {"valid": ["news valid"], "test": ["news test"]}),
    "phan-ted-en-de": Case(phan("ted"), ["ted train"], {"valid": ["ted valid"], "test": ["ted test"]}),
    "phan-news-small-en-de": Case(phan("news", "valid", "test"), ["news valid", "news test"]),
    "phan-ted-small-en-de": Case(phan("ted", "valid", "test"), ["ted valid", "ted test"]),
    "multi30k-en-de": Case(
        {
            f"{split}.{lang}.gz": {split: f"{split} {lang}\nmore {lang}\n"}
            for split in ("train", "val", "test_2016_flickr")
            for lang in ("en", "de")
        },
        ["train", "more"],
        {"valid": ["val", "more"], "test": ["test_2016_flickr", "more"]},
        pack=packed,
    ),
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
UNPINNED |= {"opus-jrc-acquis-de-en", "phan-news-en-de", "phan-ted-en-de", "multi30k-en-de"}


def test_every_corpus_of_the_web_is_tried() -> None:
    names = {path.stem for path in (CONFIG / "corpora").glob("*.yaml")}
    assert {name for name in names if isinstance(load_corpus(CONFIG, name).source, WebFile)} == set(CASES)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Site, str]]:
    monkeypatch.setenv("no_proxy", "*")
    with serving() as (site, address):
        yield site, address.removesuffix("/file")


def settle(root: Path, name: str, host: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Copy a corpus' file with its addresses on loopback and the facts of our small files; return them by their paths.

    Names of OPUS, the hub and git lead to the host that `HOSTS` says.
    """
    for place in HOSTS:
        monkeypatch.setitem(HOSTS, place, host)
    value = yaml.safe_load((CONFIG / "corpora" / f"{name}.yaml").read_text())
    sources = [value["source"], *value.get("more_sources", [])]
    served = CASES[name].served(sources, root)
    for source, data in zip(sources, served, strict=True):
        if "urls" in source:
            source["urls"] = [host + urlsplit(url).path for url in source["urls"]]
        # What others documented of the real files, once more of ours; some have no more than a first download.
        for key, fact in (("sha256", hashlib.sha256(data).hexdigest()), ("size_bytes", len(data))):
            if key in source:
                source[key] = fact
        if "md5" in source:
            source["md5"] = hashlib.md5(data, usedforsecurity=False).hexdigest()
    if "pairs" in value:
        value["pairs"] = len(CASES[name].train) or 2
    (root / "config" / "corpora").mkdir(parents=True)
    (root / "config" / "corpora" / f"{name}.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    corpus = load_corpus(root / "config", name)
    addresses = [source.urls for source in (corpus.source, *corpus.more_sources)]  # type: ignore[union-attr]
    return {urlsplit(urls[0]).path: data for urls, data in zip(addresses, served, strict=True)}


def sides(pairs: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [one.strip() for one, _ in pairs], [other.strip() for _, other in pairs]


@pytest.mark.parametrize("name", CASES)
def test_from_the_address_to_the_pairs(
    web: tuple[Site, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (site, host), case = web, CASES[name]
    site.files |= (files := settle(tmp_path, name, host, monkeypatch))
    config, corpora = tmp_path / "config", tmp_path / "resources" / "corpora"
    corpus = load_corpus(config, name)
    reason = why_any_missing({name: corpus}, corpora)
    assert (reason is None) == (name not in UNPINNED) and "mdnmt fetch " + name in (reason or "mdnmt fetch " + name)
    rows = fetch_by_name(config, name, corpora)
    found = {row.origin: row.sha256 for row in rows.values()}
    assert found == {host + path: hashlib.sha256(data).hexdigest() for path, data in files.items()}
    whole = fetch_spec(name, corpus, corpora / "sha256.json", read_lock(config))
    assert why_lost(whole, corpora / name) == ""
    spec = whole.corpus
    if name == "medline-titles-en-fr":
        text = read_whole(spec, corpora / name, "en", "fr")
        pairs = [('Global Health: "Where" do, en', "Santé fr"), ("Carabin en", "Les carabins fr")]
        assert text == {"train": pairs}
        return
    one, other = corpus.languages[:2]
    for langs in ((one, other), (other, one)):
        text = read_whole(spec, corpora / name, *langs)
        wanted = {"train": case.train, **case.held_out}
        assert text.keys() == wanted.keys()
        for split, words in wanted.items():
            expected = tuple([f"{word} {lang}" if word else "" for word in words] for lang in langs)
            assert sides(text[split]) == expected


@pytest.mark.parametrize("name", ["europarl-v7-de-en", "iwslt14-de-en", "opus-it-de-en", "multi30k-en-de"])
@pytest.mark.parametrize("fault", ["404", "503", "half an archive", "a page to log in"])
def test_nothing_is_left_and_nothing_recorded_of_what_cannot_be_had(
    web: tuple[Site, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: str
) -> None:
    monkeypatch.setattr("mdnmt.corpora.providers.http.PAUSES_S", (0.0,))
    site, host = web
    for path, data in settle(tmp_path, name, host, monkeypatch).items():
        half = {"half an archive": data[: len(data) // 2], "a page to log in": b"<html>please log in</html>"}
        if fault in half:
            site.files[path] = half[fault]
    site.statuses = [int(fault)] * 50 if not site.files else []
    with pytest.raises(FetchError) as caught:
        fetch_by_name(tmp_path / "config", name, tmp_path / "corpora")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "config" / OWN_LOCK).exists()
    assert list((tmp_path / "corpora" / name).iterdir()) == []
    shutil.rmtree(tmp_path / "config")
