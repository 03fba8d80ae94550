"""A disk that is full or cannot be written, a process killed inside a file: one line, nothing lost, and it goes on."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from chosen_cases import chosen_cases
from faulty import Disk, dies_writing, read_only, small_disk
from finished import Finished, refused
from workflow.snakemake_project import Project

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import run as training

pytestmark = pytest.mark.slow  # each kills processes inside a write


def contents(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder but what is hidden, and the diary of a run."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in found
        if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.name not in {"metrics.jsonl", "lease"}
    }


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk") as made:
        yield made


@pytest.fixture(autouse=True)
def _was_free_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the check before the start find room: here the disk fills up afterwards."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**12))


@pytest.fixture
def stored(whole: Finished, disk: Disk) -> Finished:
    """Return a copy of the finished run on a disk of its own."""
    return whole.copy(disk.folder / "copy")


def test_a_disk_full_anywhere_in_training_loses_nothing(
    whole: Finished, stored: Finished, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(stored.run)
    assert stored.train("--stop-after-minutes", "0.0000001") == 75
    store, before, failures = CheckpointStore(stored.run / "ckpt", stored.spec.fingerprint), 0, []
    # A little more room at each attempt: checkpoints, weights, curves and the record each meet the end of the disk.
    for kib in range(0, 4096, 24):
        capsys.readouterr()
        with disk.with_room(kib):
            status = stored.train()
        if status == 0:
            break
        failures.append(refused(capsys, status, disk.told, "untouched", "make room", "start the same command again"))
        latest = store.load_latest()
        assert latest is not None and latest.update >= before
        before = latest.update
        assert not (stored.run / "run.json").exists()
    assert any("cannot save the checkpoint" in line for line in failures) and len(failures) >= 3
    capsys.readouterr()
    assert stored.train() == 0
    assert stored.outcome() == whole.outcome()


def test_folders_that_cannot_be_written_are_named_in_one_line(
    stored: Finished, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(stored.root)
    for verb in (stored.make_task, stored.train, stored.decode, stored.score):
        capsys.readouterr()
        with read_only(disk.folder):
            status = verb()
        refused(capsys, status, str(stored.root), "Read-only file system", "give write permission")
    capsys.readouterr()
    with read_only(disk.folder):
        status = stored.table(stored.root / "table.csv")
    refused(capsys, status, "table.csv: Read-only file system")
    assert contents(stored.root) == before


@pytest.mark.parametrize("number", chosen_cases(range(16), 0, 3, 7, 11, 15))
def test_killed_inside_a_checkpoint_a_run_ends_with_the_same_bytes(
    whole: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    run = Finished(tmp_path, whole.corpora, whole.spec)
    shutil.copytree(whole.task, run.task)
    draw = random.Random(number)
    # Which save it is of some twenty, and where in the first file of it that is long enough.
    which, byte = draw.randrange(8), draw.randrange(1, (whole.run / "model.safetensors").stat().st_size)
    saves = 0

    def begin(arm: Callable[[], None]) -> None:
        save = CheckpointStore.save

        def armed(self: CheckpointStore, *contents: object) -> Path:
            nonlocal saves
            if saves == which:
                arm()
            saves += 1
            return save(self, *contents)  # type: ignore[arg-type]

        monkeypatch.setattr(CheckpointStore, "save", armed)

    assert dies_writing(lambda: run.train("--save-every-updates", "1"), byte, begin)
    latest = CheckpointStore(run.run / "ckpt", run.spec.fingerprint).load_latest()
    assert (latest.update if latest else 0) == which
    assert run.train() == 0
    assert run.outcome() == whole.outcome()


@pytest.mark.parametrize("number", range(4))
def test_killed_inside_the_final_files_a_run_ends_with_the_same_bytes(
    whole: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    run = whole.copy(tmp_path / "copy")
    for name in ("model.safetensors", "curves.tsv", "run.json", "sums.json"):
        (run.run / name).unlink()
    place = ("save_model", "write_curves")[number % 2]
    name = ("model.safetensors", "curves.tsv")[number % 2]
    size = (whole.run / name).stat().st_size

    def begin(arm: Callable[[], None]) -> None:
        # The diary is longer than the curves: the kill is armed where the file in question is written.
        original = getattr(training, place)
        monkeypatch.setattr(training, place, lambda *given: (arm(), original(*given)))

    assert dies_writing(run.train, random.Random(number).randrange(1, size), begin)
    assert not (run.run / name).exists()
    assert run.train() == 0
    assert run.outcome() == whole.outcome()


@pytest.mark.parametrize("verb", ["make_task", "score", "decode"])
def test_killed_inside_any_file_of_a_verb_the_same_command_makes_it_whole(
    broken: Finished, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    act: Callable[[], int] = getattr(broken, verb)
    assert act() == 0
    before, deaths = contents(broken.root), 0
    made = broken.task if verb == "make_task" else broken.test
    sizes = {len(data) for name, data in before.items() if (broken.root / name).is_relative_to(made)}
    for byte in sorted(random.Random(7).sample(range(1, max(sizes)), 8)):
        deaths += dies_writing(act, byte)
        # Nothing is ever half: what is there is what was there.
        after = contents(broken.root)
        assert {name: data for name, data in after.items() if before.get(name) != data} == {}
        assert act() == 0
        assert contents(broken.root) == before
    assert deaths >= 3
    assert len(TaskData.load(broken.task).split("train")) == 120


def test_snakemake_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    with small_disk(project.path(".snakemake"), 256) as disk:
        if not disk.mounted:
            return  # small_disk has warned
        with disk.with_room(0):
            command = ["snakemake", "--cores", "1", "data"]
            run = subprocess.run(
                command, cwd=project.folder, env=project.environment, capture_output=True, text=True, check=False
            )
    lines = [line for line in run.stderr.splitlines() if not line.startswith("Using workflow specific profile")]
    assert run.returncode == 2 and len(lines) == 1, run.stderr
    assert lines[0].startswith("snakemake: .snakemake: 0.0 MB are free there; nothing was started: make room")
