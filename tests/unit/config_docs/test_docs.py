"""What the pages name exists: files, make targets, verbs and their options, keys, error lines."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pages import PAGES, ROOT, blocks, commands, headings, links, named_files, prose, source_texts, spans

from mdnmt import cli
from mdnmt.cli import verbs
from mdnmt.config.architectures import ARCHITECTURES, architecture_type
from mdnmt.config.loader import load_yaml, validate_model
from mdnmt.config.method import MethodIndex
from mdnmt.config.project import ProjectConfig
from mdnmt.config.study import StudyConfig
from mdnmt.config.task import load_task
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.methods.method import Architecture
from mdnmt.studies.resolve import resolve

DOCS = ROOT / "docs"
# Studies that a page tells the reader to make.
MADE_ON_A_PAGE = {"demo-lr", "my-study", "ffn"}


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def parser_of(verb: str) -> argparse.ArgumentParser:
    module = cli.module_of(verb)
    assert module is not None, verb
    parser = argparse.ArgumentParser(prog=verb, exit_on_error=False)
    module.add_arguments(parser)
    return parser


def resolves(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (page.parent / path).resolve() if path else page
    return found.exists() and (not anchor or anchor in headings(found))


def test_relative_links_resolve() -> None:
    relative = [(page, target) for page in PAGES for target in links(page) if not re.match(r"[a-z]+:", target)]
    assert len(relative) > len(PAGES)
    assert [f"{page.name}: {target}" for page, target in relative if not resolves(page, target)] == []


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached, new = set(), {ROOT / "README.md"}
    while new:
        reached |= new
        targets = {(page.parent / link.partition("#")[0]).resolve() for page in new for link in links(page)}
        new = {target for target in targets if target.suffix == ".md" and target.is_file()} - reached
    assert set(DOCS.glob("**/*.md")) <= reached


def test_make_targets_exist() -> None:
    lines = [(page, line) for page in PAGES for line in [*commands(page), *spans(page)] if line.startswith("make ")]
    named = [(page, word) for page, line in lines for word in line.split()[1:] if "=" not in word]
    assert named
    assert [f"{page.name}: make {word}" for page, word in named if word not in make_targets()] == []


@pytest.mark.slow
def test_verbs_exist() -> None:
    texts = {page: "\n".join([*commands(page), *spans(page)]) for page in PAGES}
    pattern = r"(?:^|[ |`])mdnmt ([a-z][a-z-]+)(?![\w:])"
    named = [(page, verb) for page, text in texts.items() for verb in re.findall(pattern, text, re.MULTILINE)]
    assert named
    assert [f"{page.name}: mdnmt {verb}" for page, verb in named if verb not in verbs()] == []


def test_shell_blocks_parse() -> None:
    def complaint(text: str) -> str:
        return subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False).stderr

    found = [(page, block) for page in PAGES for block in blocks(page, "sh")]
    assert found and complaint("if true")
    assert [f"{page.name}: {said}" for page, block in found if (said := complaint(block.text))] == []


def mdnmt_commands() -> Iterator[tuple[Path, list[str]]]:
    for page in PAGES:
        for line in [*commands(page), *(span for span in spans(page) if span.startswith("mdnmt ") and ":" not in span)]:
            words = shlex.split(line.rpartition("| ")[2])
            if words[:1] == ["mdnmt"] and len(words) > 2:
                yield page, words[1:]


def test_options_of_verbs_are_accepted() -> None:
    tried = 0
    for page, (verb, *options) in mdnmt_commands():
        parser_of(verb).parse_args(options)
        tried += 1
        assert page.is_file()
    assert tried >= 4


def test_snakemake_commands_set_keys_that_exist() -> None:
    for line in (line for page in PAGES for line in commands(page)):
        words = shlex.split(line)
        if words[:1] != ["snakemake"]:
            continue
        settings = words[words.index("--config") + 1 :] if "--config" in words else []
        values = {key: yaml.safe_load(value) for key, value in (word.split("=", 1) for word in settings)}
        study = validate_model(values, ProjectConfig, line).study
        assert study in MADE_ON_A_PAGE or (ROOT / "config" / "studies" / f"{study}.yaml").is_file(), line


def test_yaml_blocks_are_yaml(tmp_path: Path) -> None:
    for page in PAGES:
        for number, block in enumerate(blocks(page, "yaml")):
            path = tmp_path / f"{page.stem}-{number}.yaml"  # the error names it
            path.write_text(block.text, encoding="utf-8")
            assert isinstance(load_yaml(path), dict), path.name


def test_files_of_your_own_data_make_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = named_files(DOCS / "your-own-data.md")
    assert {Path(name).parent.name for name in files} == {"tasks", "studies"}
    shutil.copytree(ROOT / "config", tmp_path / "config")
    monkeypatch.chdir(tmp_path)
    for name, text in files.items():
        Path(name).write_text(text, encoding="utf-8")
    missing = resolve(Path("config"), "my-study", Path("corpora"))
    assert missing.tasks["my-en-fr"].missing == (
        "needs your own text: texts/law: no such folder; put your text there, or correct it in the task's file"
    )
    for name, domain in load_task(Path("config"), "my-en-fr").domains.items():
        folder = tmp_path / (domain.folder or "")
        folder.mkdir(parents=True)
        for lang in ("en", "fr"):
            (folder / f"{name}.{lang}").write_text("a line\n", encoding="utf-8")
    study = resolve(Path("config"), "my-study", Path("corpora"))
    assert [run.method for run in study.makeable()] == ["mixed", "waldm-edc"]


def test_the_keys_of_a_study_are_all_explained_and_every_study_stands_in_the_list() -> None:
    studies = prose(DOCS / "studies.md").partition("## The studies of this repository")[2].partition("\n## ")[0]
    listed = {name for cell in re.findall(r"^\| (`[^|]+) \|", studies, re.M) for name in re.findall(r"`([^`]+)`", cell)}
    assert listed == {path.stem for path in (ROOT / "config" / "studies").glob("*.yaml")}
    table = prose(DOCS / "studies.md").partition("## The keys")[2].partition("##")[0]
    named = {name for line in re.findall(r"^\| ([^|]+) \|", table, flags=re.MULTILINE) for name in spans_of(line)}
    assert named == set(StudyConfig.model_fields)


def spans_of(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


# builder -> its page
PAGE_OF = {
    "adapters": "adapters",
    "dmoe": "dmoe",
    "domain_aware_attention": "dsa",
    "domain_tag": "domain-tag",
    "latent_depth": "ldspslv",
    "multitask": "multitask",
    "naive_waldm": "naive-waldm",
    "pretrained": "pretrained",
    "transformer": "transformer",
    "waldm": "waldm",
    "word_context": "word-context",
}
OPTIONS = {**{name: architecture_type(name) for name in ARCHITECTURES}, "pretrained": PretrainedConfig}


def written(default: Any) -> str:
    """Return a default as YAML has it: 0.10 is 0.1, 1.0 is 1, None is null."""
    if default is None or isinstance(default, bool):
        return {None: "null", True: "true", False: "false"}[default]
    return f"{default:g}" if isinstance(default, float) else str(default)


def own_options(builder: str) -> dict[str, str]:
    """Return option -> default of a builder, without those that are every Transformer's, unless it changes them."""
    config = OPTIONS[builder]
    inherits = builder != "transformer" and issubclass(config, Architecture)
    shared, fields = Architecture.model_fields if inherits else {}, config.model_fields
    return {
        name: written(field.default)
        for name, field in fields.items()
        if name not in shared or field.default != shared[name].default
    }


