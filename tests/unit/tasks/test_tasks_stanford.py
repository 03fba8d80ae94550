"""The Stanford segmenter: a stand-in on the PATH that takes the command line of the real one, and its absence."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from mdnmt.config.task import TaskConfig, load_task
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.task_corpora import corpora_of
from mdnmt.errors import ConfigError, DataError
from mdnmt.studies.resolve import resolve
from mdnmt.tasks.build import build_task
from mdnmt.tasks.segmentation.segmenter import Segmenter
from mdnmt.tasks.task_spec import task_spec
from mdnmt.tasks.text import stanford_segmenter
from mdnmt.tasks.text.tokenise import detokenise, tokenise, tokenise_lines

CONFIG = Path(__file__).parents[3] / "config"
# Cuts after every second character, tells of itself on standard error, and counts how often it was started.
JAVA = f"""#!{sys.executable}
import pathlib, sys
words = sys.argv[1:]
of = lambda name: words[words.index(name) + 1]
folder = pathlib.Path(of("-cp").removesuffix("/*"))
with open(folder / "started", "a") as log:
    log.write(" ".join(words) + "\\n")
assert "edu.stanford.nlp.ie.crf.CRFClassifier" in words and of("-inputEncoding") == "UTF-8"
for name in ("-loadClassifier", "-serDictionary"):
    assert pathlib.Path(of(name)).is_file(), name
assert pathlib.Path(of("-sighanCorporaDict")) == folder / "data"
print("Loading Chinese dictionaries", file=sys.stderr)
lines = pathlib.Path(of("-textFile")).read_text(encoding="utf-8").splitlines()
FAULT
for line in lines:
    bare = line.replace(" ", "")
    sys.stdout.buffer.write((" ".join(bare[at:at + 2] for at in range(0, len(bare), 2)) + " \\n").encode())
