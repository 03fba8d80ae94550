"""A mistake in any file of config/ is one line that names file and key, said before anything is made."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from bad_config import FULL, BadConfig, Mistakes, dump
from chosen_cases import chosen_cases
from workflow.snakemake_project import Project

from mdnmt.config.claims import check_claims, load_claims
from mdnmt.config.cluster import load_cluster
from mdnmt.config.deviations import load_deviations
from mdnmt.config.loader import load_model, load_yaml, validate_model
from mdnmt.config.method import MethodIndex
from mdnmt.config.paper import load_paper
from mdnmt.config.project import ProjectConfig
from mdnmt.errors import ConfigError
from mdnmt.statements.audit.printed_tables import load_inputs
from mdnmt.studies.resolve import resolve

CONFIG = Path("config")


def read_study() -> None:
    """Read all that Snakemake reads before it plans a job."""
    project = load_model(CONFIG / "config.yaml", ProjectConfig)
    resolve(CONFIG, project.study, Path("resources/corpora"), project.seeds)


def read_paper() -> None:
    paper = load_paper(CONFIG, "jiang2020")
    check_claims(load_claims(CONFIG, "jiang2020"), paper, MethodIndex(CONFIG).names, "config/claims/jiang2020.yaml")


# file -> who reads it, keys below which names are free, keys that take anything, how many mistakes of each kind,
# keys that must not be missing.
FILES: dict[str, tuple[Callable[[], Any], set[str], set[str], tuple[int, int, int], tuple[str, ...]]] = {
    "config.yaml": (read_study, set(), set(), (8, 12, 8), ()),
    "studies/tiny.yaml": (
        read_study,
        {"tables", "figures"},
        set(),
        (40, 50, 20),
        ("title", "description", "tables.jiang2020-table2.task"),
    ),
    "tasks/tiny.yaml": (
        read_study,
        {"domains"},
        set(),
        (10, 16, 8),
        ("title", "source_lang", "target_lang", "domains", "domains.law.test", "domains.law.valid"),
    ),
    "corpora/tiny-law.yaml": (
        read_study,
        set(),
        set(),
        (10, 12, 0),
        ("title", "languages", "source", "reader", "source.provider", "source.folder", "reader.name"),
    ),
    "methods/transformer.yaml": (read_study, {"methods"}, set(), (12, 16, 4), ("builder", "methods.mixed.label")),
    "papers/jiang2020.yaml": (
        read_paper,
        {"tables", "figures", "printed_columns", "metric_differs", "architecture"},
        {"architecture"},
        (12, 12, 10),
        ("title", "citation", "tables.table2.kind", "figures.figure6.caption"),
    ),
    "claims/jiang2020.yaml": (read_paper, {"claims", "at"}, {"at"}, (12, 12, 0), ()),
    "audit/jiang2020.yaml": (lambda: load_inputs(CONFIG), {"cells", "names", "options"}, {"options"}, (12, 12, 0), ()),
    "cluster.yaml": (
        lambda: load_cluster(CONFIG),
        {"sizes"},
        set(),
        (12, 24, 12),
        ("sizes.large.up_to_parameters", "sizes.large.mem_mb", "sizes.large.train_minutes"),
    ),
    "corpora.lock.yaml": (
        read_study,
        {"corpora", "known"},
        set(),
        (8, 16, 6),
        ("corpora.tiny-law.0.file", "corpora.tiny-law.0.sha256", "known.kde.0.size_bytes", "known.kde.0.date"),
    ),
    "tasks.lock.yaml": (read_study, {"tasks", "tiny", "train", "valid", "test"}, set(), (4, 20, 0), ()),
    "deviations.yaml": (
        lambda: load_deviations(CONFIG),
        {"in_paper"},
        {"default", "in_paper"},
        (5, 5, 0),
        ("rows.0.id", "rows.0.said"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    made = Project.create(tmp_path_factory.mktemp("bad-config") / "project")
    for file, value in FULL.items():
        made.write(f"config/{file}", value)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made.folder)
        read_study()  # without a mistake nothing is said
        load_cluster(CONFIG)
        yield made


@cache
def mistakes_in(config: Path, file: str) -> list[BadConfig]:
    _, free, anything, (misspelt, typed, ranged), required = FILES[file]
    made = Mistakes(config, file, free, anything)
    return [
        *made.misspelt_keys(misspelt),
        *made.wrong_types(typed),
        *made.out_of_range(ranged),
        *made.missing(*required),
    ]


def complaint(project: Project, bad: BadConfig, read: Callable[[], Any]) -> str:
    """Return what is wrong with the message that a bad file gives; nothing where it is as it should be."""
    path = project.path(f"config/{bad.file}")
    good = path.read_bytes()
    path.write_bytes(bad.content)
    try:
        read()
    except ConfigError as error:
        said = str(error)
    except Exception as error:
        return f"{bad.label}: a traceback: {error!r}"
    else:
        return f"{bad.label}: nothing was said"
    finally:
        path.write_bytes(good)
    wanting = [name for name in (bad.file, *bad.names) if name not in said]
    return f"{bad.label}: {wanting} is not in: {said}" if wanting or "\n" in said else ""


@pytest.mark.slow
@pytest.mark.parametrize("file", chosen_cases(FILES, "config.yaml", "methods/transformer.yaml", "cluster.yaml"))
def test_each_mistake_in_a_file_is_one_line_with_file_and_key(project: Project, file: str) -> None:
    found = mistakes_in(project.path("config"), file)
    assert [text for bad in found if (text := complaint(project, bad, FILES[file][0]))] == []
    assert len({bad.content for bad in found}) >= 10


def with_changes(project: Project, file: str, *changes: tuple[str, Any]) -> bytes:
    """Return a file's text with other values at dotted places; what is not there yet is added."""
    value = yaml.safe_load(project.path(f"config/{file}").read_text())
    for place, new in changes:
        parent, *parts = value, *place.split(".")
        for part in parts[:-1]:
            parent = parent[int(part)] if isinstance(parent, list) else parent.setdefault(part, {})
        if isinstance(parent, list):
            parent.insert(int(parts[-1]), new)
        else:
            parent[parts[-1]] = new
    return dump(value)


