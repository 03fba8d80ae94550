"""The commands of the pages, run as a reader would run them: page by page, in their order, in one shell.

The study `demo` is the real one on generated text, at toy size. Exceptions are in `tests/page_commands.yaml`.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from preforked import preforked
from unit.config_docs.pages import EXCEPTIONS, MANUAL, ROOT, blocks, commands
from workflow.publisher import archives, publishing
from workflow.snakemake_project import SIZES, TASK, TRAINING, WORDS, Project, made_once, write_corpus

pytestmark = pytest.mark.slow

# What a page asks for in words, or assumes: done before its commands.
_SIGNED = (
    """echo '{"bomFormat": "CycloneDX", "components": [{"name": "torch", "version": "2"}]}' > sbom.json\n"""
    "ssh-keygen -t ed25519 -N '' -f author"
)
BEFORE = {
    "certify.md": _SIGNED,
    "corpora.md": "git init -q",
    "planning.md": "cp config/studies/demo.yaml config/studies/registry.yaml\n"
    "snakemake --cores 2 --config study=registry",
    # The page verifies the bundle of the repository. That takes minutes, and the test of replication.md does it too:
    # here, a small bundle takes its place.
    "verify.md": f"{_SIGNED}\nmdnmt certify demo --out evidence --sign author\n"
    "mdnmt bundle demo --bundle path/to/bundle\nrm -r docs/replication/bundle\nmdnmt bundle demo",
}
# What a page asks for between two of its commands.
_RATE = r"\n- match: {method: waldm-edc}\n  set: {training: {learning_rate: 0.002}}"
AFTER = {
    "cp config/studies/demo.yaml config/studies/demo-lr.yaml": (
        f"sed -i 's/^decoding:/{_RATE}\\n&/' config/studies/demo-lr.yaml"
    )
}


@contextmanager
def small_zhang2021(project: Project) -> Iterator[None]:
    """Make the study small, serve small archives for English-French, and put a small UM-Corpus into its place."""
    task = {"segmentation__bpe_merge_operations": 20}
    task |= {f"domains__{name}__{split}": 3 for name in ("ecb", "kde4", "iwslt") for split in ("valid", "test")}
    project.update("config/tasks/zhang-en-fr.yaml", **task)
    training = {**TRAINING, "max_updates": 2, "validate_every": 1}
    options = {"options": [{"set": {"architecture": SIZES, "training": training}}], "decoding": {"beam_size": 1}}
    project.update("config/studies/zhang2021.yaml", seeds=1, comparison={"num_resamples": 10}, **options)
    by_hand = project.path("resources/manual/UM-Corpus.zip")
    by_hand.parent.mkdir(parents=True)
    with zipfile.ZipFile(by_hand, "w") as archive:
        for name in ("Bilingual/Laws/Bi-Laws.txt", "Bilingual/Thesis/Bi-Thesis.txt", "Testing/Testing-Data.txt"):
            archive.writestr(f"UM-Corpus/data/{name}", "The law.\n法\n")
    project.environment["no_proxy"] = "*"
    with publishing() as publisher:
        for name in ("opus-ecb-en-fr", "opus-kde4-en-fr", "iwslt17-en-fr"):
            publisher.publish(project.path("config"), name, archives()[name])
        yield


# What surrounds the commands of a page.
DURING = {"rebuild-a-table.md": small_zhang2021}


# They read the configuration alone, so that they need not be run on every page that has them.
OF_THE_CONFIGURATION = ("mdnmt plan paper", "mdnmt plan replication", "mdnmt audit")


def page_commands(page: Path) -> list[str]:
    """Return the commands of a page that this module runs there."""
    left_out = {*EXCEPTIONS["not_run"], *EXCEPTIONS["run_by"]}
    before = {line for other in MANUAL[: MANUAL.index(page)] for line in commands(other)}
    left_out |= {line for line in before if line.startswith(OF_THE_CONFIGURATION)}
    return [line for line in commands(page) if line not in left_out]


PAGES = {page.name: page for page in MANUAL if page_commands(page)}


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Return a project in which `make demo` has made the study `demo` in toy size; it is copied, never changed."""
    return made_once(tmp_path_factory, "pages", _make_demo)


