"""A task made chunk by chunk, on disk: what a slow reference makes in memory, whatever the chunks and the processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from reference import tasks as slow
from reference.tasks import Domain
from texts_on_disk import chunks_of, fetched, fresh

from mdnmt.config.task import TaskConfig
from mdnmt.errors import DataError
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_spec import TaskSpec, task_spec

SPLITS = ("train", "valid", "test")


def spec_of(root: Path, domains: Mapping[str, Domain], **changes: Any) -> TaskSpec:
    """Return the spec of a task whose domains are a user's files."""
    corpora, configured = fetched(root, {name: {"train": one.raw, **one.own} for name, one in domains.items()}), {}
    for name, domain in domains.items():
        rule = {"seed": domain.seed, "every": domain.every, "modulo": domain.modulo}
        configured[name] = {"corpora": [name], "split": rule, **domain.wanted}
    task = {
        "title": "Toy",
        "source_lang": "en",
        "target_lang": "fr",
        "domains": configured,
        "segmentation": {"tokenizer": "none", "bpe": "none"},
        **changes,
    }
    return task_spec("toy", TaskConfig.model_validate(task), corpora, root / "hashes.json")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def text_of(folder: Path, split: str, domain: str) -> list[tuple[str, str]]:
    sides = [(folder / "text" / f"{split}.{domain}.{lang}").read_text().split("\n")[:-1] for lang in ("en", "fr")]
    return list(zip(*sides, strict=True))


# Few words in several spellings, so that sources and targets meet often, and rows that the cleaning drops.
WORDS = st.sampled_from(["e\u0301te\u0301", "\u00e9t\u00e9", "x", "Stra\u00dfe", "STRASSE", "a  b", "12", "no\u00a0"])
SEGMENT = st.builds(lambda number, upper: f"{'W' if upper else 'w'}{number}", st.integers(0, 40), st.booleans()) | WORDS
PAIRS = st.lists(st.tuples(SEGMENT, SEGMENT) | st.just(("", "empty")) | st.just(("a b c d e f", "g")), min_size=40)
FEW = st.lists(st.tuples(SEGMENT, SEGMENT), min_size=2, max_size=5)


@st.composite
def some_domain(draw: st.DrawFn) -> Domain:
    rule = draw(st.sampled_from(["none", "none", "every", "modulo"]))
    ruled = {"none": (), "every": ("valid",), "modulo": ("valid", "test")}[rule]
    own = {split: draw(FEW) for split in ("valid", "test") if split not in ruled and draw(st.booleans())}
    wanted: dict[str, int | None] = {"train": draw(st.sampled_from([None, None, 3]))}
    for split in ("valid", "test"):
        wanted[split] = draw(st.sampled_from([None, 1, 2])) if split in (*ruled, *own) else draw(st.integers(1, 3))
    every, modulo = (draw(st.integers(3, 9)) if rule == "every" else None, 10 if rule == "modulo" else None)
    return Domain(draw(PAIRS), own, wanted, every, modulo, draw(st.integers(1, 3)))


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(some_domain(), min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 3, 7, 2000]),
)
def test_text_leakage_and_identities_are_those_of_the_reference(
    given_domains: list[Domain], deduplicate: bool, remove: bool, lines_per_chunk: int
) -> None:
    domains = {f"d{number}": domain for number, domain in enumerate(given_domains)}
    root = fresh()
    keys = {"cleaning": {"deduplicate": deduplicate}, "leakage": {"remove": remove, "near_duplicates": None}}
    spec = spec_of(root, domains, **keys)
    try:
        expected, pools = slow.splits(domains, deduplicate, remove)
    except ValueError as error:
        event(str(error))
        with pytest.raises(DataError, match="sentence"), chunks_of(lines_per_chunk):
            build_task(spec, root / "fetched", root / "out")
        return
    event("made")
    out = root / "out"
    with chunks_of(lines_per_chunk):
        build_task(spec, root / "fetched", out)
    found = {name: {split: text_of(out, split, name) for split in SPLITS} for name in domains}
    assert found == expected
    table = json.loads((out / "leakage.json").read_text())["domains"]
    assert table == slow.leakage(expected, pools, remove)
    hashes = json.loads((out / "task.json").read_text())["splits"]
    assert hashes == {split: {name: slow.identity(expected[name][split]) for name in domains} for split in SPLITS}
    report = json.loads((out / "stats.json").read_text())["cleaning"]
    for name, domain in domains.items():
        if not domain.modulo:
            kept, dropped = slow.cleaned(domain.raw, deduplicate)
            assert report[name] == {"read": len(domain.raw), "kept": len(kept), "dropped": dropped}


def some_text(seed: int, count: int) -> list[tuple[str, str]]:
    generator = np.random.default_rng(seed)
    words = [f"{'Wort' if number % 3 else 'wort'}{number}{'.' if number % 7 == 0 else ''}" for number in range(200)]
    lines = [[words[place] for place in generator.integers(0, 200, generator.integers(1, 9))] for _ in range(count)]
    pairs = [(" ".join(line), " ".join(word[::-1] for word in line)) for line in lines]
    return [*pairs, *pairs[::9], *((source.upper(), target) for source, target in pairs[::13])]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["joint", "by domain"])
def test_the_same_bytes_whatever_the_processes_and_the_chunks(kind: str, tmp_path: Path) -> None:
    # More lines than a chunk, because other processes write what they read in chunks of the usual size.
    one = Domain(some_text(1, 2500), {"valid": some_text(4, 9)}, {"train": 200, "valid": None, "test": 20})
    two = Domain(some_text(2, 300), {}, {"train": None, "valid": None, "test": None}, modulo=20)
    three = Domain(some_text(3, 300), {}, {"train": None, "valid": None, "test": 15}, every=23)
    bpe = {"bpe": "joint" if kind == "joint" else "domain", "bpe_merge_operations": 60}
    cleaning = {"recipe": "zhang"} if kind == "joint" else {"recipe": "jiang", "max_tokens": 30}
    spec = spec_of(tmp_path, {"one": one, "two": two, "three": three}, segmentation=bpe, cleaning=cleaning)
    made = []
    for jobs, lines_per_chunk in ((1, 2000), (1, 7), (3, 77) if kind == "joint" else (2, 50)):
        out = tmp_path / f"out-{jobs}-{lines_per_chunk}"
        with chunks_of(lines_per_chunk):
            build_task(spec, tmp_path / "fetched", out, jobs)
        made.append(contents(out))
    assert len(made[0]) > 30 and all(found == made[0] for found in made[1:])
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
