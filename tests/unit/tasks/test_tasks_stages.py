"""The stages of a task's data: what changes which address, what is repeated, who waits, and what a kill leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from reference.tasks import Domain
from test_tasks_streaming import contents, some_text, spec_of

from mdnmt.errors import DataError
from mdnmt.tasks import build
from mdnmt.tasks.stage_folder import make_once, stage_folder
from mdnmt.tasks.task_spec import TaskSpec

BPE = {"tokenizer": "none", "bpe": "side", "bpe_merge_operations": 20}


def spec_with(root: Path, domains: dict[str, Domain], **changes: Any) -> TaskSpec:
    root.mkdir()
    return spec_of(root, domains, **{"segmentation": BPE, **changes})


@pytest.fixture
def domains() -> dict[str, Domain]:
    return {"law": Domain(some_text(1, 60), {}, {"train": None, "valid": 9, "test": 3})}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by the name of each stage that is made."""
    made: list[str] = []

    def record(stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def make(*arguments: Any) -> Any:
            made.append(stage)
            return function(*arguments)

        return make

    for stage in ("text", "tokens", "codes", "arrays"):
        monkeypatch.setattr(build, f"make_{stage}", record(stage, getattr(build, f"make_{stage}")))
    return made


@pytest.mark.slow
def test_a_change_repeats_only_the_stages_that_read_it(
    domains: dict[str, Domain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counted(monkeypatch)
    changes: dict[str, dict[str, Any]] = {
        "text tokens codes arrays": {},
        "codes arrays": {"segmentation": {**BPE, "bpe_merge_operations": 21}},
        "codes arrays ": {"vocabulary": {"joint": False}},
        "tokens codes arrays": {"segmentation": {**BPE, "tokenizer": "character"}},
        "text tokens codes arrays ": {"cleaning": {"max_tokens": 5}},
    }
    root, texts = tmp_path / "results" / "tasks", {}
    for number, (expected, change) in enumerate(changes.items()):
        spec = spec_with(tmp_path / str(number), domains, **change)
        out = root / f"toy-{spec.fingerprint}"
        made.clear()
        build.build_task(spec, tmp_path / str(number) / "fetched", out)
        assert made == expected.split()
        texts[expected] = (out / "text" / "train.law.en").stat().st_ino
        # What is made of existing stages is what is made of nothing.
        alone = tmp_path / "alone" / "results" / "tasks" / str(number) / out.name
        build.build_task(spec, tmp_path / str(number) / "fetched", alone)
        assert contents(alone).keys() == contents(out).keys()
        assert all(data == contents(alone)[name] for name, data in contents(out).items() if not name.endswith("json"))
    # The text is a hard link, so it is on the disk once.
    assert texts["codes arrays"] == texts["text tokens codes arrays"] != texts["text tokens codes arrays "]


def test_lengths_in_pieces_change_the_text_after_the_codes(domains: dict[str, Domain], tmp_path: Path) -> None:
    # Some sentences are removed as leaks, so that the text before their removal is needed as well.
    short = {"recipe": "jiang", "unit": "pieces", "max_tokens": 25}
    specs = [
        spec_with(tmp_path / str(merges), domains, cleaning=short, segmentation={**BPE, "bpe_merge_operations": merges})
        for merges in (0, 200)
    ]
    assert specs[0].stages["tokens"] == specs[1].stages["tokens"]
    made = []
    for spec in specs:
        out = tmp_path / "tasks" / f"toy-{spec.fingerprint}"
        build.build_task(spec, tmp_path / "0" / "fetched", out)
        made.append((out / "text" / "train.law.en").read_text().count("\n"))
    assert 0 < made[0] < made[1]


def test_a_stage_that_is_killed_is_repeated_and_none_before_it(
    domains: dict[str, Domain], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, root = spec_with(tmp_path / "0", domains), tmp_path / "tasks"

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mdnmt.tasks.codes_stage.learn_encoder", killed)
        with pytest.raises(KeyboardInterrupt):
            build.build_task(spec, tmp_path / "0" / "fetched", root / "toy")
    assert sorted(path.parent.parent.name for path in root.glob("*/*/*.json")) == ["text", "tokens"]
    assert not list((root / "codes").iterdir()) and not (root / "toy").exists()
    made = counted(monkeypatch)
    build.build_task(spec, tmp_path / "0" / "fetched", root / "toy")
    assert made == ["codes", "arrays"]


def test_the_second_of_two_waits_and_makes_nothing(domains: dict[str, Domain], tmp_path: Path) -> None:
    spec = spec_with(tmp_path / "0", domains)
    folder = stage_folder(tmp_path / "tasks", spec, "text")
    made: list[str] = []

    def by_the_second(part: Path) -> dict[str, Any]:
        made.append("second")
        return {}

    def by_the_first(part: Path) -> dict[str, Any]:
        second.start()
        made.append("first")
        return {}

    second = threading.Thread(target=make_once, args=(folder, spec, by_the_second))
    make_once(folder, spec, by_the_first)
    second.join()
    assert made == ["first"] and (folder / "text.json").is_file()


@pytest.mark.parametrize(
    "stage, file", [("text", "train.law.en"), ("tokens", "words/test.law.fr"), ("codes", "vocab.en.txt")]
)
def test_a_damaged_stage_is_named_and_made_again(
    stage: str, file: str, domains: dict[str, Domain], tmp_path: Path
) -> None:
    spec, root, fetched = spec_with(tmp_path / "0", domains), tmp_path / "tasks", tmp_path / "0" / "fetched"
    build.build_task(spec, fetched, root / "toy")
    folder = stage_folder(root, spec, stage)
    before = (folder / file).read_bytes()
    (folder / file).write_bytes(before[:-2] + b"x\n")
    with pytest.raises(DataError, match=rf"{file}: was altered .* remove the folder {folder} and start"):
        build.build_task(spec, fetched, root / "toy", stages=("arrays",))
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    build.build_task(spec, fetched, root / "toy")
    assert (folder / file).read_bytes() == before
