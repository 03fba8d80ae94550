from __future__ import annotations

import copy
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mdnmt import fsio
from mdnmt.paths import address


def test_text_bytes_json_and_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    fsio.write_text(path, "é\r\n\u2028x")
    assert path.read_bytes() == "é\r\n\u2028x".encode()
    fsio.write_bytes(path, b"\0\xff")
    assert path.read_bytes() == b"\0\xff"
    fsio.write_json(path, {"b": [1, 0.1], "a": "é"})
    assert path.read_text() == '{\n  "a": "é",\n  "b": [\n    1,\n    0.1\n  ]\n}\n'
    assert fsio.read_json(path) == {"a": "é", "b": [1, 0.1]}
    lines = ["a", "", "b\u2028c\x0b\x85d"]
    fsio.write_lines(path, lines)
    assert fsio.read_lines(path) == lines
    assert list(path.parent.iterdir()) == [path]


def test_the_last_line_needs_no_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("a\nb")
    assert fsio.read_lines(path) == ["a", "b"]
    path.write_text("")
    assert fsio.read_lines(path) == []


def test_a_carriage_return_is_text_and_no_line_break(tmp_path: Path) -> None:
    fsio.write_lines(tmp_path / "file", ["a\rb", "c\r"])
    assert fsio.read_lines(tmp_path / "file") == ["a\rb", "c\r"]


