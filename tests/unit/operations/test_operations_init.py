"""`mdnmt init`: from folders of text to a task and a study that load, are checked and planned."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from mdnmt.cli import main
from mdnmt.config.study import load_study
from mdnmt.config.task import TaskConfig, load_task
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.task_corpora import check_own
from mdnmt.errors import ConfigError
from mdnmt.operations.init.find_text import FoundDomain, domain_name, find_domains
from mdnmt.operations.init.write_study import METHODS, check_amount, held_out, size_for, write_new
from mdnmt.studies.resolve import resolve


def text(path: Path, lines: int, word: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = "".join(f"{word} number {n} of the {word} text\n" for n in range(lines))
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content, encoding="utf-8")


def pair(folder: Path, stem: str, lines: int, langs: tuple[str, str] = ("en", "fr"), end: str = "") -> None:
    for lang in langs:
        text(folder / f"{stem}.{lang}{end}", lines, f"{folder.name}{stem}{lang}")


def found(*paths: Path) -> tuple[list[tuple[str, str, int]], tuple[str, ...]]:
    domains, languages = find_domains(paths)
    return [(one.name, one.key, one.pairs) for one in domains], languages


def test_a_folder_of_folders_is_a_domain_each(tmp_path: Path) -> None:
    pair(tmp_path / "texts/Law & Acts", "train", 30)
    pair(tmp_path / "texts/news", "a", 10)
    pair(tmp_path / "texts/news", "b", 5, end=".gz")
    pair(tmp_path / "texts/news", "valid", 3)
    (tmp_path / "texts/empty").mkdir()
    (tmp_path / "texts/news/README.md").write_text("about\n")
    domains, languages = find_domains([tmp_path / "texts"])
    assert languages == ("en", "fr")
    assert [(one.name, one.pairs, one.has_valid, one.test_pairs) for one in domains] == [
        ("law-acts", 30, False, 0),
        ("news", 15, True, 0),
    ]


def test_validation_text_is_the_text_where_there_is_no_other(tmp_path: Path) -> None:
    pair(tmp_path / "law", "valid", 300)
    pair(tmp_path / "law", "test", 20)
    pair(tmp_path / "news", "train", 10)
    pair(tmp_path / "news", "test", 7)
    [law, news] = find_domains([tmp_path])[0]
    assert (law.key, law.path, law.pairs, law.test_pairs) == ("files", tmp_path / "law/valid", 300, 0)
    assert "there is no train" in law.remark and not news.remark
    assert (news.key, news.pairs, news.test_pairs) == ("folder", 10, 7)


def test_a_folder_of_many_files_is_read_in_time_proportional_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[str] = []
    names = Folder.names

    def counted(self: Folder) -> list[str]:
        listed.append(self.label)
        return names(self)

    monkeypatch.setattr(Folder, "names", counted)
    (tmp_path / "other").mkdir()
    pair(tmp_path / "other", "train", 2)
    for number in range(40):
        pair(tmp_path / "law", f"part{number}", 2)
    domains, _ = find_domains([tmp_path / "law", tmp_path / "other"])
    assert domains[0].pairs == 80
    assert len(listed) < 30, "the folder is listed again for each file"


def test_one_folder_with_files_of_several_names_is_a_domain_per_name(tmp_path: Path) -> None:
    pair(tmp_path, "law", 7)
    pair(tmp_path, "news", 9)
    assert found(tmp_path) == ([("law", "files", 7), ("news", "files", 9)], ("en", "fr"))
    other = tmp_path.parent / f"{tmp_path.name}-talks"
    pair(other, "train", 4)
    names = [one[1] for one in found(tmp_path, other)[0]]
    assert names == ["folder", "folder"], "of several folders, each is one domain"


def test_tables_and_memories_are_counted_and_need_their_languages(tmp_path: Path) -> None:
    (tmp_path / "law").mkdir()
    (tmp_path / "law/acts.tsv").write_text("a\tb\nc\td")
    assert found(tmp_path)[1] == ()
    domains, _ = find_domains([tmp_path], ("en", "fr"))
    assert [(one.key, one.pairs, one.reader) for one in domains] == [("folder", 2, None)]
    units = '<tu><tuv xml:lang="en-US"><seg>a</seg></tuv><tuv xml:lang="fr"><seg>b</seg></tuv></tu>' * 5
    memory = f'<?xml version="1.0" encoding="utf-16"?><tmx version="1.4"><body>{units}</body></tmx>'
    (tmp_path / "law/acts.tsv").unlink()
    (tmp_path / "law/acts.tmx").write_bytes(memory.encode("utf-16"))
    assert found(tmp_path) == ([("law", "folder", 5)], ("en", "fr"))


LINES = ["un", "deux", "trois"]


def test_a_test_set_with_source_and_reference_in_both_languages_is_one_domain(tmp_path: Path) -> None:
    for name in ("wmt14-fren-src.en", "wmt14-fren-ref.fr", "wmt14-fren-src.fr", "wmt14-fren-ref.en"):
        (tmp_path / name).write_text("\n".join(LINES) + "\n")
    assert [one.name for one in find_domains([tmp_path])[0]] == ["wmt14-fren-src"]
    for lang in ("en", "fr"):  # of another length, thus another text
        (tmp_path / f"wmt14-fren-ref.{lang}").write_text("un\n")
    assert len(find_domains([tmp_path])[0]) == 2


@pytest.mark.parametrize(
    ("files", "reader"),
    [
        ({"acts.en.txt": LINES, "acts.fr.txt": LINES}, None),
        ({"ACTS.EN": LINES, "ACTS.FR": LINES}, None),
        ({"v1.2.acts.en": LINES, "v1.2.acts.fr": LINES, "notes.txt": ["x"]}, None),
        ({"newstest2014-fren-src.en": LINES, "newstest2014-fren-ref.fr": LINES}, None),
        (
            {"law.en-fr.en": LINES, "law.en-fr.fr": LINES, "law.en-fr.xml": ["x"], "README": ["x"], "LICENSE": [""]},
            None,
        ),
        (
            {"acts.csv": ["English,French", *(f'"{line}, ""a""",b' for line in LINES)]},
            {"separator": "comma", "header": True},
        ),
        ({"acts.csv": ["en;fr", *(f"{line};b" for line in LINES)]}, {"separator": "semicolon", "header": True}),
        ({"a.tsv": ["English\tFrench", *(f'"{line} ""a"""\tb' for line in LINES)]}, {"quotes": True, "header": True}),
        # A quotation mark at the beginning of a text is no quote of the table where the other cells have none.
        ({"a.tsv": ["en\tfr", 'x ""y""\tb', '"No ""x"""\tb', '"Go!" he said\tb']}, {"quotes": False, "header": True}),
        # Tatoeba: number, text, number, text.
        (
            {"a.tsv": ["id\tEnglish\tid2\tFrench", *(f"{n}\ta{n}\t9{n}\tb{n}" for n in range(3))]},
            {"columns": {"en": "English", "fr": "French"}},
        ),
    ],
)
def test_the_names_and_tables_that_people_have_are_read(
    tmp_path: Path, files: dict[str, list[str]], reader: dict[str, Any] | None
) -> None:
    (tmp_path / "law").mkdir()
    for end in ("\n", "\r\n", "\r"):
        for name, lines in files.items():
            (tmp_path / "law" / name).write_bytes("".join(line + end for line in lines).encode())
        [domain], languages = find_domains([tmp_path])
        assert (domain.name, domain.pairs, languages) == ("law", 3, ("en", "fr"))
        options = None if domain.reader is None else domain.reader.model_dump()
        assert options == (None if reader is None else {**(options or {}), **reader})
        value = {"valid": 1, "test": 1, domain.key: str(domain.path)}
        value |= {} if domain.reader is None else {"reader": domain.reader}
        task = {"title": "x", "source_lang": "en", "target_lang": "fr", "domains": {"law": value}}
        check_own(TaskConfig.model_validate(task))


