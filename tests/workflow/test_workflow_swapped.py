"""A file of a finished study, replaced by the same file of another run, is refused or changes no number."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from workflow.snakemake_project import Project

from mdnmt.cli import main
from mdnmt.errors import EXIT_USER
from mdnmt.exchange.project_study import open_study, read_given
from mdnmt.fsio import ADDRESS, MADE_FROM, MADE_WITH, SEAL
from mdnmt.report.make_exhibits import Exhibits

pytestmark = pytest.mark.slow

READERS = ("decode", "analyse", "score", "significance", "tables", "figures")
VOLATILE = {"provenance", "made", SEAL, ADDRESS, MADE_FROM, MADE_WITH}  # when and from what
# Written while a run is trained; nothing reads them afterwards.
OF_TRAINING = re.compile(r"/ckpt/|metrics\.jsonl$|lease$|attempts\.json$|events\.")


def stage(words: list[str]) -> str:
    """Return a verb, or what `mdnmt exhibit` makes."""
    return words[-1].partition("/")[0] if words[0] == "exhibit" else words[0]


def commands(project: Project) -> list[list[str]]:
    """Return the commands of the stages after training, each as its words, in the order in which they ran."""
    return sorted(
        (words for words in project.commands() if stage(words) in READERS), key=lambda one: READERS.index(stage(one))
    )


def numbers(project: Project) -> dict[str, object]:
    """Return what the tables and figures say."""
    found: dict[str, object] = {}
    for path in sorted(project.folder.glob("results/tiny/*/*.json")):
        if path.parent.name in ("tables", "figures", "significance"):
            value = json.loads(path.read_text())
            found[path.name] = {key: part for key, part in value.items() if key not in VOLATILE}
    return found


def twins(project: Project) -> list[tuple[Path, Path]]:
    """Return each file of the first run of a method with the same file of the other method's run."""
    one, other = (next(project.folder.glob(f"results/runs/tiny/{name}/seed1-*")) for name in ("mixed", "waldm-edc"))

    def plain(path: Path, run: Path) -> str:
        return re.sub(r"-[0-9a-f]{8}(?=/)", "", path.relative_to(run).as_posix())

    there = {plain(path, other): path for path in sorted(other.rglob("*")) if path.is_file()}
    pairs = [(path, there.get(plain(path, one))) for path in sorted(one.rglob("*")) if path.is_file()]
    return [(a, b) for a, b in pairs if b is not None and not OF_TRAINING.search(a.as_posix())]


def test_a_file_of_another_run_never_changes_a_number(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.folder)
    verbs, right, pairs = commands(project), numbers(project), twins(project)
    assert {stage(words) for words in verbs} == set(READERS)
    names = {path.name for path, _ in pairs}
    assert {"model.safetensors", "run.json", "curves.tsv", "scores.json", "sums.json", "likelihood.json"} <= names
    refused = set()
    for path, twin in pairs:
        good = path.read_bytes()
        if good == twin.read_bytes():
            continue
        shutil.copyfile(twin, path)
        # Each stage once on the swapped file; decoding and scoring would write it again, so they come last.
        for words in reversed(verbs):
            status = main(words)
            said = capsys.readouterr().err
            assert status in (0, EXIT_USER), f"{path}: {stage(words)}: {said}"
            if status == EXIT_USER:
                assert said.count("\n") == 1 and "Traceback" not in said
                if path.name == "model.safetensors":
                    assert "these are not the weights that run.json beside it describes" in said
                refused.add(path.name)
            assert numbers(project) == right, f"{path}: {stage(words)} changed a number"
        path.write_bytes(good)
    assert {"model.safetensors", "run.json", "scores.json", "sums.json", "hyp.economy.txt"} <= refused
    for words in verbs:
        assert main(words) == 0
    assert numbers(project) == right


def make(key: str) -> None:
    """Make an exhibit by the configuration of now."""
    config = Path("config")
    opened = open_study(config, read_given(config, "tiny", ()), Path("resources/corpora"), Path("results"))
    Exhibits(opened.study, opened.places, opened.project.command).make([key])


def test_a_file_made_with_other_options_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The runs are the same, so nothing but the options differs; the reader of each file refuses it."""
    monkeypatch.chdir(project.folder)
    found = project.commands()
    verbs = {stage(words): words for words in found}
    page = project.path("results/tiny/report.html").read_bytes()
    table, figure = (verbs[kind][-1].partition("/")[2].partition("-") for kind in ("tables", "figures"))
    others: dict[str, tuple[str, str, object]] = {
        "significance": ("config/studies/tiny.yaml", "comparison__num_resamples", 21),
        "tables": (f"config/papers/{table[0]}.yaml", f"tables__{table[2]}__title", "Other"),
        "figures": (f"config/papers/{figure[0]}.yaml", f"figures__{figure[2]}__title", "Other"),
    }
    readers = {"significance": f"tables/{verbs['significance'][-1].partition('/')[2]}"}
    for kind, (file, key, value) in others.items():
        words, before = verbs[kind], project.path(file).read_bytes()
        project.update(file, **{key: value})
        # The command of the plan refuses the edited study.
        assert main(words) == EXIT_USER and "is not the one that was planned for" in capsys.readouterr().err
        make(words[-1])
        project.path(file).write_bytes(before)
        capsys.readouterr()
        reader = readers.get(kind, "report")
        assert main(next(one for one in found if one[-1] == reader)) == EXIT_USER, kind
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "was made with other options than this study asks for; remove it" in said
        assert f"/{words[-1]}.json" in said
        assert main(words) == 0
    assert project.path("results/tiny/report.html").read_bytes() == page
    for words in (*(words for words in found if stage(words) == "claims"), verbs["report"]):
        assert main(words) == 0
