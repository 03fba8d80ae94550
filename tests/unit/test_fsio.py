from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mdnmt import fsio


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
        with pytest.raises(ValueError, match=r"file\.json: is truncated or no JSON") as caught:
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
