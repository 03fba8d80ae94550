"""`envs/setup.sh`, with a Python that only pretends to install."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "envs" / "setup.sh"

# Answers what the script asks of Python and uv; an installation writes a line to calls.txt and does as the test says.
PYTHON = """#!/bin/sh
case "$*" in
    -c*) echo {version} ;;
    envs/drift.py*) cat drifted 2> /dev/null; rm -f drifted ;;
    "-m venv"*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/uv" ;;
    *pip*) echo "$*" >> calls.txt; {pip} ;;
esac
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "envs" / "lock").mkdir(parents=True)
    (tmp_path / "envs" / "lock" / "run.txt").write_text("numpy\n")
    (tmp_path / "pyproject.toml").write_text("")
    shutil.copy(SCRIPT, tmp_path / "envs")
    return tmp_path


def start(
    root: Path, version: str = "3.11", pip: str = "true", torch: str = "cuda", extras: str = ""
) -> subprocess.Popen[str]:
    python = root / f"python-{version}"
    if not python.exists():  # written while another script starts it, it would be "text file busy"
        python.write_text(PYTHON.format(version=version, pip=pip))
        python.chmod(0o755)
    command = ["envs/setup.sh", str(python), ".venv"]
    environment = {
        **os.environ,
        "TORCH": torch,
        "EXTRAS": extras,
        "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    return subprocess.Popen(
        command, cwd=root, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    )


def calls(root: Path) -> int:
    path = root / "calls.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.mark.parametrize("version", ["3.10", "3.14"])
def test_another_python_is_refused_before_anything_is_made(root: Path, version: str) -> None:
    process = start(root, version)
    _, said = process.communicate()
    assert process.returncode == 2 and said.count("\n") == 1
    assert f"found {version} (" in said and "expected Python 3.11, 3.12 or 3.13" in said
    assert not (root / ".venv").exists() and calls(root) == 0


def test_a_path_in_which_nothing_can_be_installed_is_refused_before_anything_is_made(root: Path) -> None:
    for name in ("a{b", "a}", "a$b", "a:b", "a\nb"):
        there = root / name
        shutil.copytree(root / "envs", there / "envs")
        process = start(there)
        _, said = process.communicate()
        assert process.returncode == 2 and said.count("\n") == 1
        assert "in the project's path; rename or move the folder, then start again" in said
        assert not (there / ".venv").exists() and calls(there) == 0


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_a_finished_environment_is_left_alone(root: Path, version: str) -> None:
    for _ in range(2):
        process = start(root, version)
        assert process.communicate() == ("", "") and process.returncode == 0
    assert calls(root) == 3 and (root / ".venv" / "installed").exists()


def test_packages_that_differ_from_the_lock_are_installed_again_and_nothing_else(root: Path) -> None:
    start(root).communicate()
    (root / "drifted").write_text("numpy==1.26.4\n")
    assert start(root).wait() == 0 and calls(root) == 4
    assert "--requirement .venv/drift.txt" in (root / "calls.txt").read_text().splitlines()[-1]


def test_an_extra_is_installed_from_its_lock(root: Path) -> None:
    (root / "envs" / "lock" / "export.txt").write_text("onnx\n")
    assert start(root, extras="serve,export").wait() == 0
    assert "--requirement envs/lock/export.txt" in (root / "calls.txt").read_text().splitlines()[-1]
    made = calls(root)
    assert start(root, extras="export").wait() == 0 and calls(root) == made == 4
    process = start(root, extras="exprt")
    assert "found EXTRAS=exprt, expected some of" in process.communicate()[1] and process.returncode == 2


def test_two_at_once_install_once(root: Path) -> None:
    lock, asked = root / "bin" / "flock", root / "asked.txt"
    lock.parent.mkdir()
    lock.write_text(f'#!/bin/sh\necho >> {asked}\nexec {shutil.which("flock")} "$@"\n')
    lock.chmod(0o755)
    # The first call of pip waits until both scripts have asked for the lock, or both install.
    try:
        processes = [start(root, pip="while [ ! -e go ]; do :; done") for _ in range(2)]
        while calls(root) < 2 and not (asked.exists() and len(asked.read_text()) == 2):
            assert None in [process.poll() for process in processes]
    finally:
        (root / "go").touch()
    assert [process.communicate() for process in processes] == [("", "")] * 2
    assert [process.returncode for process in processes] == [0, 0] and calls(root) == 3


def test_make_in_parallel_sets_up_once_and_before_all_else(root: Path) -> None:
    shutil.copy(SCRIPT.parents[1] / "Makefile", root)
    python = root / "python-stub"
    # As `PYTHON`, but its environment has the programs of the targets as well, and all of them say what they were.
    programs = 'for name in python mdnmt snakemake; do cp "$0" "$3/bin/$name"; done'
    text = PYTHON.format(version="3.11", pip="true").replace('cp "$0" "$3/bin/python" ', programs)
    python.write_text(text.replace("esac", '    *) echo "${0##*/} $*" >> calls.txt ;;\nesac'))
    python.chmod(0o755)
    command = ["make", "-j4", "--silent", "PYTHON=./python-stub", "TORCH=cuda", "demo", "test"]
    done = subprocess.run(command, cwd=root, text=True, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    made = [line for line in (root / "calls.txt").read_text().splitlines() if "uv_mirrors" not in line]
    installed = [number for number, line in enumerate(made) if "install" in line]
    started = {made[number].split()[0]: number for number in range(len(made)) if number not in installed}
    # uv, the packages and the project once, then what exports and the tests need besides.
    assert len(installed) == 6 and set(started) == {"mdnmt", "python"}
    assert installed[:3] == [0, 1, 2] and started["python"] > installed[3]


def test_another_version_in_the_folder_is_named(root: Path) -> None:
    start(root, "3.11").communicate()
    (root / "envs" / "lock" / "run.txt").write_text("numpy==1\n")
    (root / ".venv" / "installed").unlink()
    process = start(root, "3.12")
    _, said = process.communicate()
    assert process.returncode == 2 and "has Python 3.11, found 3.12" in said and calls(root) == 3


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("Retrying after connection broken by NewConnectionError: No matching distribution found", "no network"),
        ("No space left on device", "all messages are in .venv/setup.log"),
    ],
)
def test_a_failed_installation_says_why(root: Path, printed: str, expected: str) -> None:
    process = start(root, pip=f"echo '{printed}' >&2; exit 1")
    _, said = process.communicate()
    assert process.returncode == 2 and expected in said and not (root / ".venv" / "installed").exists()


def test_the_build_of_torch_is_chosen_by_the_driver_or_by_hand(root: Path) -> None:
    driver = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None
    said, _ = start(root, torch="").communicate()
    assert (root / ".venv" / "installed").read_text().strip() == ("cuda" if driver else "cpu")
    assert said == "" if driver else said.count("\n") == 1 and "make setup TORCH=cuda" in said
    other = "cpu" if driver else "cuda"
    assert start(root, torch=other).communicate() == ("", "")
    assert f"torch-{other}.txt" in (root / "calls.txt").read_text()
    # Without a choice, the build that is installed stays.
    before = calls(root)
    assert start(root, torch="").communicate() == ("", "") and calls(root) == before
    process = start(root, torch="rocm")
    assert process.communicate()[1] == "mdnmt: found TORCH=rocm, expected cpu or cuda\n" and process.returncode == 2