@pytest.mark.parametrize(
    ("file", "data", "pairs", "columns"),
    [
        ("a.tsv", "".join(f"{n}\ta{n}\t9{n}\tb{n}\n" for n in range(9)).encode(), 9, {"en": 2, "fr": 4}),
        ("a.tsv", "".join(f"http://a.b/{n}\t0.{n}\ta{n}\tb{n}\tx\n" for n in range(9)).encode(), 9, {"en": 3, "fr": 4}),
        ("a.csv", "1;a\n2;été\n".encode("cp1252"), 2, {"en": 1, "fr": 2}),  # the doctor says in which encoding it is
    ],
)
def test_columns_of_text_are_found_and_a_table_that_cannot_be_read_goes_to_the_doctor(
    tmp_path: Path, file: str, data: bytes, pairs: int, columns: dict[str, int]
) -> None:
    (tmp_path / file).write_bytes(data)
    [domain], _ = find_domains([tmp_path], ("en", "fr"))
    assert domain.pairs == pairs and domain.reader is not None and domain.reader.columns == columns


@pytest.mark.parametrize(
    ("files", "message"),
    [
        # A format that is not read is named with what to do.
        (["law/fr.po"], "po2tmx"),
        (["law/newstest2014-fren-src.en.sgm"], "sacrebleu"),
        (["law/en-fr.txt.zip"], "unpack it there"),
        (["law/english.txt"], "does not say its language"),
        (["law/acts.xlsx"], "save it as a table"),
        ([], "found no parallel text; expected files like law.en and law.fr"),
        (["law/a.en"], "has a.en, but no a in another language"),
        (["law/a.en", "law/a.fr", "law/a.de"], "found the languages de, en, fr, expected two"),
        (["law/a.en", "law/a.fr", "news/a.en", "news/a.de"], "found the languages en, expected two"),
        (["Law/a.en", "Law/a.fr", "law_/a.en", "law_/a.fr"], "both would be the domain 'law'"),
        (["1/a.en", "1/a.fr"], "gives no name for a domain"),
    ],
)
def test_text_that_is_not_clear_is_refused_in_one_line(tmp_path: Path, files: list[str], message: str) -> None:
    for name in files:
        text(tmp_path / name, 2, "x")
    with pytest.raises(ConfigError) as caught:
        find_domains([tmp_path])
    assert message in str(caught.value) and "\n" not in str(caught.value)
    if len(files) == 1:
        assert files[0].partition("/")[2] in str(caught.value)


