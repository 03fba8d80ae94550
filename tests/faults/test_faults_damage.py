"""A file truncated or altered anywhere is found out in one line that names it, or does not change the result."""

from __future__ import annotations

import io
import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from finished import Finished
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.cli import main
from mdnmt.errors import EXIT_USER, MdnmtError
from mdnmt.exhibits.figures.curves import read_curves
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.metrics_log import lost_validations, read_metrics, write_curves

TEXT = "bank rate order\nlaw court bank\n"
# One way to read a result, as text or bytes: what it gives must not change unnoticed.
Reader = Callable[[Finished, Path], object]


def as_data(made: Finished, scratch: Path) -> object:
    data = TaskData.load(made.task)
    splits = [data.split(name) for name in ("train", "valid", "test")]
    return [[part.tolist() for part in (s.source.tokens, s.source.offsets, s.target.tokens, s.domains)] for s in splits]


def as_translations(made: Finished, scratch: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
        out = io.StringIO()
        patch.setattr(sys, "stdout", out)
        status = main(["translate", "--run", str(made.run), "--device", "cpu", "--threads", "1", "--beam-size", "1"])
    return status or out.getvalue()


def as_scores(made: Finished, scratch: Path) -> object:
    out = scratch / "scores.json"
    places = ["--task", str(made.task), "--hypotheses", str(made.test), "--out", str(out)]
    return main(["score", *places]) or out.read_bytes()


def as_table(made: Finished, scratch: Path) -> object:
    return made.table(scratch / "table.csv") or (scratch / "table.csv").read_bytes()


def as_curves(made: Finished, scratch: Path) -> object:
    return read_curves(made.run / "curves.tsv")


def as_measurements(made: Finished, scratch: Path) -> object:
    records = read_metrics(made.run / "metrics.jsonl")
    for update in lost_validations(records, 4, 8):  # as at the end of a run
        print(f"{made.run / 'metrics.jsonl'}: lost {update}: is left out", file=sys.stderr)
    write_curves(records, scratch / "curves.tsv")
    return (scratch / "curves.tsv").read_bytes()


def as_checkpoint(made: Finished, scratch: Path) -> object:
    found = CheckpointStore(made.run / "ckpt", made.spec.fingerprint).load_latest()
    assert found is not None
    return found.update, {name: tensor.tolist() for name, tensor in found.weights.items()}, found.state


READ: dict[str, Reader] = {
    "task/task.json": as_data,
    "task/train.en.tokens.npy": as_data,
    "task/train.fr.offsets.npy": as_data,
    "task/test.domains.npy": as_data,
    "task/vocab.fr.txt": as_data,
    "task/codes.bpe": as_data,
    "task/text/test.law.fr": as_scores,
    "run/model.safetensors": as_translations,
    "run/run.json": as_translations,
    "run/segmentation/codes.bpe": as_translations,
    "run/segmentation/vocab.fr.txt": as_translations,
    "run/segmentation/segmentation.json": as_translations,
    "run/curves.tsv": as_curves,
    "run/metrics.jsonl": as_measurements,
    "test/hyp.law.txt": as_scores,
    "test/likelihood.json": as_scores,
    "test/scores.json": as_table,
    "run/ckpt/update-00000008/model.safetensors": as_checkpoint,
    "run/ckpt/update-00000008/optimizer.safetensors": as_checkpoint,
    "run/ckpt/update-00000008/generators.safetensors": as_checkpoint,
    "run/ckpt/update-00000008/state.json": as_checkpoint,
    "run/ckpt/update-00000008/manifest.json": as_checkpoint,
}
# What is said of a file whose length is right.
OF_TASK, SEAL = "was altered (sha256 differs from task.json)", "do not give the seal that it was written with"
SUMS, OWN = "its sha256 is not the one in sums.json", "its contents do not give the sha256 it was written with"
MANIFEST = "its sha256 is not the one in manifest.json"
TOLD = {
    "task/train.en.tokens.npy": OF_TASK, "task/vocab.fr.txt": OF_TASK, "task/codes.bpe": OF_TASK,
    "task/text/test.law.fr": OF_TASK, "task/task.json": SEAL, "run/run.json": SEAL, "test/scores.json": SEAL,
    "run/model.safetensors": OWN, "run/curves.tsv": SUMS, "test/hyp.law.txt": SUMS, "test/likelihood.json": SUMS,
    "run/segmentation/codes.bpe": SUMS, "run/segmentation/vocab.fr.txt": SUMS,
    "run/metrics.jsonl": "was cut short or altered and is left out",
    "run/ckpt/update-00000008/model.safetensors": MANIFEST,
}  # fmt: skip
DAMAGES = ("a bit", "a byte", "cut", "zeros", "doubled")


def damaged(data: bytes, damage: str, at: int) -> bytes:
    """Return `data` with one damage at a place."""
    at %= len(data)
    if damage == "a bit":
        return data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :]
    if damage == "a byte":
        return data[:at] + bytes([(data[at] + 1 + at % 255) % 256]) + data[at + 1 :]
    if damage == "cut":
        return data[:at]
    if damage == "zeros":  # what a disk gives for a block it lost
        return data[:at] + b"\0" * len(data[at : at + 64]) + data[at + 64 :]
    return data[:at] + data[at : at + 40] * 2 + data[at + 40 :]


