"""The environment of COMET: its errors, when it is made again, and the tests that run in it (tests/comet)."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mdnmt.errors import ConfigError
from mdnmt.score.metrics import comet_environment
from mdnmt.score.metrics.comet_environment import FOLDER, MADE, PYTHON, forget_stale, identity, make
from mdnmt.score.metrics.toy_comet import make_toy

ROOT = Path(__file__).resolve().parents[3]
# In place of envs/setup.sh: an environment with nothing in it, or a failure.
STAND_IN = """#!/bin/sh
echo "$TORCH $3" >> calls.txt
[ ! -e fail ] || { echo "a warning" >&2; cat fail >&2; exit 2; }
"$1" -m venv --without-pip --clear "$2"
"""


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a package with locks and an installer that installs nothing; work beside it."""
    lock = tmp_path / "packaged" / "envs" / "lock"
    lock.mkdir(parents=True)
    for name in ("comet", "torch-cpu", "torch-cuda"):
        (lock / f"{name}.txt").write_text(f"{name}==1\n")
    (lock.parent / "setup.sh").write_text(STAND_IN)
    monkeypatch.setattr(comet_environment, "PACKAGED", tmp_path / "packaged")
    monkeypatch.setattr(comet_environment, "_LOCK", lock)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "packaged"


def test_an_environment_is_made_with_the_build_of_torch_of_this_one(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, build in (("2.13.0+cpu", "cpu"), ("2.13.0", "cuda")):
        monkeypatch.setattr("importlib.metadata.version", lambda name, version=version: version)
        make()
        assert Path("calls.txt").read_text().splitlines()[-1] == f"{build} comet"
    [linked] = FOLDER.glob("lib/python3.*/site-packages/mdnmt")
    assert linked.resolve() == ROOT / "src" / "mdnmt"


def test_an_environment_that_is_whole_stays(packaged: Path) -> None:
    make()
    forget_stale()
    assert MADE.read_text() == identity()


def test_another_lock_and_a_python_that_does_not_start_are_made_again(packaged: Path) -> None:
    make()
    (packaged / "envs" / "lock" / "comet.txt").write_text("comet==2\n")
    forget_stale()
    assert not MADE.exists()
    make()
    assert MADE.exists()
    for broken in (lambda: PYTHON.symlink_to("nowhere"), lambda: PYTHON.write_text("#!/bin/sh\nexit 1\n")):
        PYTHON.unlink()
        broken()
        if not PYTHON.is_symlink():
            PYTHON.chmod(0o755)
        forget_stale()
        assert not MADE.exists()
        make()
        assert MADE.exists()


def test_nothing_is_asked_where_there_is_none(packaged: Path) -> None:
    forget_stale()
    assert list(Path().iterdir()) == []


def test_what_the_installer_says_last_is_the_line_of_the_error(packaged: Path) -> None:
    Path("fail").write_text("mdnmt: no network: the package index cannot be reached\n")
    with pytest.raises(ConfigError, match=r"^no network: the package index cannot be reached$"):
        make()
    assert not MADE.exists()
    Path("fail").write_text("")
    with pytest.raises(ConfigError, match="a warning"):
        make()


def test_without_its_environment_comet_says_how_to_make_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "comet", None)  # an environment from before may still have it
    with pytest.raises(ConfigError, match="`mdnmt comet --make-environment` makes it"):
        make_toy(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


@pytest.mark.slow
def test_one_module_alone_imports_the_library() -> None:
    found = set()
    for path in sorted((ROOT / "src" / "mdnmt").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            if any(name.split(".")[0] == "comet" for name in names):
                found.add(path.relative_to(ROOT).as_posix())
    assert found == {"src/mdnmt/score/metrics/comet.py"}


@pytest.mark.slow
def test_the_tests_of_comet_pass_in_its_environment(comet_folder: Path, tmp_path: Path) -> None:
    # pytest is not locked there; it and what it imports are plain Python.
    for name in ("pytest", "_pytest", "py", "pluggy", "iniconfig", "pygments"):
        spec = importlib.util.find_spec(name)
        assert spec is not None and spec.origin is not None
        module = Path(spec.origin)
        module = module.parent if module.name == "__init__.py" else module
        (tmp_path / module.name).symlink_to(module)
    options = ["--confcutdir=tests/comet", f"--basetemp={tmp_path / 'made'}", "tests/comet"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [str(comet_folder / "bin" / "python"), "-m", "pytest", *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