STUDY, TASK, LAW = "studies/tiny.yaml", "tasks/tiny.yaml", "corpora/tiny-law.yaml"
HTTP = {"provider": "http", "urls": ["https://example.org/a.zip"], "file": "a.zip"}
# What is right by itself and wrong together: file, changes, what is named.
CONTRADICTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("config.yaml", {"seeds": -1}, "seeds"),
    ("config.yaml", {"seeds": 0}, "seeds"),
    ("config.yaml", {"seeds": [1, 1]}, "seeds"),
    ("config.yaml", {"seeds": [-1]}, "seeds"),
    ("config.yaml", {"seeds": 10**12}, "seeds"),
    ("config.yaml", {"seeds": [2**32]}, "seeds"),
    ("config.yaml", {"seeds": 1.5}, "seeds"),
    ("config.yaml", {"seeds": True}, "seeds"),
    ("config.yaml", {"device": "gpu"}, "device"),
    ("config.yaml", {"device": "cuda:-1"}, "device"),
    ("config.yaml", {"device": "cuda:0; rm -rf ~"}, "device"),
    (STUDY, {"decoding.nbest": 3}, "nbest"),
    (STUDY, {"comparison.baseline": "single"}, "comparison.baseline"),
    (STUDY, {"methods": ["mixed", "mixed-edc"]}, "mixed-edc"),
    (STUDY, {"methods": ["mixed", "mixed"]}, "'mixed' is in the list 2 times"),
    (STUDY, {"decoding.beam_size": 100_000}, "beam_size"),
    (STUDY, {"methods": ["../methods/mixed"]}, "methods"),
    (STUDY, {"tasks": ["tiny "]}, "tiny "),
    (STUDY, {"tasks": ["$(touch hacked)"]}, "$(touch hacked)"),
    (STUDY, {"tables": {"jiang2020-table2": {"task": "tinny"}}}, "jiang2020-table2.task"),
    (STUDY, {"tables": {"jiang2020": {"task": "tiny"}}}, "tables.jiang2020"),
    (STUDY, {"per_task": {"big": {}}}, "unknown key 'per_task'; write options: [{match: {task: NAME}, set: ...}]"),
    (STUDY, {"options.1": {"match": {"task": "big"}, "set": {}}}, "options.1.match.task: 'big'"),
    (STUDY, {"options.1": {"match": {"family": "tags"}, "set": {}}}, "options.1.match.family: 'tags'"),
    (STUDY, {"options.1": {"match": {}}}, "options.1.set"),
    (STUDY, {"like": "tiny"}, "like"),
    (STUDY, {"like": "nowhere"}, "like"),
    (STUDY, {"variants": {"mixed": {"method": "mixed", "label": "x"}}}, "variants.mixed"),
    (STUDY, {"variants": {"other": {"method": "mixed"}}}, "variants.other.label"),
    (STUDY, {"options.0.set.architecture.num_heads": 3}, "num_heads"),
    (STUDY, {"options.0.set.architecture.model_dim": 0}, "model_dim"),
    (STUDY, {"options.0.set.architecture.model_dim": 10**12}, "model_dim"),
    (STUDY, {"options.0.set.architecture.encoder_layers": 100_000}, "encoder_layers"),
    (STUDY, {"options.0.set.training.adam_betas": [0.9]}, "adam_betas"),
    (STUDY, {"options.0.set.training.adam_betas": [0.9, 1.0]}, "adam_betas"),
    (STUDY, {"options.0.set.training.learning_rate": float("nan")}, "learning_rate"),
    (STUDY, {"options.0.set.training.precision": "fp16"}, "precision"),
    (TASK, {"target_lang": "en"}, "target_lang"),
    (TASK, {"target_lang": "english"}, "target_lang"),
    (TASK, {"target_lang": "de"}, "'de'"),
    (TASK, {"split": {"every": 10, "modulo": 100}}, "every"),
    (TASK, {"split": {"seed": -1}}, "split.seed"),
    (TASK, {"cleaning": {"min_tokens": 9, "max_tokens": 3}}, "min_tokens"),
    (TASK, {"segmentation.bpe_merge_operations": -1}, "bpe_merge_operations"),
    (TASK, {"segmentation": {"merge_operations": {"law": 5}}}, "merge_operations"),
    (TASK, {"segmentation": {"bpe": "domain", "merge_operations": {"lore": 5}}}, "merge_operations"),
    (TASK, {"segmentation": {"tokenizers": {"zh": "jieba"}}}, "tokenizers"),
    (TASK, {"domains.avg": {"corpora": ["tiny-law"], "valid": 5, "test": 5}}, "avg"),
    (TASK, {"domains.law.corpora": ["tiny-law", "tiny-law"]}, "domains.law"),
    (TASK, {"domains.law.corpora": ["tiny-lore"]}, "tiny-lore"),
    (TASK, {"domains": {"law; rm -rf ~": {"corpora": ["tiny-law"], "valid": 5, "test": 5}}}, "domains.law; rm -rf ~"),
    (TASK, {"domains": {"../law": {"corpora": ["tiny-law"], "valid": 5, "test": 5}}}, "domains.../law"),
    (TASK, {"domains": {"a b": {"corpora": ["tiny-law"], "valid": 5, "test": 5}}}, "domains.a b"),
    (TASK, {"leakage": {"near_duplicates": 1.5}}, "near_duplicates"),
    (LAW, {"reader.name": "moses"}, "reader"),
    (LAW, {"languages": ["en"]}, "languages"),
    (LAW, {"languages": ["en", "f"]}, "languages"),
    (LAW, {"source.provider": "generated"}, "source"),
    (LAW, {"source": {**HTTP, "urls": ["file:///etc/passwd"]}}, "urls"),
    (LAW, {"source": {**HTTP, "urls": ["https://example.org/a b"]}}, "urls"),
    (LAW, {"source": {**HTTP, "file": "../a.zip"}}, "file"),
    (LAW, {"source": {**HTTP, "file": "--config"}}, "file"),
    (LAW, {"source": {**HTTP, "sha256": "abc"}}, "sha256"),
    (LAW, {"source": {"provider": "pip", "package": "--index-url=http://evil"}}, "package"),
    (LAW, {"source": {"provider": "npm", "package": "$(id)"}}, "package"),
    (LAW, {"source": {"provider": "apt", "package": "-oDebug=1"}}, "package"),
    ("methods/transformer.yaml", {"architecture": {"use": 1}}, "use"),
    ("methods/transformer.yaml", {"builder": "os"}, "os"),
    ("methods/transformer.yaml", {"training": {"max_updates": 0}}, "max_updates"),
]


