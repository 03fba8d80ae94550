"""Plug-ins that are no methods: verbs, blocks, losses, metrics, readers and providers of corpora."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from unit.config_docs.pages import ROOT, named_files
from unit.plugin_folder import LOSS, OWN, Write, check_plugin, make

from mdnmt import plugin_kinds, plugins
from mdnmt.cli import main
from mdnmt.config.corpus import CorpusConfig
from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.corpora.corpus_lock import Lock
from mdnmt.corpora.corpus_spec import FetchSpec, corpus_spec, fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.corpora.read import read_corpus
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError
from mdnmt.exhibits import code_hashes
from mdnmt.methods import build, code_of, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.paths import RunPaths
from mdnmt.train.run import train_run

VERB = """
\"\"\"Say hello to somebody.\"\"\"

def add_arguments(parser):
    parser.add_argument("--to", default="you")

def run(args):
    print("hello", args.to)
"""
BLOCK = """
from torch import nn

PART = "{part}"

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.map = nn.Linear(width, width)

    def forward(self, x_BTD, *context):
        return x_BTD + self.map(x_BTD)

def block(config):
    return Block(config.model_dim)
"""
PROVIDER = """
import zipfile
from typing import Literal
from mdnmt.config.base import Frozen

class Options(Frozen):
    provider: Literal["made-up"]
    file: str
    lines: int
    sha256: str | None = None
    size_bytes: int | None = None

def download(source, folder):
    with zipfile.ZipFile(folder / source.file, "w") as archive:
        archive.writestr("text", "".join(f"word {n} ||| mot {n}\\n" for n in range(source.lines)))
    return "made up"