def test_json_refuses_what_is_no_number(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fsio.write_json(path, 1)
    with pytest.raises(ValueError):
        fsio.write_json(path, {"loss": float("nan")})
    assert fsio.read_json(path) == 1


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fsio.write_text(path, "old")
    with pytest.raises(RuntimeError), fsio.atomic_open(path) as handle:
        handle.write("half")
        raise RuntimeError
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "file"
    fsio.write_text(path, "old")

    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fails) if call == "fsync" else patch.setattr(Path, "replace", fails)
        with pytest.raises(OSError, match="No space"):
            fsio.write_text(path, "new")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_it_is_on_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, events = tmp_path / "file", []
    sync, replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        events.append("directory" if os.path.samestat(os.fstat(descriptor), tmp_path.stat()) else "file")
        sync(descriptor)

    def rename(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    fsio.write_text(path, "x")
    assert events == ["file", "rename", "directory"]


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fsio.write_text(path, "old")
    with fsio.atomic_open(path) as handle:
        handle.write("new, not yet ended")
        handle.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new, not yet ended"


KILLED = """
import os, signal, sys
from pathlib import Path
from mdnmt import fsio
from mdnmt.paths import address
with fsio.atomic_open(Path(sys.argv[1])) as handle:
    handle.write("half")
    handle.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def left_by_a_killed_writer(path: Path) -> Path:
    """Kill a process amid writing `path`, and return what it left behind."""
    before = set(path.parent.iterdir())
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = set(path.parent.iterdir()) - before
    assert left.read_text() == "half" and left.name.startswith(f".{path.name}.")
    return left


def test_what_a_killed_writer_left_goes_with_the_next_write_of_the_same_file(tmp_path: Path) -> None:
    path, other = tmp_path / "a.json", tmp_path / "a.json.b"
    left, of_other = left_by_a_killed_writer(path), left_by_a_killed_writer(other)
    fsio.write_text(path, "whole")
    assert sorted(tmp_path.iterdir()) == sorted([path, of_other])
    with pytest.raises(RuntimeError), fsio.atomic_open(other):
        raise RuntimeError  # a write that fails as well
    assert list(tmp_path.iterdir()) == [path] and not left.exists()


def test_what_a_living_process_or_another_machine_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    left = left_by_a_killed_writer(path)
    dead = left.name.rpartition("-")[2].partition(".")[0]
    alive = left.rename(left.with_name(left.name.replace(f"-{dead}.", f"-{os.getppid()}.")))
    machine = left.name.removeprefix(".a.json.").partition("-")[0]
    elsewhere = [tmp_path / f".a.json.{'0' * len(machine)}-{dead}.tmp", tmp_path / f".a.json.{dead}.tmp"]
    for file in elsewhere:
        file.touch()
    with fsio.atomic_open(path), fsio.atomic_open(path.with_name("b")):
        fsio.write_text(path.with_name("c"), "")
    assert {alive, *elsewhere} < set(tmp_path.iterdir())


def test_a_tree_half_removed_goes_with_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    (folder / "ckpt").mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(fsio.shutil, "rmtree", lambda path: None)
        patch.setattr(os, "getpid", lambda: gone.pid)
        fsio.remove_tree(folder)
    assert [path.name.endswith(f"-{gone.pid}.removed") for path in tmp_path.iterdir()] == [True]
    folder.mkdir()
    fsio.remove_tree(folder)
    assert not list(tmp_path.iterdir())


def test_a_tree_goes_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    (folder / "ckpt").mkdir(parents=True)
    (folder / "ckpt" / "file").write_text("x")
    removed: list[tuple[Path, bool]] = []
    monkeypatch.setattr(fsio.shutil, "rmtree", lambda path: removed.append((path, folder.exists())))
    fsio.remove_tree(folder)
    # When the slow part begins the name is already free, and what is removed lies beside it, hidden.
    assert [(path.parent, path.name.startswith("."), visible) for path, visible in removed] == [(tmp_path, True, False)]


def test_a_seal_is_taken_off_and_held_against_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    fsio.write_sealed(path, {"score": 26.09, "pairs": ((1, 2),)})
    assert fsio.read_json(path) == {"score": 26.09, "pairs": [[1, 2]]}
    first = path.read_bytes()
    fsio.write_sealed(path, fsio.read_json(path))
    assert path.read_bytes() == first
    path.write_bytes(first.replace(b"26.09", b"26.90"))
    with pytest.raises(fsio.DamagedFile, match=r"file\.json: was altered.* start the command that made it again"):
        fsio.read_json(path)
    path.write_bytes(first.replace(b"26.09", b"NaN"))
    with pytest.raises(fsio.DamagedFile):
        fsio.read_json(path)
    path.write_text('{"score": 3}')  # of an earlier version, or of somebody else: there is nothing to hold it against
    assert fsio.read_json(path) == {"score": 3}


def test_what_is_no_json_is_a_damaged_file_to_those_who_expect_a_value_error(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    for content in (b"", b"{", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"file\.json: is truncated or not JSON") as caught:
            fsio.read_json(path)
        assert isinstance(caught.value, fsio.DamagedFile) and "\n" not in str(caught.value)


def test_the_sums_of_a_folder_are_asked_by_whoever_reads_in_it(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.json"):
        (tmp_path / name).write_text('["x"]\n')
    fsio.write_sums(tmp_path, ["a.txt", "c.json"])
    assert fsio.read_lines(tmp_path / "a.txt") == ['["x"]'] and fsio.read_json(tmp_path / "c.json") == ["x"]
    for name in ("a.txt", "b.txt", "c.json"):
        (tmp_path / name).write_text('["y"]\n')
    for read, name in ((fsio.read_lines, "a.txt"), (fsio.read_text, "a.txt"), (fsio.read_json, "c.json")):
        with pytest.raises(fsio.DamagedFile, match=r"its sha256 is not the one in sums\.json"):
            read(tmp_path / name)  # type: ignore[operator]
    assert fsio.read_lines(tmp_path / "b.txt") == ['["y"]']  # nobody gave its sum


RUN = "results/runs/task/mixed/seed1-0123abcd"
OTHER = "results/runs/task/mixed/seed2-4567abcd"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/any/where/{RUN}/test-01234567/scores.json", "runs/task/mixed/seed1-0123abcd/test-01234567/scores.json"),
        ("results/tasks/a-b-01234567/task.json", "tasks/a-b-01234567/task.json"),
        ("results/demo/significance/x.json", "demo/significance/x.json"),
        ("results/demo/partial/tables/x.json", "demo/partial/tables/x.json"),
        ("/any/best-run/run.json", ""),
        ("results/runs/task/mixed/seed1/run.json", ""),
        ("/checkouts/results/resources/corpora/sha256.json", ""),  # a checkout in a folder named results
    ],
)
def test_an_address_is_what_a_path_below_results_says(path: str, expected: str) -> None:
    assert address(Path(path)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"/x/{RUN}/analysis-01234567/vectors.npz", f"/x/{RUN}/analysis-01234567"),
        (f"{RUN}/test-01234567/hyp/law.txt", f"{RUN}/test-01234567/hyp"),
        (f"{RUN}/test-01234567/scores.json", None),
        ("results/tasks/a-01234567/text/train/law.en", "results/tasks/a-01234567"),
        ("results/tasks/a-01234567/copied-01234567/hyp/law.txt", "results/tasks/a-01234567/copied-01234567/hyp"),
        ("results/tasks/a-01234567/copied-01234567/scores.json", None),
        (
            "results/tasks/a-01234567/external-b-01234567/hyp/law.txt",
            "results/tasks/a-01234567/external-b-01234567/hyp",
        ),
        ("results/tasks/a-01234567/task.json", None),
    ],
)
def test_advice_names_what_snakemake_makes_again(path: str, expected: str | None) -> None:
    error = fsio.DamagedFile(Path(path), "was altered")
    said = str(error)
    assert str(copy.copy(error)) == said, "as a worker process hands it on"
    what = f"remove the folder {expected}, then" if expected else "remove it and"
    assert said.startswith(f"{path}: was altered; {what} start")


def test_a_sealed_file_is_refused_in_the_place_of_another(tmp_path: Path) -> None:
    for run in (RUN, OTHER):
        fsio.write_sealed(tmp_path / run / "run.json", {"run": run})
    shutil.copy(tmp_path / OTHER / "run.json", tmp_path / RUN)
    with pytest.raises(fsio.DamagedFile, match=r"was made as runs/task/mixed/seed2-4567abcd/run.json, not for"):
        fsio.read_json(tmp_path / RUN / "run.json")
    # Moved out of the results, or with all of them, it is still the same file.
    shutil.copy(tmp_path / OTHER / "run.json", tmp_path / "run.json")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "results", tmp_path / "elsewhere" / "results")
    assert fsio.read_json(tmp_path / "run.json") == fsio.read_json(tmp_path / "elsewhere" / OTHER / "run.json")


def test_below_results_a_file_without_a_seal_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / RUN
    fsio.write_json(folder / "scores.json", {"bleu": 30})
    fsio.write_lines(folder / "hyp.law.txt", ["a"])
    with pytest.raises(fsio.DamagedFile, match=r"has no seal, and no sums\.json"):
        fsio.read_json(folder / "scores.json")
    with pytest.raises(fsio.DamagedFile, match=r"no.* vouched|not vouched"):
        fsio.read_lines(folder / "hyp.law.txt")
    fsio.write_sums(folder, ["scores.json", "hyp.law.txt"])
    assert fsio.read_json(folder / "scores.json") == {"bleu": 30} and fsio.read_lines(folder / "hyp.law.txt") == ["a"]


def test_a_removed_file_is_refused_where_the_sums_beside_it_list_it(tmp_path: Path) -> None:
    folder = tmp_path / RUN
    fsio.write_lines(folder / "hyp.law.txt", ["a"])
    fsio.write_sums(folder, ["hyp.law.txt"])
    (folder / "hyp.law.txt").unlink()
    with pytest.raises(fsio.DamagedFile, match=r"hyp\.law\.txt: is gone, though sums\.json lists it"):
        fsio.read_lines(folder / "hyp.law.txt")
    with pytest.raises(FileNotFoundError):
        fsio.read_lines(folder / "hyp.news.txt")


def test_a_file_is_refused_when_what_it_was_made_from_has_changed(tmp_path: Path) -> None:
    source, made, last = (tmp_path / RUN / name for name in ("run.json", "hyp/sums.json", "scores.json"))
    fsio.write_sealed(source, {"model_sha256": "1", "seconds": 5})
    fsio.write_sealed(made, {}, made_from=[source])
    fsio.write_sealed(last, {"bleu": 30}, made_from=[made])
    bytes_before = last.read_bytes()
    assert fsio.read_json(last) == {"bleu": 30}
    # The same weights, trained in another time and in more attempts: nothing differs.
    fsio.write_sealed(source, {"model_sha256": "1", "seconds": 9})
    assert fsio.read_json(last) == {"bleu": 30}
    fsio.write_sealed(made, {}, made_from=[source])
    fsio.write_sealed(last, {"bleu": 30}, made_from=[made])
    assert last.read_bytes() == bytes_before
    fsio.write_sealed(source, {"model_sha256": "2", "seconds": 5})
    with pytest.raises(fsio.DamagedFile, match=r"hyp/sums.json: was made from another .*run.json than the one"):
        fsio.read_json(last)
    source.unlink()  # what is gone cannot contradict
    assert fsio.read_json(last) == {"bleu": 30}


def test_a_file_of_a_study_of_other_runs_is_refused(tmp_path: Path) -> None:
    scores, tests = tmp_path / RUN / "test-01234567" / "scores.json", tmp_path / "results/tiny/significance/table.json"
    fsio.write_sealed(scores, {"bleu": 30})
    fsio.write_sealed(tests, {"p": 0.5}, made_from=[scores])
    assert fsio.read_json(tests) == {"p": 0.5}
    scores.unlink()
    scores.parent.rmdir()
    scores.parent.parent.rmdir()
    with pytest.raises(fsio.DamagedFile, match=r"table\.json: was made from another runs/.*/scores.json"):
        fsio.read_json(tests)
    # Moved out of the results it is read wherever it is.
    shutil.copy(tests, tmp_path / "table.json")
    assert fsio.read_json(tmp_path / "table.json") == {"p": 0.5}


def test_a_file_made_with_other_options_is_refused(tmp_path: Path) -> None:
    tests = tmp_path / "results/tiny/significance/table.json"
    asked = {str(tests): fsio.options_hash({"num_resamples": 1000})}
    fsio.require_options(asked)  # a file that is not there is its reader's affair
    fsio.write_sealed(tests, {"p": 0.5}, made_with={"num_resamples": 1000})
    fsio.require_options(asked)
    assert fsio.read_json(tests) == {"p": 0.5} and fsio.has_options(tests, asked[str(tests)])
    for options in ({"num_resamples": 20}, None):
        fsio.write_sealed(tests, {"p": 0.4}, made_with=options)
        assert not fsio.has_options(tests, asked[str(tests)])
        with pytest.raises(fsio.DamagedFile, match=r"table\.json: was made with other options than this study asks"):
            fsio.require_options(asked)


def test_a_file_is_tied_to_files_of_any_format(tmp_path: Path) -> None:
    table, form = tmp_path / "results/tiny/tables/t.json", tmp_path / "results/tiny/tables/t.csv"
    fsio.write_text(form, "a,1\n")
    fsio.write_sealed(table, {"a": 1}, made_from=[form])
    assert fsio.read_json(table) == {"a": 1}
    form.write_text("a,2\n")
    with pytest.raises(fsio.DamagedFile, match=r"t\.json: was made from another tiny/tables/t\.csv than the one"):
        fsio.read_json(table)


def test_what_vouches_for_an_input(tmp_path: Path) -> None:
    folder = tmp_path / "analysis"
    fsio.write_lines(folder / "a.txt", ["a"])
    fsio.write_sums(folder, ["a.txt"])
    fsio.write_json(tmp_path / "b.json", {})
    inputs = [folder, folder / "a.txt", tmp_path / "b.json", tmp_path / "gone.json", tmp_path / "c.txt"]
    assert fsio.sealed(inputs) == [folder / "sums.json", tmp_path / "b.json"]
