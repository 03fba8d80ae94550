"""What comes from outside is shown as text or refused: it is never run, never obeyed, never fetched from."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from exhibit_files import write
from finished import Finished, refused, spec_of
from workflow.snakemake_project import Project, local_corpus

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.task import TaskConfig
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.errors import ConfigError, MdnmtError, printable
from mdnmt.report import contents, report_page
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import task_spec

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "mdnmt").rglob("*.py"))


def bomb(proof: Path) -> bytes:
    """Return a pickle that, opened, makes a file: the proof that code was run."""
    return b"cbuiltins\nopen\n(V" + str(proof).encode() + b"\nVw\ntR."


@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "state.json", "manifest.json"])
def test_a_pickle_in_a_checkpoint_is_not_opened(broken: Finished, tmp_path: Path, name: str) -> None:
    proof = tmp_path / "proof"
    for folder in (broken.run / "ckpt").iterdir():
        (folder / name).write_bytes(bomb(proof))
    with pytest.raises(MdnmtError, match="none of 2 checkpoints is whole"):
        CheckpointStore(broken.run / "ckpt", broken.spec.fingerprint).load_latest()
    assert not proof.exists()
    # Whoever opens it is caught.
    code = f"import pickle; pickle.loads({bomb(proof)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert proof.exists()


def test_a_pickle_in_place_of_weights_is_not_opened(
    broken: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proof, path = tmp_path / "proof", broken.run / "model.safetensors"
    path.write_bytes(bomb(proof))
    refused(capsys, broken.decode(), str(path))
    # A run that starts from another's weights reads them likewise.
    spec = broken.spec.model_copy(update={"initial_run": "0123abcd"})
    places = ["--task", str(broken.task), "--out", str(tmp_path / "new"), "--initial", str(path), "--device", "cpu"]
    refused(capsys, main(["train", "--spec", spec.model_dump_json(), *places]), str(path))
    assert not proof.exists()


def test_a_pickle_among_pretrained_weights_is_not_opened(tmp_path: Path) -> None:
    from mdnmt.extras.pretrained.config import PretrainedConfig
    from mdnmt.extras.pretrained.model import load_pretrained
    from mdnmt.extras.pretrained.toy import make_toy

    proof, folder = tmp_path / "proof", tmp_path / "toy"
    make_toy("mbart50", folder)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(bomb(proof))
    with pytest.raises(MdnmtError, match=r"pytorch_model\.bin: cannot be loaded") as caught:
        load_pretrained(folder, PretrainedConfig())
    assert not proof.exists() and "\n" not in str(caught.value)


def test_only_fetching_can_reach_the_network() -> None:
    # socket: the name of this host (lease), its loopback interface (workers), the page that is served.
    may = {
        "corpora/providers/http.py",
        "train/lease.py",
        "train/launch.py",
        "extras/serve/__init__.py",
        "extras/pretrained/hub.py",
    }
    tools = {"pip", "npm", "apt-get", "curl", "wget", "git"}
    for path in SOURCES:
        name = path.relative_to(ROOT / "src" / "mdnmt").as_posix()
        text = path.read_text()
        reaches = re.findall(
            r"^\s*(?:import|from) (socket|ssl|http|urllib\.request|requests|ftplib|aiohttp)\b", text, re.M
        )
        assert not reaches or name in may, (name, reaches)
        if "subprocess" in text and not name.startswith("corpora/") and name != "provenance.py":
            assert not re.findall(rf"\[\s*\"({'|'.join(tools)})\"", text), name


ESCAPES = "\x1b]0;owned\x07 \x1b[2J\x1b[31mred \x9b31m"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
SHELL = "$(touch hacked) `touch hacked` ; touch hacked | touch hacked & touch hacked > hacked \\ ' \""
TURNED = "left \u202eright\u202c \u2066isolated\u2069 \u200f\u200e mark"
LATEX = "\\input{/etc/passwd} \\write18{touch hacked} %x $x$ _a_ #1 {y} ~^"
HOSTILE = [ESCAPES, MARKUP, SHELL, TURNED, LATEX, "tab\tand\x0bfeeds\x0cand\x85next", "=cmd|'/c calc'!A1"]


def is_plain(text: str) -> bool:
    """Say whether nothing in a text commands a terminal or turns it round."""
    return not any(unicodedata.category(c) in {"Cc", "Cf"} and c not in "\n\t\u200c\u200d" for c in text)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, str]:
    """Return a task, run and test made of hostile lines by the verbs, and all that these printed."""
    root = tmp_path_factory.mktemp("hostile")
    folder = root / "text"
    folder.mkdir()
    words = ["bank", "rate", "price", "growth", "index", "survey", "court", "law", "judge", "order"]
    lines = [f"{words[n % 10]} {HOSTILE[n % len(HOSTILE)]} {words[n % 7]} {n}" for n in range(160)]
    lines[20], lines[40] = "bank " * 200_000, "x" * 1_000_000
    for lang, end in (("en", "e"), ("fr", "f")):
        (folder / f"train.{lang}").write_text("".join(f"{line.replace(chr(10), ' ')} {end}\n" for line in lines))
    corpus = CorpusConfig.model_validate(
        {
            "title": MARKUP,
            "languages": ["en", "fr"],
            "source": {"provider": "local", "folder": str(folder)},
            "reader": {"name": "plain"},
        }
    )
    domain = {"corpora": ["evil"], "train": 100, "valid": 6, "test": 8}
    task = TaskConfig.model_validate(
        {
            "title": MARKUP + ESCAPES,
            "source_lang": "en",
            "target_lang": "fr",
            "domains": {"evil": domain},
            "segmentation": {"bpe_merge_operations": 40},
        }
    )
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        fetch(fetch_spec("evil", corpus, root / "hashes.json"), root / "fetched" / "evil")
        spec = task_spec("evil", task, {"evil": corpus}, root / "hashes.json")
        (root / "task-spec.json").write_text(spec.model_dump_json())
        made = Finished(root, root / "fetched", None)  # type: ignore[arg-type]
        assert made.make_task() == 0, err.getvalue()
        made = Finished(root, root / "fetched", spec_of(root / "task"))
        for verb in (made.train, made.decode, made.score):
            assert verb() == 0, err.getvalue()
    return made, out.getvalue() + err.getvalue()


@pytest.mark.slow
def test_hostile_lines_come_out_as_plain_text_everywhere(hostile: tuple[Finished, str]) -> None:
    made, printed = hostile
    assert is_plain(printed)
    texts = sorted(made.task.rglob("text/*")) + sorted(made.test.glob("hyp.*")) + sorted(made.task.glob("vocab.*"))
    assert len(texts) >= 9
    for path in texts:
        text = path.read_text(encoding="utf-8")
        assert is_plain(text.replace("\n", " ")), path
    assert any("<script>" in path.read_text() for path in texts)  # text is kept as text
    assert len(TaskData.load(made.task).split("test")) == 8
    assert not list(made.root.rglob("hacked")) and not Path("hacked").exists()


def test_hostile_text_in_tables_and_on_the_page_is_text(hostile: tuple[Finished, str], tmp_path: Path) -> None:
    made, _ = hostile
    evil = MARKUP + ESCAPES + SHELL + LATEX
    runs = [{"scores": str(made.test / "scores.json"), "seed": 3}]
    columns = [{"name": "evil", "label": evil}]
    rows = [{"group": evil, "label": evil, "method": "mixed", "runs": runs}]
    table = {"kind": "scores", "title": evil, "columns": columns, "metrics": ["bleu"], "rows": rows, "notes": [evil]}
    formats = {kind: tmp_path / f"table.{kind}" for kind in ("csv", "md", "tex", "html", "json")}
    write(table, *formats.values())
    assert "<script>" not in formats["html"].read_text()
    # In Markdown and LaTeX each sign that commands has a backslash, or a name, before it.
    assert "<script>" not in formats["md"].read_text() and "|\n" in formats["md"].read_text()
    assert "\\input{" not in formats["tex"].read_text() and "\\write18" not in formats["tex"].read_text()
    for kind in ("md", "tex", "html"):
        assert is_plain(formats[kind].read_text()), kind
    systems = [(evil, str(made.test))]
    task = {"name": "t", "label": evil, "directory": str(made.task), "source_lang": "en", "target_lang": "fr",
            "domains": columns, "systems": systems}  # fmt: skip
    item = {"id": "t", "title": evil, "kind": "scores", "data": str(formats["json"])}
    spec = {"study": evil, "title": evil, "tables": [item], "tasks": [task], "missing": [(evil, evil)]}
    html = report_page.render(contents.ReportSpec.model_validate(spec))
    assert is_plain(html)
    assert "<script>alert" not in html and "<img src=x" not in html and "&lt;script&gt;alert" in html
    assert "script-src &#39;sha256-" in html  # and if it came through, the page forbids it to run
    assert not list(tmp_path.rglob("hacked"))


def test_lines_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    # A lone surrogate cannot be written in UTF-8: these bytes pretend to be one.
    for number, bad in enumerate((b"\xed\xa0\x80", b"\xff\xfe", b"caf\xe9", b"nul\0byte")):
        folder = tmp_path / str(number)
        folder.mkdir()
        for lang in ("en", "fr"):
            lines = [b"a line\n"] * 30
            lines[17] = bad + b"\n"
            (folder / f"train.{lang}").write_bytes(b"".join(lines))
        (tmp_path / "config/corpora").mkdir(parents=True, exist_ok=True)
        corpus = CorpusConfig.model_validate(local_corpus("law", str(folder)))
        with pytest.raises(MdnmtError, match=r"train\.en:18: (the byte|has a NUL byte; expected) .*UTF-8") as caught:
            spec = fetch_spec("c", corpus, tmp_path / "hashes.json")
            fetch(spec, tmp_path / "fetched" / "c")
            domain = {"corpora": ["c"], "train": 10, "valid": 2, "test": 2}
            task = TaskConfig.model_validate(
                {"title": "x", "source_lang": "en", "target_lang": "fr", "domains": {"law": domain}}
            )
            made = task_spec("x", task, {"c": corpus}, tmp_path / "hashes.json")
            (tmp_path / "task-spec.json").write_text(made.model_dump_json())
            from mdnmt.tasks.build import build_task

            build_task(made, tmp_path / "fetched", tmp_path / "task")
        assert "\n" not in str(caught.value)


def test_translating_hostile_lines_prints_text(
    whole: Finished, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["translate", "--run", str(whole.run), "--device", "cpu", "--threads", "1", "--beam-size", "1"]
    lines = HOSTILE
    text = "".join(f"bank {line} rate\n" for line in lines)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert is_plain(out) and out.count("\n") == len(lines)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bank\nnul\0byte\n")))
    refused(capsys, main(arguments), "standard input, line 2: contains a NUL character")
    # A million letters are more pieces than the model takes: one line, not a crash.
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bank " * 200_000)))
    refused(capsys, main(arguments), "line 1: has", "pieces, the model takes", "split the line")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n\xed\xa0\x80\n")))
    refused(capsys, main(arguments), "standard input, line 2: not UTF-8")


@pytest.mark.parametrize("text", [ESCAPES, TURNED, "two\nlines", "nul\0", "\ud800", "\u2028"])
def test_errors_show_what_they_name_and_obey_nothing(
    whole: Finished, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert is_plain(printable(text)) and "\n" not in printable(text) and is_plain(str(ConfigError(text)))
    assert printable("Übersetzung 翻译 \u00a0ok") == "Übersetzung 翻译 \u00a0ok"
    line = refused(capsys, main(["translate", "--run", f"{whole.run}/{text.replace(chr(0), '')}"]))
    assert is_plain(line)


def test_names_that_a_shell_would_obey_are_no_names(tmp_path: Path) -> None:
    from mdnmt.config.loader import find_named

    for name in (";rm -rf", "$(id)", "a b", "'", '"', "../up", "a/b", "-option", "a\nb", "\x1b[0m", "", "ä", "A"):
        with pytest.raises(ConfigError, match="a name consists of 1 to 80 lower-case letters, digits and dashes"):
            find_named(tmp_path, name, "study")


@pytest.fixture(scope="module")
def strange(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project in a folder whose name a shell would take apart, its titles and labels as hostile."""
    project = Project.create(tmp_path_factory.mktemp("strange") / '-a b\'c$(touch hacked) "d" %s%41é (e)[f]')
    evil = MARKUP + SHELL
    project.update("config/studies/tiny.yaml", title=evil, description=evil)
    project.update("config/tasks/tiny.yaml", title=evil, domains__law__label=evil)
    project.update("config/methods/transformer.yaml", methods__mixed__label=evil)
    for name in ("economy", "law"):
        project.write(
            f"config/corpora/tiny-{name}.yaml", {**local_corpus(name, f"text/{name}"), "title": evil, "licence": evil}
        )
    return project


