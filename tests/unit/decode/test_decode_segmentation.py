"""A run on a task with codes of domains and Chinese words translates plain text from its own folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.decoding import Decoding
from mdnmt.config.run import RunSpec
from mdnmt.config.task import TaskConfig
from mdnmt.config.training import Training
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.task_spec import task_spec
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TRAINING = {"max_updates": 4, "max_tokens": 200, "validate_every": 4, "precision": "fp32", "average_checkpoints": 1}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of the task and of a run on it."""
    root = tmp_path_factory.mktemp("zh")
    corpora = {}
    for name in ("law", "news"):
        folder = root / name
        folder.mkdir()
        (folder / "train.en").write_text("".join(f"The {name} of day {n}\n" for n in range(40)))
        (folder / "train.zh").write_text("".join(f"第{n}天的法院{name}。\n" for n in range(40)))
        source = {"provider": "local", "folder": str(folder)}
        corpora[name] = CorpusConfig.model_validate(
            {"title": name, "languages": ["en", "zh"], "source": source, "reader": {"name": "plain"}}
        )
        fetch(fetch_spec(name, corpora[name], root / "h.json"), root / "fetched" / name)
    config = TaskConfig.model_validate(
        {
            "title": "Toy",
            "source_lang": "en",
            "target_lang": "zh",
            "domains": {
                "law": {"corpora": ["law"], "valid": 3, "test": 3, "cleaning": {"recipe": "none", "lowercase": True}},
                "news": {"corpora": ["news"], "valid": 3, "test": 3, "cleaning": {"recipe": "none"}},
            },
            "segmentation": {"tokenizers": {"zh": "jieba"}, "bpe": "domain", "bpe_merge_operations": 9},
        }
    )
    build_task(task_spec("toy", config, corpora, root / "h.json"), root / "fetched", root / "task")
    data = TaskData.load(root / "task")
    spec = RunSpec(
        task_fingerprint=data.fingerprint,
        builder="transformer",
        architecture=validate("transformer", SIZES, where="test").model_dump(),
        training=Training.model_validate(TRAINING),
        domains=data.domains,
        seed=1,
    )
    train_run(spec, root / "task", root / "run", device="cpu")
    return root / "task", root / "run"


def test_plain_text_with_its_domain_becomes_the_task_s_numbers(made: tuple[Path, Path]) -> None:
    task, run = made
    data, translator, decoding = TaskData.load(task), Translator(run, CPU), Decoding(beam_size=2)
    split, lines, domains = data.split("test"), [], []
    for domain in data.domains:
        lines += data.text("test", domain, "en")
        domains += [domain] * 3
    expected = translator.translate_ids(list(split.source), decoding, domains)
    assert translator.translate(lines, decoding, domains) == expected
    assert translator.translate(lines[:3], decoding, "law") == expected[:3]
    # The text of one domain is in lower case, whatever is given.
    assert translator.translate([line.upper() for line in lines[:3]], decoding, "law") == expected[:3]
    assert translator.translate(lines[:3], decoding, "news") != expected[:3]


def test_without_the_domain_it_says_what_it_needs(made: tuple[Path, Path]) -> None:
    translator = Translator(made[1], CPU)
    with pytest.raises(ConfigError, match=r"needs the text's domain; choose one .*: law, news"):
        translator.translate(["The law"], Decoding())
    with pytest.raises(ConfigError, match=r"--domain, --domains or --predict-domain\): law, news"):
        Translator(made[1], CPU, labelled=False)
    with pytest.raises(ConfigError, match="no domain 'laws' in this run"):
        translator.translate(["The law"], Decoding(), "laws")


def test_chinese_is_written_without_blanks(made: tuple[Path, Path]) -> None:
    translator = Translator(made[1], CPU)
    vocab = translator.target_vocab
    pieces = [piece for piece in vocab.tokens if any("\u4e00" <= character <= "\u9fff" for character in piece)]
    found = translator._plain([vocab.index[piece] for piece in pieces], 0.0)
    assert len(pieces) > 2 and " " not in found.text