def still_readable(data: bytes) -> bytes:
    """Return `data` with another digit in it or, where it has none, another last letter: as well-formed as before."""
    digit = re.search(rb"(?<=[0-9])[0-9](?=[0-9,\s}])", data[200:])
    at = 200 + digit.start() if digit else len(data) - 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def read(reader: Reader, made: Finished, scratch: Path) -> tuple[object, str]:
    """Return what a reader gives, None where it refuses, and all that it said."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", said)
        patch.setattr(sys, "stdout", io.StringIO())
        try:
            found = reader(made, scratch)
        except MdnmtError as error:
            return None, str(error)
    return (None if found == EXIT_USER else found), said.getvalue().rstrip("\n")


@pytest.fixture(scope="module")
def made(whole: Finished, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return whole.copy(tmp_path_factory.mktemp("damage") / "copy")


@pytest.mark.parametrize("name", list(READ))
def test_damage_anywhere_is_found_out_or_harmless(made: Finished, tmp_path: Path, name: str) -> None:
    path, reader = made.root / name, READ[name]
    good, (right, _) = path.read_bytes(), read(reader, made, tmp_path)
    assert right is not None
    noticed: list[str] = []

    @settings(max_examples=12, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(damage=st.sampled_from(DAMAGES), at=st.integers(0, len(good) - 1))
    def check(damage: str, at: int) -> None:
        bad = damaged(good, damage, at)
        path.write_bytes(bad)
        try:
            found, said = read(reader, made, tmp_path)
        finally:
            path.write_bytes(good)
        assert "Traceback" not in said
        if found == right and not said:
            return  # blanks of a JSON file, say
        noticed.append(said)
        # One line that names the file or, of a damaged list of files, the file that it is wrong about.
        lines = said.splitlines()
        assert lines and all(str(made.root) in line for line in lines), said
        if reader is not as_measurements:
            assert len(lines) == 1, said
        if "update-00000008" in name:
            assert found is not None and "taking update 4 instead" in said  # type: ignore[unreachable]
        elif reader is as_measurements:
            assert name in said and "is left out" in said
        else:
            assert found is None

    check()
    assert len(noticed) >= 6
    path.write_bytes(still_readable(good))
    _, said = read(reader, made, tmp_path)
    path.write_bytes(good)
    assert TOLD.get(name, "") in said, said


def test_a_file_of_nothing_but_chance_is_refused(made: Finished, tmp_path: Path) -> None:
    draw = random.Random(3)
    for name, reader in READ.items():
        if reader is as_measurements:
            continue
        path = made.root / name
        good = path.read_bytes()
        for bad in (b"", draw.randbytes(64), b"{}", b"null"):
            path.write_bytes(bad)
            found, said = read(reader, made, tmp_path)
            path.write_bytes(good)
            assert "Traceback" not in said and said.count("\n") == 0 and str(made.root) in said, (name, bad[:9], said)
            assert found is None or "taking update 4 instead" in said, (name, bad[:9])


@pytest.mark.parametrize(
    "name",
    ["run/model.safetensors", "task/vocab.fr.txt", "task/train.en.tokens.npy", "test/hyp.law.txt", "task/codes.bpe"],
)
def test_a_file_that_is_gone_is_named(broken: Finished, tmp_path: Path, name: str) -> None:
    (broken.root / name).unlink()
    found, said = read(READ[name], broken, tmp_path)
    assert found is None and str(broken.root / name) in said and "\n" not in said


def test_of_two_damaged_checkpoints_the_whole_one_is_taken_and_of_none_none(broken: Finished, tmp_path: Path) -> None:
    (broken.run / "ckpt/update-00000008/state.json").write_bytes(b"")
    found, said = read(as_checkpoint, broken, tmp_path)
    assert isinstance(found, tuple) and found[0] == 4
    (broken.run / "ckpt/update-00000004/model.safetensors").write_bytes(b"x")
    found, said = read(as_checkpoint, broken, tmp_path)
    assert found is None and "none of 2 checkpoints is whole" in said and "restore one from a copy" in said


def test_an_array_of_pickled_objects_is_refused(broken: Finished, tmp_path: Path) -> None:
    path = broken.task / "train.en.tokens.npy"
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(MdnmtError, match=r"train\.en\.tokens\.npy"):
        TaskData.load(broken.task)
    with pytest.raises(MdnmtError, match=r"train\.en\.tokens\.npy: cannot be read"):
        TaskData.load(broken.task, verify=False).split("train")


def test_what_was_altered_is_made_again_by_the_command_that_is_named(broken: Finished, tmp_path: Path) -> None:
    path = broken.test / "hyp.law.txt"
    path.write_text(path.read_text().replace("\n", " x\n", 1))
    found, said = read(as_scores, broken, tmp_path)
    assert found is None and "hyp.law.txt: was altered" in said and "start the command that made it again" in said
    shutil.rmtree(broken.test)
    assert broken.decode() == 0 and broken.score() == 0
    assert read(as_scores, broken, tmp_path)[0] is not None
