"""npm and apt-get: what they are asked for, what they may bring, and what is told when they are not there."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
from missing_corpora import why_any_missing
from reader_archives import ar, tar_bytes

from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.availability import why_missing
from mdnmt.corpora.corpus_lock import Lock, LockRow
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.errors import FetchError

TEXT = tar_bytes({"package/toy.en-fr.en": b"one\ntwo\n", "package/toy.en-fr.fr": b"un\ndeux\n"}, "w:gz")


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, name: str, body: str) -> None:
    """Put a client on the path: a script that sees its arguments as `asked`."""
    script = folder / name
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\nasked = sys.argv[1:]\n{body}\n")
    script.chmod(0o755)


def corpus(*sources: dict[str, Any], **changes: Any) -> CorpusConfig:
    value = {
        "title": "Toy",
        "languages": ["en", "fr"],
        "source": sources[0],
        "more_sources": list(sources[1:]),
        "reader": {"name": "moses"},
        **changes,
    }
    return CorpusConfig.model_validate(value)


def npm_source(data: bytes = TEXT, **changes: Any) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    source = {"provider": "npm", "package": "@me/toy", "version": "1.0.0", "file": "me-toy-1.0.0.tgz"}
    return {**source, "sha256": digest, "size_bytes": len(data), **changes}


def test_npm_is_asked_for_the_package_alone(bin_folder: Path, tmp_path: Path) -> None:
    note = tmp_path / "asked"
    install(
        bin_folder,
        "npm",
        f"Path({str(note)!r}).write_text(' '.join(asked))\nPath('me-toy-1.0.0.tgz').write_bytes({TEXT!r})",
    )
    one = corpus(npm_source(), pairs=2)
    rows = fetch(fetch_spec("toy", one, tmp_path / "h.json"), tmp_path / "corpora" / "toy")
    assert note.read_text().startswith("pack @me/toy@1.0.0 --pack-destination . --ignore-scripts")
    assert [(row.file, row.origin) for row in rows.values()] == [("me-toy-1.0.0.tgz", "@me/toy@1.0.0")]
    assert {path.name for path in (tmp_path / "corpora" / "toy").iterdir()} == {"me-toy-1.0.0.tgz", "corpus.json"}
    assert {path.name for path in (tmp_path / "corpora").iterdir()} == {"toy"}


def test_a_name_is_never_taken_for_an_option_or_a_path() -> None:
    for package in ("--registry=x", "Upper", "@me", "../x", "a b", ""):
        for source in (npm_source(package=package), {"provider": "apt", "package": package}):
            with pytest.raises(ValueError, match="package"):
                corpus(source)


def test_what_npm_says_is_told_in_one_line(bin_folder: Path, tmp_path: Path) -> None:
    said = "npm error code ETARGET\\nnpm error notarget No matching version\\nnpm error In most cases\\n"
    install(bin_folder, "npm", f"sys.stderr.write('{said}')\nsys.exit(1)")
    spec = fetch_spec("toy", corpus(npm_source()), tmp_path / "h.json")
    with pytest.raises(
        FetchError, match=r"^@me/toy@1\.0\.0: npm could not download it: .*No matching version; check"
    ) as caught:
        fetch(spec, tmp_path / "toy")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body", ["pass", "Path('other.tgz').write_bytes(b'x')", "Path('me-toy-1.0.0.tgz').write_bytes(b'x')"]
)
def test_what_is_not_the_pinned_package_is_not_kept(bin_folder: Path, tmp_path: Path, body: str) -> None:
    install(bin_folder, "npm", body)
    with pytest.raises(FetchError, match=r"npm brought (nothing|other\.tgz)|has 1 bytes, expected"):
        fetch(fetch_spec("toy", corpus(npm_source()), tmp_path / "h.json"), tmp_path / "toy")
    assert list((tmp_path / "toy").iterdir()) == []


APT = "Path(asked[-1].split('=')[0] + '_4%3a1.2+deb12u1_all.deb').write_bytes({data!r})"


def deb(data: bytes) -> bytes:
    return ar(("debian-binary", b"2.0\n"), ("data.tar.gz", data))


def test_apt_brings_the_version_on_offer_under_a_name_without_it(bin_folder: Path, tmp_path: Path) -> None:
    data = deb(TEXT)
    install(
        bin_folder,
        "apt-get",
        f"Path({str(tmp_path / 'asked')!r}).write_text(' '.join(asked))\n" + APT.format(data=data),
    )
    spec = fetch_spec("toy", corpus({"provider": "apt", "package": "toy-l10n"}, pairs=2), tmp_path / "h.json")
    rows = fetch(spec, tmp_path / "toy")
    assert (tmp_path / "asked").read_text() == "download --quiet -- toy-l10n"
    assert (tmp_path / "toy" / "toy-l10n.deb").read_bytes() == data
    assert rows["toy-l10n.deb"].origin == "toy-l10n=4:1.2+deb12u1"
    assert rows["toy-l10n.deb"].sha256 == hashlib.sha256(data).hexdigest()


def test_apt_is_asked_for_the_version_that_was_locked(bin_folder: Path, tmp_path: Path) -> None:
    row = LockRow(
        file="toy-l10n.deb",
        size_bytes=3,
        sha256="0" * 64,
        origin="toy-l10n=4:1.1",
        date="2026-01-01",  # type: ignore[arg-type]
    )
    one = corpus({"provider": "apt", "package": "toy-l10n"})
    install(
        bin_folder,
        "apt-get",
        f"Path({str(tmp_path / 'asked')!r}).write_text(asked[-1])\nsys.exit('E: Version was not found')",
    )
    spec = fetch_spec("toy", one, tmp_path / "h.json", Lock(corpora={"toy": (row,)}))
    assert spec.corpus.files[0].sha256 == "0" * 64
    with pytest.raises(
        FetchError, match="not found; run `apt-get update`, then try again, or, if there is a newer version"
    ):
        fetch(spec, tmp_path / "toy")
    assert (tmp_path / "asked").read_text() == "toy-l10n=4:1.1"


@pytest.mark.parametrize(
    "body", ["pass", "Path('other_1_all.deb').write_bytes(b'')", "Path('toy-l10n.deb').write_bytes(b'')"]
)
def test_apt_must_bring_one_package_of_that_name(bin_folder: Path, tmp_path: Path, body: str) -> None:
    install(bin_folder, "apt-get", body)
    spec = fetch_spec("toy", corpus({"provider": "apt", "package": "toy-l10n"}), tmp_path / "h.json")
    with pytest.raises(FetchError, match=r"expected one \.deb of that name, apt-get brought"):
        fetch(spec, tmp_path / "toy")


def test_of_several_files_those_that_are_known_stay_and_the_manifest_waits_for_all(
    bin_folder: Path, tmp_path: Path
) -> None:
    french = tar_bytes({"toy.en-fr.fr": b"un\ndeux\n"}, "w:gz")
    english = tar_bytes({"toy.en-fr.en": b"one\ntwo\n"}, "w:gz")
    apt = {"provider": "apt", "package": "toy-fr"}
    one = corpus(npm_source(english), apt, pairs=2)
    install(bin_folder, "npm", f"Path('me-toy-1.0.0.tgz').write_bytes({english!r})")
    install(bin_folder, "apt-get", "sys.exit('E: no network')")
    spec, target = fetch_spec("toy", one, tmp_path / "h.json"), tmp_path / "toy"
    with pytest.raises(FetchError, match="E: no network"):
        fetch(spec, target)
    assert [path.name for path in target.iterdir()] == ["me-toy-1.0.0.tgz"]
    install(bin_folder, "npm", "sys.exit('must not be asked again')")
    install(bin_folder, "apt-get", APT.format(data=deb(french)))
    fetch(spec, target)
    assert {path.name for path in target.iterdir()} == {"me-toy-1.0.0.tgz", "toy-fr.deb", "corpus.json"}


def test_a_missing_client_is_named_when_the_dag_is_built(bin_folder: Path, tmp_path: Path) -> None:
    npm, apt = corpus(npm_source()), corpus({"provider": "apt", "package": "toy-l10n"})
    folder = tmp_path / "corpora"
    assert (
        why_missing(npm, folder / "toy") == "needs @me/toy: this machine has no npm to fetch it; it comes with Node.js"
    )
    reason = why_any_missing({"one": apt}, folder)
    assert reason == "needs toy-l10n: this machine has no apt-get to fetch it; it comes with Debian and its relatives"
    install(bin_folder, "apt-get", "")
    assert why_any_missing({"one": apt, "two": apt}, folder) == (
        "needs their first downloads, which will be recorded: `mdnmt fetch one two`"
    )
    install(bin_folder, "npm", f"Path('me-toy-1.0.0.tgz').write_bytes({TEXT!r})")
    assert why_any_missing({"toy": npm}, folder) is None
    fetch(fetch_spec("toy", npm, tmp_path / "h.json"), folder / "toy")
    (bin_folder / "npm").unlink()
    assert why_any_missing({"toy": npm}, folder) is None  # what was fetched needs no client any more


def test_only_files_make_a_corpus_together(tmp_path: Path) -> None:
    local = {"provider": "local", "folder": "x"}
    with pytest.raises(ValueError, match="'local' allows none"):
        corpus(local, npm_source(), reader={"name": "plain"})
    with pytest.raises(ValueError, match="two files have one name"):
        corpus(npm_source(), npm_source())
