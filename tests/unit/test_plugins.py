"""Methods of one's own: where they are found, what is refused in one line, and what counts as their code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from unit.plugin_folder import LOSS, OWN, Write, check_plugin, make
from workflow.snakemake_project import Project

from mdnmt import methods, plugins
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DataError
from mdnmt.exhibits.figures.architecture import ArchitectureSystem, structure_of
from mdnmt.methods import code_of, validate
from mdnmt.paths import RunPaths
from mdnmt.studies.resolve import resolve
from mdnmt.train.run import train_run

# What a method does wrong, at the end of `build`.
HIDES = "    method.model.encoder.mine = [torch.nn.Linear(3, 3)]\n    return method\n"
FROZEN = "    method.model.mine = torch.nn.Linear(3, 3)\n    return method\n"
SLOPPY = """    with torch.no_grad():
        for number, parameter in enumerate(method.model.parameters()):
            parameter += next(COUNT)
    return method
"""


def test_a_method_in_the_folder_is_built_like_one_of_the_package(write_plugin: Write) -> None:
    write_plugin("own.py", OWN)
    assert make("own").model is not None
    with pytest.raises(ConfigError, match=r"scael.*did you mean 'scale'"):
        validate("own", {"scael": 1}, where="x")
    with pytest.raises(ConfigError, match=r"no builder 'owm' \(did you mean 'own'\?\)"):
        validate("owm", {}, where="x")


def test_its_architecture_is_drawn(write_plugin: Write) -> None:
    write_plugin("own.py", OWN)
    options = validate("own", {}, where="x").model_dump(mode="json")
    system = {"label": "Own", "method": "own", "builder": "own", "architecture": options, "num_domains": 2}
    assert structure_of(ArchitectureSystem.model_validate(system)) is not None


def test_modules_of_the_folder_import_each_other(write_plugin: Write) -> None:
    write_plugin("sizes.py", "SCALE = 0.1\n")
    write_plugin(
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
def test_a_mistake_is_one_line_that_names_the_file(write_plugin: Write, text: str, said: str) -> None:
    write_plugin("own.py", text)
    with pytest.raises(ConfigError, match=said) as error:
        make("own")
        code_of("own")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["waldm", "pretrained"])
def test_a_name_of_the_package_is_refused(write_plugin: Write, name: str) -> None:
    write_plugin(f"{name}.py", OWN)
    with pytest.raises(ConfigError, match=f"plugins/{name}.py(: mdnmt has a method '{name}' too|, expected one)"):
        methods.find_own(name)


def test_an_edit_is_run_at_once_and_changes_the_hash(write_plugin: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = write_plugin("own.py", OWN)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    assert validate("own", {}, where="x").model_dump()["scale"] == 0.1
    first = dict(code_of("own"))
    write_plugin("own.py", OWN.replace("0.1", "3.0"))
    # As large and as old as before: compiled code that Python keeps would pass for that of the new text.
    os.utime(path, ns=times)
    assert validate("own", {}, where="x").model_dump()["scale"] == 3.0
    assert code_of("own") != first
    write_plugin("own.py", f'"""A docstring."""\n{OWN}  # a comment\n')
    assert code_of("own") == first


def test_a_helper_and_a_data_file_count_and_a_file_beside_them_does_not(write_plugin: Write) -> None:
    write_plugin("words.txt", "bank\n")
    write_plugin("helper.py", 'NAME = "words.txt"\n')
    write_plugin("own.py", f"from .helper import NAME\n{OWN}")
    first = dict(code_of("own"))
    write_plugin("other.py", "x = (\n")
    assert code_of("own") == first
    write_plugin("words.txt", "rate\n")
    assert code_of("own") != first
    assert plugins.changed_code(first) == ["plugins.helper"]


def test_a_copy_of_the_code_is_checked_file_by_file(write_plugin: Write, tmp_path: Path) -> None:
    write_plugin("words.txt", "bank\n")
    write_plugin("helper.py", 'NAME = "words.txt"\n')
    write_plugin("own.py", f"from .helper import NAME\n{OWN}")
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


def test_other_code_than_that_of_a_run_is_refused(write_plugin: Write) -> None:
    write_plugin("own.py", OWN)
    code = dict(code_of("own"))
    validate("own", {}, where="run.json", code=code)
    write_plugin("own.py", OWN.replace("0.1", "3.0"))
    with pytest.raises(ConfigError, match=r"run.json: its address names the code of plugins.own, found other code"):
        validate("own", {}, where="run.json", code=code)
    (plugins.folder() / "own.py").unlink()
    plugins.forget()
    with pytest.raises(ConfigError, match=r"found none in .*put that code back .*MDNMT_PLUGINS"):
        validate("own", {}, where="run.json", code=code)


def test_the_variable_names_another_folder(
    write_plugin: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin("own.py", OWN)
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "own.py").write_text(OWN.replace("0.1", "3.0"))
    monkeypatch.setenv(plugins.VARIABLE, str(other))
    assert validate("own", {}, where="x").model_dump()["scale"] == 3.0


def test_a_method_of_an_installed_package_is_found(
    write_plugin: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        write_plugin("theirs.py", OWN)
        with pytest.raises(ConfigError, match=r"plug-ins of the same name in plugins/theirs.py and their_methods"):
            methods.find_own("theirs")
    finally:
        plugins._entry_points.cache_clear()


def test_a_method_of_the_package_has_no_code_in_its_address() -> None:
    assert {name: dict(code_of(name)) for name in methods.BUILDERS} == {name: {} for name in methods.BUILDERS}


@pytest.mark.slow
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


def test_an_edit_makes_another_run_beside_the_old_one(write_plugin: Write, tmp_path: Path) -> None:
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


@pytest.mark.slow
def test_a_run_records_its_own_code_and_is_used_with_no_other(
    write_plugin: Write, tmp_path: Path, make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_plugin("own.py", OWN)
    run = RunPaths(tmp_path / "run")
    spec = make_spec("transformer", max_updates=1, validate_every=1)
    spec = spec.model_copy(update={"builder": "own", "code": dict(code_of("own"))})
    train_run(spec, toy_task, run.folder, device="cpu")
    record = json.loads(run.record.read_text())
    assert record["plugin"] == {"name": "own", "file": "plugins/own.py", "code": record["plugin"]["code"]}
    assert record["spec"]["code"] == dict(code_of("own"))
    Translator(run.folder, torch.device("cpu"))
    write_plugin("own.py", OWN.replace("0.1", "3.0"))
    with pytest.raises(ConfigError, match=r"run\.json: its address names the code of plugins\.own, found other code"):
        Translator(run.folder, torch.device("cpu"))
    with pytest.raises(ConfigError, match="found other code"):
        train_run(spec, toy_task, tmp_path / "again", device="cpu")
    monkeypatch.setenv(plugins.VARIABLE, str(run.code / "plugins"))
    Translator(run.folder, torch.device("cpu"))
    train_run(spec, toy_task, tmp_path / "again", device="cpu")
    again = json.loads(RunPaths(tmp_path / "again").record.read_text())
    assert again["model_sha256"] == record["model_sha256"]


@pytest.mark.slow
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
def test_check_plugin(write_plugin: Write, capfd: pytest.CaptureFixture[str], text: str, said: str | None) -> None:
    path = write_plugin("own.py", text)
    status = check_plugin(path)
    found = capfd.readouterr()
    assert status == (2 if said else 0)
    assert (said or "passed") in found.out + found.err
