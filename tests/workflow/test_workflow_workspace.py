"""A wheel, installed outside of a checkout: workspaces with studies of their own, and the workflow as a module."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from snakemake_project import ROOT, STUDY, TASK, WORDS, Project, local_corpus, shared_folder, write_corpus

pytestmark = pytest.mark.slow

SOURCES = ("LICENSE", "README.md", "Snakefile", "config", "envs", "pyproject.toml", "setup.py", "src", "workflow")
OWN_METHOD = """
from mdnmt.methods.transformer import build, config_type
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a wheel of this source, and install it into `venv` beside it; shared by the processes of a test run."""
    with shared_folder(tmp_path_factory, "wheel") as folder:
        if not (folder / "made").exists():
            shutil.rmtree(folder, ignore_errors=True)
            source = folder / "source"
            source.mkdir(parents=True)
            for name in SOURCES:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, source / name)
            (source / "config" / "corpora.own.lock.yaml").write_text("corpora: {}\n")
            pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, source], check=True)
            # The packages that it needs are those of this environment, whose own mdnmt is found through a .pth file,
            # which Python reads in its own site-packages only.
            venv.create(folder / "venv", symlinks=True)
            inside = folder / "venv" / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
            (inside / "others.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
            [built] = folder.glob("*.whl")
            python = folder / "venv" / "bin" / "python"
            subprocess.run([*pip, "--python", python, "install", "--no-deps", built], check=True)
            (folder / "made").touch()
        [built] = folder.glob("*.whl")
        return built


class Workspace(Project):
    """A folder made by `mdnmt new`, and the program of the installed wheel."""

    def __init__(self, folder: Path, program: Path) -> None:
        super().__init__(folder)
        self.program = program
        self.environment["PATH"] = f"{program}:{self.environment['PATH']}"

    def mdnmt(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program."""
        return self.run(str(self.program / "mdnmt"), *arguments)

    def workflow(self, *arguments: str, status: int = 0) -> str:
        """Run Snakemake with the Python of the installed wheel; return what it printed."""
        done = self.run(str(self.program / "python"), "-m", "snakemake", "--cores", "2", *arguments)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def addresses(self, *arguments: str) -> set[str]:
        """Return the folders of runs that Snakemake would make."""
        return set(re.findall(r"results/runs/[a-z0-9/-]+", self.workflow("-n", *arguments)))


