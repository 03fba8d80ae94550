"""Code of one's own: where it is found, what is refused in one line, and what counts as its code."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from unit.config_docs.pages import ROOT, named_files
from workflow.snakemake_project import Project

from mdnmt import methods, plugins
from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_lock import Lock
from mdnmt.corpora.corpus_spec import FetchSpec, corpus_spec, fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.read import read_corpus
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits import code_hashes
from mdnmt.exhibits.figures.architecture import ArchitectureSystem, structure_of
from mdnmt.methods import build, code_of, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.train.run import train_run

OWN = """
import itertools, torch
from mdnmt.methods import transformer
COUNT = itertools.count()


class Config(transformer.config_type):
    scale: float = 0.1

config_type = Config

def build(config, vocab, num_domains):
    return transformer.build(config, vocab, num_domains)
"""
# What a method does wrong, at the end of `build`.
HIDES = "    method.model.encoder.mine = [torch.nn.Linear(3, 3)]\n    return method\n"
FROZEN = "    method.model.mine = torch.nn.Linear(3, 3)\n    return method\n"
SLOPPY = """    with torch.no_grad():
        for number, parameter in enumerate(method.model.parameters()):
            parameter += next(COUNT)
    return method
"""
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Return a function that writes a file of the folder of plug-ins, which is then read again."""
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    plugins.use_folder_beside(tmp_path / "config")

    def write(name: str, text: str) -> Path:
        path = tmp_path / "plugins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        plugins.forget()
        return path

    yield write
    plugins.forget()
    plugins._beside_config = None  # monkeypatch would put the folder back