"""


def test_a_verb_of_the_folder_is_run_and_listed(write_plugin: Write, capsys: pytest.CaptureFixture[str]) -> None:
    write_plugin("say_hello.py", VERB)
    assert main(["say-hello", "--to", "me"]) == 0 and capsys.readouterr().out == "hello me\n"
    assert main(["--help"]) == 0
    assert "\nPlug-ins:\n  say-hello       Say hello to somebody.\n" in capsys.readouterr().out
    write_plugin("plan.py", VERB)
    assert main(["plan"]) == 2
    assert "plugins/plan.py: mdnmt has a verb 'plan' too" in capsys.readouterr().err
    write_plugin("plan.py", OWN)  # a method may have the name of a verb
    with pytest.raises(SystemExit) as ended:
        main(["plan", "--help"])
    assert ended.value.code == 0
    write_plugin("broken.py", f"import nowhere\n{VERB}")
    capsys.readouterr()
    assert main(["broken"]) == 2
    said = capsys.readouterr().err
    assert "plugins/broken.py:1: cannot be imported" in said and said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", ["ffn_block", "bridge", "output_layer"])
def test_a_block_takes_the_place_of_a_part(write_plugin: Write, part: str, capfd: pytest.CaptureFixture[str]) -> None:
    plain = make("transformer").model.state_dict().keys()
    path = write_plugin("own_block.py", BLOCK.format(part=part))
    options = {"model_dim": 8, "ffn_dim": 8, "num_heads": 2, "blocks": ["own_block"]}
    architecture = validate("transformer", options, where="x")
    model = build("transformer", architecture, VocabSizes(9, 9, True), 2).model
    new = {name for name in model.state_dict().keys() - plain if ".map." in name}
    assert new and all({"ffn_block": "ffn", "bridge": "bridge", "output_layer": "output_layer"}[part] in n for n in new)
    assert set(code_of("transformer", architecture.model_dump())) == {"plugins.own_block"}
    assert code_of("transformer", validate("transformer", {}, where="x").model_dump()) == {}
    assert check_plugin(path) == 0, capfd.readouterr()


@pytest.mark.slow
def test_a_loss_is_added_to_those_of_a_method(write_plugin: Write, capfd: pytest.CaptureFixture[str]) -> None:
    path = write_plugin("shrink.py", LOSS)
    architecture = validate("domain_tag", {"losses": ["shrink"]}, where="x")
    method = build("domain_tag", architecture, VocabSizes(9, 9, True), 2)
    assert [loss.name for loss in method.losses] == ["generation", "shrink"]
    assert set(code_of("domain_tag", architecture.model_dump())) == {"plugins.shrink"}
    assert check_plugin(path) == 0, capfd.readouterr()


@pytest.mark.slow
def test_a_run_with_a_block_and_a_loss_is_trained_and_keeps_their_code(
    write_plugin: Write, tmp_path: Path, make_spec: Any, toy_task: Path
) -> None:
    write_plugin("own_block.py", BLOCK.format(part="output_layer"))
    write_plugin("shrink.py", LOSS)
    options = {"blocks": ["own_block"], "losses": ["shrink"]}
    spec = make_spec("transformer", architecture=options, max_updates=4, validate_every=4)
    spec = spec.model_copy(update={"code": dict(code_of("transformer", spec.architecture))})
    run = RunPaths(tmp_path / "run")
    train_run(spec, toy_task, run.folder, device="cpu")
    assert sorted(path.name for path in (run.code / "plugins").iterdir()) == ["own_block.py", "shrink.py"]
    assert json.loads(run.record.read_text())["plugin"]["file"] == "plugins.own_block, plugins.shrink"
    assert "decoder.output_layer.map.weight" in Translator(run.folder, torch.device("cpu")).model.state_dict()
    write_plugin("shrink.py", LOSS.replace("1e-3", "2e-3"))
    with pytest.raises(ConfigError, match=r"plugins\.shrink, found other code"):
        Translator(run.folder, torch.device("cpu"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"blocks": ["none"]}, "no block 'none'"),
        ({"losses": ["own_block"]}, "plugins/own_block.py: does not define loss; a loss is a module"),
        ({"blocks": ["misplaced"]}, "block 'misplaced': found PART 'encoder', expected one of ffn_block"),
    ],
)
def test_a_block_or_loss_that_is_none_is_one_line(write_plugin: Write, options: dict[str, Any], said: str) -> None:
    write_plugin("own_block.py", BLOCK.format(part="bridge"))
    write_plugin("misplaced.py", BLOCK.format(part="encoder"))
    with pytest.raises(ConfigError, match=re.escape(said)):
        build("transformer", validate("transformer", options, where="x"), VocabSizes(9, 9, True), 2)


@pytest.mark.parametrize("name", ["git", "opus", "apt_list", "local"])
def test_a_provider_of_mdnmt_is_not_replaced(write_plugin: Write, name: str) -> None:
    write_plugin(f"{name}.py", VERB)  # a plug-in of another kind may have its name
    assert plugins.find_own(plugin_kinds.PROVIDER, name) is None
    write_plugin(f"{name}.py", PROVIDER)
    with pytest.raises(ConfigError, match=f"mdnmt has a provider '{name}' too"):
        plugins.find_own(plugin_kinds.PROVIDER, name)


def test_a_provider_and_a_reader_fetch_and_read_a_corpus(write_plugin: Write, tmp_path: Path) -> None:
    write_plugin("made_up.py", PROVIDER)
    text_of_reader = named_files(ROOT / "docs/plug-ins.md")["plugins/pair_lines.py"]
    reader = write_plugin("pair_lines.py", text_of_reader)
    source = {"provider": "made-up", "file": "x.zip", "lines": 3}
    given = {
        "title": "Made up",
        "languages": ["en", "fr"],
        "source": source,
        "reader": {"name": "pair-lines", "member": "text"},
    }
    corpus = CorpusConfig.model_validate(given)
    spec = FetchSpec.model_validate_json(fetch_spec("x", corpus, tmp_path / "cache.json").model_dump_json())
    rows = fetch(spec, tmp_path / "corpora/x")
    assert rows["x.zip"].origin == "made up"
    lock = Lock(corpora={"x": tuple(rows.values())})
    of_task = corpus_spec("x", corpus, ChecksumCache(tmp_path / "cache.json"), lock)
    of_task = type(of_task).model_validate_json(of_task.model_dump_json())
    with read_corpus(of_task, tmp_path / "corpora/x", "en", "fr") as text:
        assert list(text["train"]) == [(f"word {n}", f"mot {n}") for n in range(3)]
    first = of_task.identity()
    write_plugin("pair_lines.py", f"{text_of_reader}# a comment\n")
    assert of_task.identity() == first  # the code is part of the data's address, a comment is not
    write_plugin("pair_lines.py", text_of_reader.replace("|||", "||"))
    assert of_task.identity() != first
    with pytest.raises(ValidationError, match="separatr"):
        CorpusConfig.model_validate({**given, "reader": {"name": "pair-lines", "member": "text", "separatr": "|"}})
    assert check_plugin(reader) == 0


def test_an_edit_of_a_metric_scores_again(write_plugin: Write) -> None:
    metric = named_files(ROOT / "docs/your-own-metric.md")["plugins/chrf_plus.py"]
    without = code_hashes.code_of("score")
    write_plugin("chrf_plus.py", metric)
    first = code_hashes.code_of("score")
    write_plugin("chrf_plus.py", f"{metric}# a comment\n")
    assert code_hashes.code_of("score") == first != without
    write_plugin("chrf_plus.py", metric.replace("word_order=2", "word_order=3"))
    assert code_hashes.code_of("score") not in (first, without)


def test_check_plugin_says_what_is_no_plug_in(write_plugin: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_plugin(write_plugin("nothing.py", "X = 1\n")) == 2
    assert "is of no kind" in capsys.readouterr().err
    assert check_plugin(write_plugin("score.py", VERB)) == 2
    assert "mdnmt has a verb 'score' too" in capsys.readouterr().err