def test_what_contradicts_itself_or_another_file_is_one_line(project: Project) -> None:
    # What is inherited or found in another file is blamed on the file that asks for it.
    bad = [
        BadConfig("contradiction", file, with_changes(project, file, *changes.items()), (name,))
        for file, changes, name in CONTRADICTIONS
    ]
    assert [text for one in bad if (text := complaint(project, one, read_study))] == []


DEEP = b"[" * 3000 + b"]" * 3000
BOMB = b"a: &a [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (ord("a") + n, ord("a") + n, b", ".join([b"*%c" % (ord("a") + n - 1)] * 10))
    for n in range(1, 12)
)
# What is no configuration at all, or a trap for whoever reads it: text, what is said.
TRAPS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is missing"),
    "comments alone": (b"# title: x\n", "is missing"),
    "a list": (b"- title\n- x\n", "found list, expected keys and values"),
    "a word": (b"title\n", "found str, expected keys and values"),
    "a number": (b"42\n", "found int, expected keys and values"),
    "null": (b"~\n", "is missing"),
    "a tab": (b"title: x\n\tdescription: y\n", "not valid YAML"),
    "not UTF-8": (b"title: caf\xe9\n", "is not UTF-8"),
    "UTF-16": ("title: x\n".encode("utf-16"), "UTF-8"),
    "NUL": (b"title: a\0b\n", "not valid YAML"),
    "escape": (b"title: \x1b]0;gotcha\x07\n", "not valid YAML"),
    "open bracket": (b"title: [\n", "not valid YAML"),
    "two documents": (b"title: x\n---\ntitle: y\n", "not valid YAML"),
    "a key twice": (b"title: x\ntitle: y\n", "occurs twice"),
    "a list as a key": (b"? [1]\n: 2\n", "plain value"),
    "code": (b"title: !!python/object/apply:os.system ['touch hacked']\n", "not valid YAML"),
    "code by name": (b"title: !!python/name:os.system\n", "not valid YAML"),
    "an own tag": (b"title: !include /etc/passwd\n", "not valid YAML"),
    "an unknown anchor": (b"title: *nobody\n", "not valid YAML"),
    "a value that holds itself": (b"title: &a [*a]\n", "anchors"),
    "merged with a word": (b"<<: word\ntitle: x\n", "not valid YAML"),
    "a bomb": (BOMB, "anchors (&, *) make more than"),
    "too deep": (b"title: " + DEEP, "not valid YAML"),
    "a huge number": (b"title: " + b"9" * 6000, "not valid YAML"),
    "no such day": (b"title: 2020-13-45\n", "not valid YAML"),
    "a number as a key": (b"1: x\n", "1"),
    "true as a key": (b"on: x\n", "True"),
    "null as a key": (b"~: x\n", "None"),
}  # fmt: skip