def test_sizes_follow_text_and_machine() -> None:
    assert [held_out(pairs) for pairs in (200, 3010, 10**7)] == [50, 150, 1000]
    assert size_for(10**6, on_gpu=False).model["model_dim"] == 128
    assert [size_for(pairs, on_gpu=True).model["model_dim"] for pairs in (10**5, 10**6)] == [256, 512]
    assert domain_name("avg") == "avg-text"
    with pytest.raises(ConfigError, match="found 199 pairs, expected 200 or more"):
        check_amount([FoundDomain("law", "folder", Path("law"), 199)])


def test_nothing_is_overwritten_and_all_files_come_or_none(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("mine")
    with pytest.raises(ConfigError, match=r"b\.yaml is there already"):
        write_new({tmp_path / "a.yaml": "x", tmp_path / "b.yaml": "y"})
    assert not (tmp_path / "a.yaml").exists() and (tmp_path / "b.yaml").read_text() == "mine"
    with pytest.raises(FileExistsError):
        write_new({tmp_path / "c.yaml": "x", tmp_path / "b.yaml" / "d.yaml": "y"})
    assert not (tmp_path / "c.yaml").exists()


def test_files_name_their_schema_where_there_is_one(tmp_path: Path) -> None:
    first = "# yaml-language-server: $schema=../schema/task.json\n"
    for name, expected in (("a", "title: T\n"), ("b", f"{first}title: T\n")):
        write_new({tmp_path / "tasks" / f"{name}.yaml": f"{first}title: T\n"})
        assert (tmp_path / "tasks" / f"{name}.yaml").read_text() == expected
        (tmp_path / "schema").mkdir(exist_ok=True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # nothing is the user's own yet; all else comes from the package
    return tmp_path


@pytest.mark.slow
def test_two_folders_become_a_study_with_one_command(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair(project / "texts/law", "train", 400, ("fr", "no"))
    pair(project / "texts/news", "train", 300, ("fr", "no"), end=".gz")
    pair(project / "texts/news", "test", 20, ("fr", "no"))
    assert main(["init", "texts/law", "texts/news", "--yes", "--from", "no", "--name", "two-folders"]) == 0
    out = capsys.readouterr().out
    assert "no to fr, 2 domains" in out and "about 300 pairs to train on" in out and "7 runs (1 task, 1 seed)" in out
    assert "mdnmt run two-folders" in out
    task, study = load_task(Path("config"), "two-folders"), load_study(Path("config"), "two-folders")
    assert (task.source_lang, task.target_lang, list(task.domains)) == ("no", "fr", ["law", "news"])
    assert [task.domains[name].test for name in ("law", "news")] == [50, None]
    assert study.methods == METHODS
    runs = resolve(Path("config"), "two-folders", Path("resources/corpora")).makeable()
    assert list(dict.fromkeys(run.method for run in runs)) == list(METHODS)
    assert all(key.startswith("mdnmt-") for key in (*study.tables, *study.figures)), "nothing is a paper's"
    started = next(run for run in runs if run.method == "finetuned")
    mixed = next(run for run in runs if run.method == "mixed")
    assert started.spec is not None and mixed.spec is not None
    assert started.spec.initial_run == mixed.fingerprint
    assert started.spec.training.max_updates < mixed.spec.training.max_updates
    assert started.spec.training.learning_rate < mixed.spec.training.learning_rate
    assert main(["init", "texts", "--yes", "--from", "no", "--name", "two-folders"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["init", "texts", "--yes", "--from", "no", "--name", "demo"]) == 2
    assert "mdnmt has 'demo' in studies already" in capsys.readouterr().err
    assert sorted(path.name for path in project.glob("config/*/*")) == ["two-folders.yaml"] * 2


def test_chinese_gets_words_and_vocabularies_of_its_own(project: Path) -> None:
    pair(project / "texts/law", "train", 250, ("en", "zh"))
    assert main(["init", "texts", "--yes", "--to", "zh", "--methods", "mixed", "waldm-edc", "mixed"]) == 0
    task, study = load_task(Path("config"), "mine"), load_study(Path("config"), "mine")
    assert task.segmentation.tokenizer == "reversible" and not task.vocabulary.joint
    assert study.methods == ("mixed", "waldm-edc") and resolve(Path("config"), "mine", Path("corpora")).makeable()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "letters", "limit"),
    [
        ("zh", "的一是不了人我在有他这中大来上国个到说们", 100),
        ("ja", "あいうえおかきくけこさしすせそたちつてと", 200),
        ("tha", "กขคงจฉชซฌญฎฏฐฑฒณดตถท", 400),
        ("km", "កខគឃងចឆជឈញដឋឌឍណតថទធន", 400),
    ],
)
def test_text_without_spaces_keeps_its_pairs(
    project: Path, capsys: pytest.CaptureFixture[str], lang: str, letters: str, limit: int
) -> None:
    pair(project / "texts/law", "train", 250, ("en", lang))
    path = project / f"texts/law/train.{lang}"
    lines = path.read_text().splitlines()
    path.write_text("".join("".join(letters[ord(c) % 20] for c in line[::2] if c != " ") + "\n" for line in lines))
    assert main(["init", "texts", "--yes", "--from", "en", "--methods", "mixed"]) == 0
    out = capsys.readouterr().out
    assert "250 kept by the cleaning" in out and "mine: nothing to fix" in out
    task = load_task(Path("config"), "mine")
    assert (task.cleaning.unit, task.cleaning.max_tokens) == ("tokens", limit)


def test_codes_with_script_and_region_are_languages(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair(project / "texts/law", "train", 250, ("eng", "pt-BR"))
    assert main(["init", "texts", "--yes", "--from", "eng", "--methods", "mixed"]) == 0
    task = load_task(Path("config"), "mine")
    assert (task.source_lang, task.target_lang, task.pair) == ("eng", "pt-BR", "ENG-PT-BR")
    assert "nothing to fix" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent"], "absent: no such folder"),
        (["texts", "--from", "de"], "none in 'de'"),
        (["texts", "--to", "en", "--from", "en"], "cannot translate from 'en' to 'en'"),
        (["texts", "--methods", "dsa"], "found no `mixed`"),
        (["texts", "--methods", "mixd"], "mixd"),
        (["texts", "--name", "My Study"], "found 'My Study', expected 1 to 80 lower-case letters"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    pair(project / "texts/law", "train", 250)
    before = sorted(project.rglob("*.yaml"))
    assert main(["init", *arguments, "--yes"]) == 2
    err = capsys.readouterr().err.strip()
    assert message in err and "\n" not in err
    assert sorted(project.rglob("*.yaml")) == before


def test_without_a_terminal_nothing_is_written_unless_defaults_are_accepted(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair(project / "texts/law", "train", 250)
    before = sorted(project.rglob("*"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    assert main(["init", "texts", "--from", "en"]) == 2
    assert "--yes" in capsys.readouterr().err and sorted(project.rglob("*")) == before


def test_text_with_errors_leaves_nothing_behind(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair(project / "texts/law", "train", 250)
    with (project / "texts/law/train.fr").open("a") as file:
        file.write("one line more\n")
    before = sorted(project.rglob("*.yaml"))
    assert main(["init", "texts", "--yes", "--from", "en"]) == 2
    assert "doctor found errors" in capsys.readouterr().err and sorted(project.rglob("*.yaml")) == before


@pytest.mark.parametrize(("answer", "limit"), [(None, 2000), ("700", 700), ("all", None)])
def test_a_large_test_set_is_translated_whole_only_if_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch, answer: str | None, limit: int | None
) -> None:
    pair(project / "texts/law", "train", 250)
    pair(project / "texts/law", "test", 2100)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)

    def ask(question: str, default: str) -> str:
        return answer or default if "test sentences" in question else default

    monkeypatch.setattr("rich.prompt.Prompt.ask", ask)
    assert main(["init", "texts", "--from", "en", "--methods", "mixed"]) == 0
    assert load_study(Path("config"), "mine").decoding.max_sentences == limit


def test_questions_are_asked_on_a_terminal_and_answered_by_enter(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pair(project / "texts/law", "train", 250)
    asked: list[str] = []

    def answer(question: str, default: str) -> str:
        asked.append(question)
        return "fr" if question.startswith("Translate from") else default

    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.prompt.Prompt.ask", answer)
    assert main(["init"]) == 0
    assert [question.split()[0] for question in asked] == ["Folders", "Translate", "Methods", "Name"]
    assert load_task(Path("config"), "mine").source_lang == "fr"
    assert "Start it with: mdnmt run mine" in capsys.readouterr().out