@pytest.mark.parametrize("builder", sorted(OPTIONS))
def test_the_options_of_every_method_are_all_given_with_their_defaults(builder: str) -> None:
    text = prose(DOCS / "methods" / f"{PAGE_OF[builder]}.md")
    section = text.partition("## Options (`architecture:`)\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `?([^`|]+?)`? \|", section, flags=re.MULTILINE)
    assert len(rows) == len(dict(rows)), "an option stands twice"
    assert dict(rows) == own_options(builder)


def test_every_page_of_a_method_names_all_of_its_methods_and_files() -> None:
    index = MethodIndex(ROOT / "config")
    for name in index.names:
        page = prose(DOCS / "methods" / f"{PAGE_OF[index.load(name).builder]}.md")
        # Tables shorten lists of files, damha-dmoe-mix-lb1 to `-lb1` and waldm-edc-wl to `...-wl`.
        ends = [name[place:] for place, letter in enumerate(name) if letter == "-"]
        spans_for_it = [f"`{name}`", *(f"`{dots}{end}`" for end in ends for dots in ("", "..."))]
        assert f"/methods/{index.path(name).name}" in page and any(part in page for part in spans_for_it), name


@pytest.mark.slow
def test_error_lines_of_troubleshooting_are_those_of_the_code() -> None:
    others = [ROOT / "envs/setup.sh", ROOT / "envs/drift.py", *ROOT.glob("workflow/rules/*.smk")]
    known = "\n".join([source_texts(), *(path.read_text(encoding="utf-8") for path in others)])
    foreign = ("command not found", "LockException", "Directory cannot be locked", "older modification time")
    quoted = [
        span
        for line in prose(DOCS / "troubleshooting.md").splitlines()
        if re.match(r"\| `", line)
        for span in re.findall(r"`([^`]+)`", line.split(" | ")[0])
    ]
    assert len(quoted) > 30
    for line in quoted:
        if any(word in line for word in foreign):
            continue
        # Between names and numbers stand the code's own words: up to three in a row must be found in it.
        windows = []
        for part in re.split(r"\.\.\.|'[^']*'|\b0x\w+|\b\d+\b", line):
            words = part.strip(" :;,.()").split()
            size = min(3, len(words))
            windows += [" ".join(words[start : start + size]) for start in range(len(words) - size + 1) if size > 1]
        assert any(window in known for window in windows), line


def test_every_key_of_the_project_stands_in_the_readme_with_its_default() -> None:
    section = (ROOT / "config" / "README.md").read_text().partition("## config.yaml")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.M))
    defaults = {
        name: field.default if isinstance(field.default, str) else json.dumps(field.default)
        for name, field in ProjectConfig.model_fields.items()
    }
    assert rows == defaults