@pytest.mark.slow
def test_what_is_no_configuration_is_refused_in_one_line(project: Project) -> None:
    tried = [(STUDY, trap) for trap in TRAPS] + [(file, "empty") for file in (TASK, LAW, "methods/transformer.yaml")]
    bad = [BadConfig(trap, file, TRAPS[trap][0], (TRAPS[trap][1],)) for file, trap in tried]
    assert [text for one in bad if (text := complaint(project, one, read_study))] == []
    assert not project.path("hacked").exists()


PUBLISHED = "published/jiang2020.tsv"
HEADER = b"table\trow\tcolumn\tmetric\tvalue\traw\tstar\tnote\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no lines"),
        (HEADER.replace(b"value", b"vlaue"), "value"),
        (HEADER.replace(b"\tnote", b"\tnote\tnote"), "note"),
        (HEADER.replace(b"\t", b","), "separate them by tabs"),
        (HEADER + b"t\tr\tc\tbleu\tmany\t\t\t\n", "line 2: value: 'many' is not a number; write it like 26.09"),
        (HEADER + b"t\tr\tc\tbleu\tnan\t\t\t\n", "line 2: value"),
        (HEADER + b"t\tr\tc\tbleu\t1e999\t\t\t\n", "line 2: value"),
        (HEADER + b"t\tr\tc\tbleu\t1\t\t+\t\n", "line 2: star"),
        (HEADER + b"t\t\tc\tbleu\t1\t\t\t\n", "line 2: row"),
        (HEADER + b"t\tr\tc\tbleu\t1\t\t\t\tx\n", "line 2: found 9 fields"),
        (HEADER + b"t\tr\tc\tbleu\t1\t\t\t\n" * 2, "line 3: t / r / c / bleu is in line 2"),
        (HEADER + b"t\tr\tc\tbleu\t1\t\t\tcaf\xe9\n", "is not UTF-8"),
    ],
)
def test_published_numbers_that_are_none(project: Project, content: bytes, said: str) -> None:
    assert complaint(project, BadConfig("published", PUBLISHED, content, (said,)), read_study) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"seed": 3}, "unknown key 'seed' (did you mean 'seeds'?)"),
        ({"studdy": "demo"}, "unknown key 'studdy' (did you mean 'study'?)"),
        ({"study": 3}, "study: "),
        ({"study": ["demo"]}, "study: "),
        ({"threads": 0}, "threads: "),
        ({"threads": "two"}, "threads: "),
        ({"threads": True}, "threads: "),
        ({"save_every_minutes": float("inf")}, "save_every_minutes: "),
        ({"save_every_minutes": float("nan")}, "save_every_minutes: "),
        ({"stop_after_minutes": -5}, "stop_after_minutes: "),
        ({"tensorboard": "perhaps"}, "tensorboard: "),
        ({"device": "$(id)"}, "device: "),
    ],
)
def test_options_of_the_command_line(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validate_model(options, ProjectConfig, "config/config.yaml or --config")
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_an_anchor_that_saves_typing_is_no_bomb(project: Project) -> None:
    path = project.path("rows.yaml")
    path.write_text("a: &row {x: [1, 2]}\nb: [*row, *row]\nc: {<<: *row, y: 3}\n")
    assert load_yaml(path)["c"] == {"x": [1, 2], "y": 3}


# Through Snakemake itself, a start of it each: one mistake of every kind of file and of every source of mistakes.
THROUGH_SNAKEMAKE: list[tuple[str, bytes, str]] = [
    ("config.yaml", b"study: tiny\nseeds: -1\n", "seeds"),
    (PUBLISHED, HEADER.replace(b"value", b"vlaue"), "value"),
    ("studies/tiny.yaml", TRAPS["a bomb"][0], "anchors"),
    ("corpora/tiny-law.yaml", TRAPS["not UTF-8"][0], "UTF-8"),
    ("config.yaml", b"study: [tiny]\n", "study"),
    ("tasks/tiny.yaml", TRAPS["code"][0], "not valid YAML"),
    ("methods/transformer.yaml", b"builder: transformr\nmethods: {mixed: {label: x}}\n", "transformr"),
    ("papers/jiang2020.yaml", b"title: x\n", "citation"),
    ("claims/jiang2020.yaml", b"claims: 3\n", "claims"),
    ("audit/jiang2020.yaml", b"checks: 3\n", "checks"),
    ("cluster.yaml", b"cores: 0\n", "cores"),
    ("corpora.lock.yaml", b"corpora: 3\n", "corpora"),
    ("tasks.lock.yaml", b"tasks: {tiny: {x: {}}}\n", "tasks.tiny"),
]


def snakemake_refuses(project: Project, bad: BadConfig) -> None:
    """Let Snakemake read a bad file: it says so in one line, and plans nothing."""
    path = project.path(f"config/{bad.file}")
    good = path.read_bytes()
    path.write_bytes(bad.content)
    try:
        printed = project.snakemake("-n", status=1)
    finally:
        path.write_bytes(good)
    assert "Traceback" not in printed and "rule " not in printed, bad.label
    named = [line for line in printed.splitlines() if bad.file in line and all(name in line for name in bad.names)]
    assert named, (bad.label, printed)


@pytest.mark.slow
@pytest.mark.parametrize("mistake", chosen_cases(THROUGH_SNAKEMAKE, *THROUGH_SNAKEMAKE[:2]))
def test_snakemake_says_it_in_one_line_and_plans_nothing(project: Project, mistake: tuple[str, bytes, str]) -> None:
    file, content, said = mistake
    snakemake_refuses(project, BadConfig("mistake", file, content, (said,)))


@pytest.mark.slow
def test_a_mistake_on_the_command_line_of_snakemake_is_one_line(project: Project) -> None:
    printed = project.snakemake("-n", "--config", "seeds=-1", status=1)
    assert "Traceback" not in printed
    assert [line for line in printed.splitlines() if "seeds" in line and "from 1" in line]


# How many of the generated mistakes go through Snakemake, some seconds each.
SAMPLE = int(os.environ.get("MDNMT_BAD_CONFIGS", "2"))


@pytest.mark.slow
@pytest.mark.long
def test_a_sample_of_all_mistakes_goes_through_snakemake(project: Project) -> None:
    found = [bad for file in FILES if file != "deviations.yaml" for bad in mistakes_in(project.path("config"), file)]
    for bad in random.Random(2).sample(found, SAMPLE):
        snakemake_refuses(project, bad)