def make(builder: str) -> methods.Method:
    sizes = {"model_dim": 8, "ffn_dim": 8, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    return build(builder, validate(builder, sizes, where="x"), VocabSizes(9, 9, True), 2)


def test_a_method_in_the_folder_is_built_like_one_of_the_package(write: Write) -> None:
    write("own.py", OWN)
    assert make("own").model is not None
    with pytest.raises(ConfigError, match=r"scael.*did you mean 'scale'"):
        validate("own", {"scael": 1}, where="x")
    with pytest.raises(ConfigError, match=r"no builder 'owm' \(did you mean 'own'\?\)"):
        validate("owm", {}, where="x")


def test_its_architecture_is_drawn(write: Write) -> None:
    write("own.py", OWN)
    options = validate("own", {}, where="x").model_dump(mode="json")
    system = {"label": "Own", "method": "own", "builder": "own", "architecture": options, "num_domains": 2}
    assert structure_of(ArchitectureSystem.model_validate(system)) is not None


def test_modules_of_the_folder_import_each_other(write: Write) -> None:
    write("sizes.py", "SCALE = 0.1\n")
    write(
        "own.py", OWN.replace("0.1", "SCALE").replace("class Config", "from plugins.sizes import SCALE\nclass Config")
    )
    assert validate("own", {}, where="x").model_dump()["scale"] == 0.1
    assert set(code_of("own")) == {"plugins.own", "plugins.sizes"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import no_such_package\n", r"plugins/own.py:1: cannot be imported \(ModuleNotFoundError"),
        (f"{OWN}\n1 / 0\n", r"plugins/own.py:1[0-9]: cannot be imported \(ZeroDivisionError"),
        ("def build(\n", r"plugins/own.py:1: cannot be imported \(SyntaxError"),
        ("raise SystemExit(3)\n", r"plugins/own.py:1: cannot be imported \(SystemExit: 3"),
        (OWN.replace("def build", "def bild"), r"plugins/own.py: does not define build; a method is a module"),
        (OWN.replace("= Config", "= dict"), r"plugins/own.py: config_type is no class that extends"),
        (f"{OWN}\nbuild = 3\n", r"plugins/own.py: build is not a function"),
        (OWN.replace("return transformer", "return transformr"), r"plugins/own.py:1[0-9]: build fails \(NameError"),
        (OWN.replace("return transformer.build", "transformer.build"), r"build returns NoneType, expected a Method"),
        (f"{OWN}\ndef later():\n    import plugins.missing\n", r"its imports cannot be read \(ModuleNotFoundError"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_file(write: Write, text: str, said: str) -> None:
    write("own.py", text)
    with pytest.raises(ConfigError, match=said) as error:
        make("own")
        code_of("own")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["waldm", "mbart50"])
def test_a_name_of_the_package_is_refused(write: Write, name: str) -> None:
    write(f"{name}.py", OWN)
    with pytest.raises(ConfigError, match=f"plugins/{name}.py(: mdnmt has a method '{name}' too|, expected one)"):
        methods.find_own(name)


def test_an_edit_is_run_at_once_and_changes_the_hash(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = write("own.py", OWN)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    assert validate("own", {}, where="x").model_dump()["scale"] == 0.1
    first = dict(code_of("own"))
    write("own.py", OWN.replace("0.1", "3.0"))
    # As large and as old as before: compiled code that Python keeps would pass for that of the new text.
    os.utime(path, ns=times)
    assert validate("own", {}, where="x").model_dump()["scale"] == 3.0
    assert code_of("own") != first
    write("own.py", f'"""A docstring."""\n{OWN}  # a comment\n')
    assert code_of("own") == first


def test_a_helper_and_a_data_file_count_and_a_file_beside_them_does_not(write: Write) -> None:
    write("words.txt", "bank\n")
    write("helper.py", 'NAME = "words.txt"\n')
    write("own.py", f"from .helper import NAME\n{OWN}")
    first = dict(code_of("own"))
    write("other.py", "x = (\n")
    assert code_of("own") == first
    write("words.txt", "rate\n")
    assert code_of("own") != first
    assert plugins.changed_code(first) == ["plugins.helper"]


def test_a_copy_of_the_code_is_checked_file_by_file(write: Write, tmp_path: Path) -> None:
    write("words.txt", "bank\n")
    write("helper.py", 'NAME = "words.txt"\n')
    write("own.py", f"from .helper import NAME\n{OWN}")
    code, copy = dict(code_of("own")), tmp_path / "code"
    whole = plugins.source_files(code)
    assert sorted(whole) == ["plugins/helper.py", "plugins/own.py", "plugins/words.txt"]
    plugins.require_kept(copy, code)  # there is none
    (copy / "plugins").mkdir(parents=True)
    broken: list[dict[str, bytes]] = [{**whole, name: content + b"x = 1\n"} for name, content in whole.items()]
    broken += [{name: content for name, content in whole.items() if name != left_out} for left_out in whole]
    broken += [{**whole, "plugins/evil.py": b""}, {**whole, "evil.py": b""}]
    for files in (whole, *broken):
        shutil.rmtree(copy)
        (copy / "plugins").mkdir(parents=True)
        for name, content in files.items():
            (copy / name).write_bytes(content)
        if files is whole:
            plugins.require_kept(copy, code)
        else:
            with pytest.raises(DataError, match=r"is not the code that run\.json records"):
                plugins.require_kept(copy, code)


def test_other_code_than_that_of_a_run_is_refused(write: Write) -> None:
    write("own.py", OWN)
    code = dict(code_of("own"))
    validate("own", {}, where="run.json", code=code)
    write("own.py", OWN.replace("0.1", "3.0"))
    with pytest.raises(ConfigError, match=r"run.json: its address names the code of plugins.own, found other code"):
        validate("own", {}, where="run.json", code=code)
    (plugins.folder() / "own.py").unlink()
    plugins.forget()
    with pytest.raises(ConfigError, match=r"found none in .*put that code back .*MDNMT_PLUGINS"):
        validate("own", {}, where="run.json", code=code)


def test_the_variable_names_another_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("own.py", OWN)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "own.py").write_text(OWN.replace("0.1", "3.0"))
    monkeypatch.setenv(plugins.VARIABLE, str(other))
    assert validate("own", {}, where="x").model_dump()["scale"] == 3.0


def test_a_method_of_an_installed_package_is_found(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for name, text in {
        "their_methods/__init__.py": "",
        "their_methods/blocks.py": "SCALE = 0.1\n",
        "their_methods/unused.py": "",
        "their_methods/theirs.py": OWN.replace("class Config", "from .blocks import SCALE\nclass Config"),
        "their_methods-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: their-methods\nVersion: 1.2\n",
        "their_methods-1.2.dist-info/entry_points.txt": "[mdnmt]\ntheirs = their_methods.theirs\n",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    monkeypatch.syspath_prepend(str(site))
    plugins._entry_points.cache_clear()
    try:
        assert make("theirs").model is not None
        assert set(code_of("theirs")) == {"their_methods", "their_methods.blocks", "their_methods.theirs"}
        place = methods.describe_own("theirs", code_of("theirs"))["file"]
        assert place == "their_methods.theirs of their-methods 1.2"
        write("theirs.py", OWN)
        with pytest.raises(ConfigError, match=r"plug-ins of the same name in plugins/theirs.py and their_methods"):
            methods.find_own("theirs")
    finally:
        plugins._entry_points.cache_clear()


def test_a_method_of_the_package_has_no_code_in_its_address() -> None:
    assert {name: dict(code_of(name)) for name in methods.BUILDERS} == {name: {} for name in methods.BUILDERS}


def test_a_method_that_no_commit_has_is_treated_like_a_plug_in(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        author = ("-c", "user.name=n", "-c", "user.email=e@x.invalid")
        subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True)

    def code() -> str:
        listed = "(sorted(own_code(f'mdnmt.methods.{name}')) for name in ('own', 'waldm'))"
        command = f"from mdnmt.plugins import own_code; print(*{listed})"
        done = subprocess.run(
            [sys.executable, "-c", command], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "src")},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    package = Path(methods.__file__).parents[1]
    shutil.copytree(package, tmp_path / "src/mdnmt", ignore=shutil.ignore_patterns("__pycache__"))
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "The package")
    (tmp_path / "src/mdnmt/models/own_block.py").write_text("SCALE = 0.1\n")
    (tmp_path / "src/mdnmt/methods/own.py").write_text(f"from mdnmt.models.own_block import SCALE\n{OWN}")
    with (tmp_path / "src/mdnmt/methods/waldm.py").open("a") as waldm:
        waldm.write("CHANGED = True\n")
    assert code() == "['mdnmt.methods.own', 'mdnmt.models.own_block'] []"
    git("add", ".")
    assert code().startswith("['mdnmt.methods.own'")
    git("commit", "-qm", "The method")
    assert code() == "[] []"


def test_an_edit_makes_another_run_beside_the_old_one(write: Write, tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    project.path("plugins").mkdir()
    project.write("config/methods/own.yaml", {"label": "Own", "builder": "own"})
    project.update("config/studies/tiny.yaml", methods=["mixed", "own"], tables={}, figures={})

    def addresses(text: str) -> dict[str, str]:
        project.path("plugins/own.py").write_text(text)
        plugins.forget()
        study = resolve(project.path("config"), "tiny", tmp_path / "corpora")
        return {run.method: run.planned.fingerprint for run in study.runs if run.planned is not None}

    first = addresses(OWN)
    assert addresses(f"{OWN}\n# A comment.\n") == first
    # No option changes: their values are part of the address anyway.
    second = addresses(OWN.replace("itertools.count()", "itertools.count(3)"))
    assert second["mixed"] == first["mixed"] and second["own"] != first["own"]
    project.path("plugins/shrink.py").write_text(LOSS)
    mixed = {"label": "Shrunk", "builder": "transformer", "architecture": {"losses": ["shrink"]}}
    project.write("config/methods/shrunk.yaml", mixed)
    project.update("config/studies/tiny.yaml", methods=["mixed", "shrunk"])
    with_loss = addresses(OWN)
    assert with_loss["mixed"] == first["mixed"]
    project.path("plugins/shrink.py").write_text(LOSS.replace("1e-3", "2e-3"))
    edited = addresses(OWN)
    assert edited["mixed"] == first["mixed"] and edited["shrunk"] != with_loss["shrunk"] != first["mixed"]
    project.path("plugins/shrink.py").unlink()
    with pytest.raises(ConfigError, match="no loss 'shrink'"):
        addresses(OWN)


def test_a_run_records_its_own_code_and_is_used_with_no_other(
    write: Write, tmp_path: Path, make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("own.py", OWN)
    run = RunPaths(tmp_path / "run")
    spec = make_spec("transformer", max_updates=1, validate_every=1)
    spec = spec.model_copy(update={"builder": "own", "code": dict(code_of("own"))})
    train_run(spec, toy_task, run.folder, device="cpu")
    record = json.loads(run.record.read_text())
    assert record["plugin"] == {"name": "own", "file": "plugins/own.py", "code": record["plugin"]["code"]}
    assert record["spec"]["code"] == dict(code_of("own"))
    Translator(run.folder, torch.device("cpu"))
    write("own.py", OWN.replace("0.1", "3.0"))
    with pytest.raises(ConfigError, match=r"run\.json: its address names the code of plugins\.own, found other code"):
        Translator(run.folder, torch.device("cpu"))
    with pytest.raises(ConfigError, match="found other code"):
        train_run(spec, toy_task, tmp_path / "again", device="cpu")
    monkeypatch.setenv(plugins.VARIABLE, str(run.code / "plugins"))
    Translator(run.folder, torch.device("cpu"))
    train_run(spec, toy_task, tmp_path / "again", device="cpu")
    again = json.loads(RunPaths(tmp_path / "again").record.read_text())
    assert again["model_sha256"] == record["model_sha256"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (OWN, None),
        (OWN.replace("return transformer", "return transformr"), "build fails"),
        (OWN.replace("return transformer.build", "method = transformer.build") + HIDES, "hides a module"),
        (OWN.replace("return transformer.build", "method = transformer.build") + FROZEN, "is not trained"),
        (OWN.replace("return transformer.build", "method = transformer.build") + SLOPPY, "the same seed"),
    ],
)
def test_check_plugin(write: Write, capfd: pytest.CaptureFixture[str], text: str, said: str | None) -> None:
    path = write("own.py", text)
    environment = os.environ.pop(plugins.VARIABLE, None)
    assert environment is None
    try:
        status = main(["check-plugin", str(path)])
    finally:
        os.environ.pop(plugins.VARIABLE, None)
    found = capfd.readouterr()
    assert status == (2 if said else 0)
    assert (said or "passed") in found.out + found.err


VERB = """
\"\"\"Say hello to somebody.\"\"\"

def add_arguments(parser):
    parser.add_argument("--to", default="you")

def run(args):
    print("hello", args.to)
"""
BLOCK = """
from torch import nn

PART = "{part}"

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x_BTD, *context):
        return x_BTD + self.map(x_BTD)

def block(config):
    return Block(config.model_dim)
"""
LOSS = """
class Shrink:
    name, reduction = "shrink", "sum"

    def __call__(self, output, batch):
        return output.hidden_ND.float().square().sum() * 1e-3

def loss(config):
    return Shrink()
"""
PROVIDER = """
import zipfile
from typing import Literal
from mdnmt.config.base import Frozen

class Options(Frozen):
    provider: Literal["made-up"]
    file: str
    lines: int
    sha256: str | None = None
    size_bytes: int | None = None

def download(source, folder):
    with zipfile.ZipFile(folder / source.file, "w") as archive:
        archive.writestr("text", "".join(f"word {n} ||| mot {n}\\n" for n in range(source.lines)))
    return "made up"
"""


def test_a_verb_of_the_folder_is_run_and_listed(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write("say_hello.py", VERB)
    assert main(["say-hello", "--to", "me"]) == 0 and capsys.readouterr().out == "hello me\n"
    assert main(["--help"]) == 0
    assert "\nPlug-ins:\n  say-hello       Say hello to somebody.\n" in capsys.readouterr().out
    write("plan.py", VERB)
    assert main(["plan"]) == 2
    assert "plugins/plan.py: mdnmt has a verb 'plan' too" in capsys.readouterr().err
    write("plan.py", OWN)  # a method may have the name of a verb
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--help"])
    assert ended.value.code == 0
    write("broken.py", f"import nowhere\n{VERB}")
    capsys.readouterr()
    assert main(["broken"]) == 2
    said = capsys.readouterr().err
    assert "plugins/broken.py:1: cannot be imported" in said and said.count("\n") == 1


@pytest.mark.parametrize("part", ["ffn_block", "bridge", "output_layer"])
def test_a_block_takes_the_place_of_a_part(write: Write, part: str, capfd: pytest.CaptureFixture[str]) -> None:
    plain = make("transformer").model.state_dict().keys()
    path = write("own_block.py", BLOCK.format(part=part))
    options = {"model_dim": 8, "ffn_dim": 8, "num_heads": 2, "blocks": ["own_block"]}
    architecture = validate("transformer", options, where="x")
    model = build("transformer", architecture, VocabSizes(9, 9, True), 2).model
    new = {name for name in model.state_dict().keys() - plain if ".map." in name}
    assert new and all({"ffn_block": "ffn", "bridge": "bridge", "output_layer": "output_layer"}[part] in n for n in new)
    assert set(code_of("transformer", architecture.model_dump())) == {"plugins.own_block"}
    assert code_of("transformer", validate("transformer", {}, where="x").model_dump()) == {}
    try:
        assert main(["check-plugin", str(path)]) == 0, capfd.readouterr()
    finally:
        os.environ.pop(plugins.VARIABLE, None)


def test_a_loss_is_added_to_those_of_a_method(write: Write, capfd: pytest.CaptureFixture[str]) -> None:
    path = write("shrink.py", LOSS)
    architecture = validate("domain_tag", {"losses": ["shrink"]}, where="x")
    method = build("domain_tag", architecture, VocabSizes(9, 9, True), 2)
    assert [loss.name for loss in method.losses] == ["generation", "shrink"]
    assert set(code_of("domain_tag", architecture.model_dump())) == {"plugins.shrink"}
    try:
        assert main(["check-plugin", str(path)]) == 0, capfd.readouterr()
    finally:
        os.environ.pop(plugins.VARIABLE, None)


def test_a_run_with_a_block_and_a_loss_is_trained_and_keeps_their_code(
    write: Write, tmp_path: Path, make_spec: Any, toy_task: Path
) -> None:
    write("own_block.py", BLOCK.format(part="output_layer"))
    write("shrink.py", LOSS)
    options = {"blocks": ["own_block"], "losses": ["shrink"]}
    spec = make_spec("transformer", architecture=options, max_updates=4, validate_every=4)
    spec = spec.model_copy(update={"code": dict(code_of("transformer", spec.architecture))})
    run = RunPaths(tmp_path / "run")
    train_run(spec, toy_task, run.folder, device="cpu")
    assert sorted(path.name for path in (run.code / "plugins").iterdir()) == ["own_block.py", "shrink.py"]
    assert json.loads(run.record.read_text())["plugin"]["file"] == "plugins.own_block, plugins.shrink"
    assert "decoder.output_layer.map.weight" in Translator(run.folder, torch.device("cpu")).model.state_dict()
    write("shrink.py", LOSS.replace("1e-3", "2e-3"))
    with pytest.raises(ConfigError, match=r"plugins\.shrink, found other code"):
        Translator(run.folder, torch.device("cpu"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blocks": ["none"]}, "no block 'none'"),
        ({"losses": ["own_block"]}, "plugins/own_block.py: does not define loss; a loss is a module"),
        ({"blocks": ["misplaced"]}, "block 'misplaced': found PART 'encoder', expected one of ffn_block"),
    ],
)
def test_a_block_or_loss_that_is_none_is_one_line(write: Write, options: dict[str, Any], said: str) -> None:
    write("own_block.py", BLOCK.format(part="bridge"))
    write("misplaced.py", BLOCK.format(part="encoder"))
    with pytest.raises(ConfigError, match=re.escape(said)):
        build("transformer", validate("transformer", options, where="x"), VocabSizes(9, 9, True), 2)


def test_a_provider_and_a_reader_fetch_and_read_a_corpus(write: Write, tmp_path: Path) -> None:
    write("made_up.py", PROVIDER)
    text_of_reader = named_files(ROOT / "docs/plug-ins.md")["plugins/pair_lines.py"]
    reader = write("pair_lines.py", text_of_reader)
    source = {"provider": "made-up", "file": "x.zip", "lines": 3}
    given = {
        "title": "Made up",
        "languages": ["en", "fr"],
        "source": source,
        "reader": {"name": "pair-lines", "member": "text"},
    }
    corpus = CorpusConfig.model_validate(given)
    spec = FetchSpec.model_validate_json(fetch_spec("x", corpus, tmp_path / "cache.json").model_dump_json())
    rows = fetch(spec, tmp_path / "corpora/x")
    assert rows["x.zip"].origin == "made up"
    lock = Lock(corpora={"x": tuple(rows.values())})
    of_task = corpus_spec("x", corpus, ChecksumCache(tmp_path / "cache.json"), lock)
    of_task = type(of_task).model_validate_json(of_task.model_dump_json())
    with read_corpus(of_task, tmp_path / "corpora/x", "en", "fr") as text:
        assert list(text.train) == [(f"word {n}", f"mot {n}") for n in range(3)]
    first = of_task.identity()
    write("pair_lines.py", f"{text_of_reader}# a comment\n")
    assert of_task.identity() == first  # the code is part of the data's address, a comment is not
    write("pair_lines.py", text_of_reader.replace("|||", "||"))
    assert of_task.identity() != first
    with pytest.raises(ValidationError, match="separatr"):
        CorpusConfig.model_validate({**given, "reader": {"name": "pair-lines", "member": "text", "separatr": "|"}})
    try:
        assert main(["check-plugin", str(reader)]) == 0
    finally:
        os.environ.pop(plugins.VARIABLE, None)


def test_an_edit_of_a_metric_scores_again(write: Write) -> None:
    metric = named_files(ROOT / "docs/your-own-metric.md")["plugins/chrf_plus.py"]
    without = code_hashes.code_of("score")
    write("chrf_plus.py", metric)
    first = code_hashes.code_of("score")
    write("chrf_plus.py", f"{metric}# a comment\n")
    assert code_hashes.code_of("score") == first != without
    write("chrf_plus.py", metric.replace("word_order=2", "word_order=3"))
    assert code_hashes.code_of("score") not in (first, without)


def test_check_plugin_says_what_is_no_plug_in(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(["check-plugin", str(write("nothing.py", "X = 1\n"))]) == 2
        assert "is of no kind" in capsys.readouterr().err
        write("score.py", VERB)
        assert main(["check-plugin", str(write("score.py", VERB))]) == 2
        assert "mdnmt has a verb 'score' too" in capsys.readouterr().err
    finally:
        os.environ.pop(plugins.VARIABLE, None)