@pytest.fixture
def empty(wheel: Path, tmp_path: Path) -> Workspace:
    """Return an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    return Workspace(folder, wheel.parent / "venv" / "bin")


def new(empty: Workspace, name: str, **study: object) -> Workspace:
    """Return a new workspace with a tiny study and a method of its own."""
    done = empty.mdnmt("new", name)
    assert done.returncode == 0, done.stderr
    project = Workspace(empty.path(name), empty.program)
    for kind in ("corpora", "tasks", "studies", "methods"):
        project.path(f"config/{kind}").mkdir()
    for domain in WORDS:
        write_corpus(project.path("text") / domain, domain)
        project.write(f"config/corpora/tiny-{domain}.yaml", local_corpus(domain, f"text/{domain}"))
    project.path("plugins/mine.py").write_text(OWN_METHOD)
    project.write("config/methods/mine.yaml", {"label": "Mine", "builder": "mine"})
    project.write("config/tasks/tiny.yaml", TASK)
    small = {"methods": ["mixed", "mine"], "tables": {"jiang2020-table2": {"task": "tiny"}}, "figures": {}}
    project.write("config/studies/tiny.yaml", STUDY | small | study)
    return project


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder, path -> content, without what Python keeps beside them (bytecode, hashes)."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_wheel_has_the_workflow_and_nothing_of_this_machine(wheel: Path) -> None:
    listed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    code = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    beside = {path.relative_to(ROOT).as_posix() for part in ("config", "workflow/rules", "workflow/report", "envs")
              for path in (ROOT / part).rglob("*") if path.is_file() and path.suffix != ".pyc"}  # fmt: skip
    beside |= {"Snakefile", "LICENSE", "profiles/default/profile.yaml", "profiles/slurm/profile.yaml"}
    project = {f"mdnmt/project/{name}" for name in beside if ".own.lock." not in name}
    assert listed >= code | project
    assert {name.rpartition(".")[2] for name in listed - code - project} == {"yaml", "j2", "css", "js", "html", "typed"}


def test_the_demo_starts_in_an_empty_folder(empty: Workspace) -> None:
    done = empty.mdnmt("demo", "-n")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in empty.folder.iterdir()] in ([], [".snakemake"])
    found = empty.mdnmt("plan", "demo").stdout
    assert "demo-en-fr" in found and "waldm-edc" in found


def test_a_study_of_ones_own_under_other_rule_names_leaves_the_installation_alone(empty: Workspace) -> None:
    project = new(empty, "study", measure_repeats=1)
    project.path("Snakefile").write_text(
        'configfile: "config/config.yaml"\n'
        "from mdnmt.workspace import SNAKEFILE\n"
        "module theirs:\n    snakefile: str(SNAKEFILE)\n    config: config\n"
        "use rule * from theirs as mdnmt_*\n"  # no `onstart`, which Snakemake does not run for a module
        "rule mine:\n    output: 'mine.txt'\n    params: code='1'\n    shell: 'echo {params.code} > {output}'\n"
    )
    installed = next((empty.program.parent / "lib").glob("*/site-packages/mdnmt"))
    before = files_below(installed)
    project.workflow("--config", "study=tiny")
    assert project.path("results/tiny/report.html").is_file() and not project.path("mine.txt").exists()
    assert "Nothing to be done" in project.workflow("--config", "study=tiny")
    assert files_below(installed) == before
    [record] = project.folder.glob("results/runs/tiny/mine/*/run.json")
    assert "plugins.mine" in record.read_text()


def test_the_addresses_are_those_of_a_checkout_wherever_the_results_are(empty: Workspace, tmp_path: Path) -> None:
    project = new(empty, "study", methods=["mixed", "waldm-edc"])
    checkout = Project.create(tmp_path / "checkout")
    checkout.write("config/studies/tiny.yaml", yaml.safe_load(project.path("config/studies/tiny.yaml").read_text()))
    there = set(re.findall(r"results/runs/[a-z0-9/-]+", checkout.snakemake("-n", "--cores", "2")))
    assert there == project.addresses("--config", "study=tiny") != set()
    for text in project.path("text").iterdir():
        shutil.copytree(text, tmp_path / "elsewhere" / "text" / text.name)
    assert there == project.addresses("--config", "study=tiny", "--directory", str(tmp_path / "elsewhere"))


def test_two_workspaces_do_not_see_each_other(empty: Workspace) -> None:
    one, other = new(empty, "one"), new(empty, "other")
    same = one.addresses("--config", "study=tiny")
    assert same == other.addresses("--config", "study=tiny")
    other.path("plugins/mine.py").write_text(f"{OWN_METHOD}\nSIZE = 2\n")
    other.update("config/tasks/tiny.yaml", segmentation__bpe_merge_operations=26)
    assert same == one.addresses("--config", "study=tiny")
    assert not same & other.addresses("--config", "study=tiny")


def test_a_prefix_of_paths_is_refused(empty: Workspace) -> None:
    project = new(empty, "study")
    project.edit("Snakefile", "    snakefile:\n", '    prefix:\n        "there"\n    snakefile:\n')
    said = project.workflow("-n", "--config", "study=tiny", status=1)
    assert "found a module with prefix or replace_prefix" in said and "Traceback" not in said
    assert not project.path("results").exists()


def test_a_new_workspace_hides_nothing_that_exists(empty: Workspace) -> None:
    new(empty, "study")
    before = files_below(empty.folder)
    done = empty.mdnmt("new", "study")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert files_below(empty.folder) == before