def _make_demo(project: Project) -> None:
    for name in ("Makefile", "pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, project.folder)
    shutil.copytree(ROOT / "docs" / "replication", project.path("docs/replication"))
    make_environment(project)
    project.environment["BROWSER"] = "true"  # `make serve` opens one
    project.write("config/tasks/demo-en-fr.yaml", TASK)
    small = {"architecture": {**SIZES, "share_embeddings": "all"}, "training": TRAINING}
    project.update("config/studies/demo.yaml", options=[{"set": small}], decoding={"beam_size": 2})
    project.update("config/studies/demo.yaml", comparison={"num_resamples": 20}, measure_repeats=1)
    tables = {name: {"task": "demo-en-fr"} for name in ("jiang2020-table2", "song2026-table5")}
    figures = {"jiang2020-figure9": {"task": "demo-en-fr"}}
    project.update("config/studies/demo.yaml", methods=["mixed", "waldm-edc"], tables=tables, figures=figures)
    project.edit("config/config.yaml", "study: tiny", "study: demo")
    for name in WORDS:
        write_corpus(project.path("texts") / name, name)
        project.update(f"config/corpora/tiny-{name}.yaml", redistributable=True)  # for `mdnmt export`
        for text in project.path(f"texts/{name}").iterdir():
            text.write_text(text.read_text() * 2)  # `mdnmt init` wants 200 lines
    for name in ("text", "test", "system", "baseline"):
        for lang in ("en", "fr", "zh"):
            shutil.copy(project.path("texts/law/train.en"), project.path(f"{name}.{lang}"))
    num_lines = len(project.path("text.en").read_text().splitlines())
    project.path("domains.txt").write_text("law\n" * num_lines)
    table = blocks(ROOT / "docs" / "audit-any-table.md", "tsv")[0].text
    project.path("table.tsv").write_text(table, encoding="utf-8")
    shell(project, "make demo")


def make_environment(project: Project) -> None:
    """Let `mdnmt` of the project's environment start fast; `make setup` finds it finished and leaves it alone."""
    environment = project.path(".venv")
    environment.mkdir(exist_ok=True)
    (environment / "bin").unlink(missing_ok=True)
    (environment / "bin").symlink_to(preforked().programs)
    for stamp in ("installed", "installed-dev"):
        (environment / stamp).write_text("cpu\n")


def shell(project: Project, script: str) -> None:
    """Run a script to its end; the first command that fails is the error."""
    strict = "set -euo pipefail\ntrap 'echo \"FAILED: $BASH_COMMAND\" >&2' ERR\n"
    done = subprocess.run(
        ["bash", "-c", strict + script],
        cwd=project.folder,
        env=preforked().reaching(project.environment),
        text=True,
        capture_output=True,
        check=False,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def shell_until(project: Project, command: str, expected: str) -> None:
    """Start a command that does not end, wait until it prints `expected`, and stop it as Ctrl-C does."""
    with subprocess.Popen(
        ["bash", "-c", f"exec 2>&1; {command}"],
        cwd=project.folder,
        env=preforked().reaching(project.environment),
        text=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line)
            if expected in line:
                break
        else:
            pytest.fail(f"{command}: ended without {expected!r}: {''.join(printed)}")
        os.killpg(process.pid, signal.SIGINT)


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_the_page_work(name: str, demo: Project, tmp_path: Path) -> None:
    project = demo.copy(tmp_path / "project")
    make_environment(project)
    project.environment["BROWSER"] = "true"
    run = next(project.path("results/runs/demo-en-fr/mixed").iterdir()).relative_to(project.folder)
    task = next(project.path("results/tasks").glob("*/task.json")).parent.relative_to(project.folder)
    test = next(project.path(str(run)).glob("test-*")).relative_to(project.folder)
    # Names in capitals stand for the reader's own.
    names: dict[str, str | Path] = {
        "results/runs/TASK/METHOD/SEED/TEST": test,
        "results/runs/TASK/METHOD/SEED": run,
        "results/runs/RUN": run,
        "results/tasks/TASK": task,
        "--task TASK": f"--task {task}",
        "--run RUN": f"--run {run}",
        "HYP": f"{test}/hyp",
        "SHARED": "shared",
    }

    def filled(command: str) -> str:
        for capitals, value in names.items():
            command = command.replace(capitals, str(value))
        return command

    script = [BEFORE.get(name, "")]
    for command in page_commands(PAGES[name]):
        if command not in EXCEPTIONS["until"]:
            script += [filled(command), AFTER.get(command, "")]
    with DURING.get(name, nullcontext)(project):
        shell(project, "\n".join(script))
    for command in page_commands(PAGES[name]):
        if command in EXCEPTIONS["until"]:
            shell_until(project, filled(command), EXCEPTIONS["until"][command])