@pytest.mark.slow
def test_a_project_in_a_folder_with_a_hostile_name_is_planned_and_made(strange: Project) -> None:
    printed = strange.snakemake("-n", "-p", "--cores", "1")
    # What the rules tell a shell has none of the titles and labels in it: they travel in files.
    commands = [line for line in printed.splitlines() if "mdnmt " in line and "--" in line]
    assert len(commands) > 10
    assert not [line for line in commands if "alert(1)" in line and "--spec '" not in line]
    strange.snakemake("--cores", "1", "data")
    assert list(strange.folder.glob("results/tasks/tiny-*/task.json"))
    assert not list(strange.folder.parent.rglob("hacked"))


@pytest.mark.slow
def test_braces_in_the_path_are_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project.create(tmp_path / "a{0}")
    printed = project.snakemake("--cores", "1", "data", status=1)
    assert "Traceback" not in printed and f"{project.folder}: a brace in the project's path" in printed
    monkeypatch.chdir(project.folder)
    assert main(["plan"]) == 2
    assert capsys.readouterr().err.startswith(f"mdnmt plan: {project.folder}: a brace in the project's path")
    assert not project.path("results").exists()


@pytest.mark.parametrize("words", [["plan"], ["plan", "--json"], ["plan", "tiny", "--cells", "jiang2020-table2"]])
def test_titles_and_labels_reach_a_terminal_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    project = Project.create(tmp_path / "project")
    evil = ESCAPES + TURNED + "\x9b2J"
    project.update("config/studies/tiny.yaml", title=evil, description=evil)
    project.update("config/tasks/tiny.yaml", title=evil, domains__law__label=evil)
    project.update("config/methods/transformer.yaml", methods__mixed__label=evil)
    monkeypatch.chdir(project.folder)
    assert main(words) == 0
    said = capsys.readouterr()
    assert is_plain(said.out + said.err) and "tiny" in said.out