"""


class Place:
    """A folder with a segmenter, and a `java` on the PATH."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.bin = root / "segmenter", root / "bin"
        (self.folder / "data").mkdir(parents=True)
        for name in ("data/ctb.gz", "data/dict-chris6.ser.gz", "stanford-segmenter-4.2.0.jar"):
            (self.folder / name).write_bytes(name.encode())
        self.bin.mkdir()
        self.java()
        monkeypatch.setenv("PATH", f"{self.bin}{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv(stanford_segmenter.VARIABLE, str(self.folder))

    def java(self, fault: str = "") -> None:
        path = self.bin / "java"
        path.write_text(JAVA.replace("FAULT", fault))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    @property
    def starts(self) -> int:
        log = self.folder / "started"
        return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


def test_many_lines_take_one_process(place: Place) -> None:
    found = tokenise_lines(("zh", "stanford", ["这是一个法律文件", "法院", *["判决书"] * 500]))
    assert found == ["这是 一个 法律 文件", "法院", *["判决 书"] * 500]
    assert place.starts == 1
    assert tokenise("这是一个", "zh", "stanford") == ["这是", "一个"]
    assert detokenise("这是 一个", "zh", "stanford") == "这是一个"


def test_blank_lines_stay_where_they_are_and_no_text_starts_nothing(place: Place) -> None:
    assert stanford_segmenter.segment(["", "法院法", " "]) == ["", "法院 法 ", " "]
    assert place.starts == 1
    assert stanford_segmenter.segment(["", " "]) == ["", " "]
    assert place.starts == 1


def test_a_word_never_ends_like_a_piece(place: Place) -> None:
    assert all(not word.endswith("@@") for word in tokenise("法@@院", "zh", "stanford"))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("lines.append('x')", "gave 4 lines for 3; expected one for each"),
        ("del lines[1:]", "gave 1 lines for 3"),
        (
            "sys.exit('OutOfMemoryError: Java heap space')",
            "java ended with status 1: OutOfMemoryError: Java heap space",
        ),
        ("sys.exit(9)", "java ended with status 9: Loading Chinese dictionaries"),
        ("sys.stdout.buffer.write(b'\\xff')", "byte 0 of what it gave is not UTF-8"),
    ],
)
def test_what_goes_wrong_is_told_in_one_line(place: Place, fault: str, said: str) -> None:
    place.java(fault)
    with pytest.raises(DataError) as caught:
        stanford_segmenter.segment(["一", "二", "三"])
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_lacking_is_named_with_what_to_get(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stanford_segmenter.why_missing() is None
    monkeypatch.setenv("PATH", "/nowhere")
    assert stanford_segmenter.why_missing() == (
        "needs the Stanford segmenter: no `java` is on the PATH to run it; install a Java runtime"
    )
    (place.folder / "stanford-segmenter-4.2.0.jar").rename(place.folder / "stanford-segmenter-4.2.0-sources.jar")
    assert "has no .jar; get the zip from https://nlp.stanford.edu" in (stanford_segmenter.why_missing() or "")
    (place.folder / "data/ctb.gz").unlink()
    reason = stanford_segmenter.why_missing() or ""
    assert reason.startswith(f"needs the Stanford segmenter: {place.folder} has no data/ctb.gz; get the zip")
    assert "unpack it as resources/stanford-segmenter" in reason and "\n" not in reason
    with pytest.raises(ConfigError, match=r"has no data/ctb\.gz"):
        Segmenter(None, "zh", "stanford").encode("法院")


def test_another_model_or_program_is_another_identity(place: Place, tmp_path: Path) -> None:
    found = [stanford_segmenter.identity(ChecksumCache(tmp_path / "a.json"))]
    for name in ("data/ctb.gz", "data/dict-chris6.ser.gz", "stanford-segmenter-4.2.0.jar"):
        (place.folder / name).write_bytes(b"another one")
        found.append(stanford_segmenter.identity(ChecksumCache(tmp_path / "a.json")))
    assert len(set(found)) == 4


def task(config: Path, name: str, **changes: Any) -> TaskConfig:
    (config / "tasks").mkdir(parents=True, exist_ok=True)
    value = {
        "title": name,
        "source_lang": "zh",
        "target_lang": "en",
        "domains": {"law": {"folder": str(config.parent / "text"), "valid": 1, "test": 1}},
        **changes,
    }
    (config / "tasks" / f"{name}.yaml").write_text(yaml.safe_dump(value))
    return load_task(config, name)


STANFORD = {"tokenizers": {"zh": "stanford"}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"segmentation": {"tokenizer": "stanford"}}, "stanford is for Chinese only"),
        ({"segmentation": STANFORD, "cleaning": {"recipe": "jiang-ted"}}, "tokens is not counted with stanford"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        task(tmp_path / "config", "zh", **changes)


def test_a_study_goes_on_without_it(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    (tmp_path / "text").mkdir()
    for lang, line in (("zh", "法院"), ("en", "court")):
        (tmp_path / "text" / f"a.{lang}").write_text(f"{line}\n")
    task(config, "cut", segmentation=STANFORD)
    task(config, "plain", segmentation={"tokenizers": {"zh": "character"}})
    for kind in ("methods", "studies"):
        (config / kind).mkdir()
    (config / "methods" / "mixed.yaml").write_text("label: Mixed\nbuilder: transformer\n")
    study = {"title": "x", "description": "x", "tasks": ["cut", "plain"], "methods": ["mixed"]}
    (config / "studies" / "x.yaml").write_text(yaml.safe_dump(study))
    whole = resolve(config, "x", tmp_path / "corpora")
    assert [one.missing for one in whole.tasks.values()] == [None, None]
    monkeypatch.setenv(stanford_segmenter.VARIABLE, str(tmp_path / "nowhere"))
    rest = resolve(config, "x", tmp_path / "corpora")
    assert (rest.tasks["cut"].missing or "").startswith("needs the Stanford segmenter: ")
    assert rest.tasks["plain"].fingerprint == whole.tasks["plain"].fingerprint
    assert {run.task for run in rest.makeable()} == {"plain"}


def test_the_segmenter_enters_the_fingerprint_of_its_tasks_alone(place: Place, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    for lang in ("zh", "en"):
        (tmp_path / "text" / f"a.{lang}").write_text("x\n")

    def fingerprint(name: str, **changes: Any) -> str:
        found = task(tmp_path / "config", name, **changes)
        return task_spec(name, found, corpora_of(tmp_path, found), tmp_path / "cache.json").fingerprint

    before = fingerprint("cut", segmentation=STANFORD), fingerprint("plain")
    (place.folder / "data/ctb.gz").write_bytes(b"another model")
    after = fingerprint("cut", segmentation=STANFORD), fingerprint("plain")
    assert before[0] != after[0] and before[1] == after[1]


def test_a_task_is_made_with_a_process_for_each_chunk_of_lines(place: Place, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    signs = "法院判决书文件律师原告被"
    chinese = [f"{signs[n % 12]}{signs[n * 5 % 12]}{signs[n // 12 % 12]}一" for n in range(60)]
    for lang, lines in (("zh", chinese), ("en", [f"court number {n}" for n in range(60)])):
        (tmp_path / "text" / f"a.{lang}").write_text("".join(f"{line}\n" for line in lines))
    found = task(
        tmp_path / "config", "cut", segmentation={**STANFORD, "bpe": "none"}, cleaning={"max_length_ratio": None}
    )
    corpora = corpora_of(tmp_path, found)
    for name, corpus in corpora.items():
        fetch(fetch_spec(name, corpus, tmp_path / "cache.json"), tmp_path / "corpora" / name)
    spec = task_spec("cut", found, corpora, tmp_path / "cache.json")
    build_task(spec, tmp_path / "corpora", tmp_path / "out")
    assert 1 <= place.starts <= 3  # one of training, validation and test text
    words = (tmp_path / "out" / "vocab.zh.txt").read_text(encoding="utf-8").split()
    assert f"{chinese[3][:2]}" in words and chinese[3] not in words
    # What translates later cuts alike.
    assert Segmenter.load(tmp_path / "out", "zh").encode("法院判决") == ["法院", "判决"]
