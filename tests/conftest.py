"""What tests of the engine share: a tiny task made by the real code from generated text, runs on it, random models."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import setuptools  # noqa: F401  (torch's compiler wants it imported before anything imports distutils)
import torch
from torch import Tensor

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.run import RunSpec
from mdnmt.config.task import TaskConfig
from mdnmt.config.training import Training, merge_recipes
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.methods import build, validate
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_spec import task_spec

torch.set_num_threads(1)

TOY_WORDS = {"economy": "bank rate price growth index survey", "law": "bank court rule party judge order"}
TOY_SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TOY_TRAINING = {
    "max_updates": 12,
    "max_tokens": 200,
    "learning_rate": 5e-3,
    "warmup_updates": 5,
    "validate_every": 4,
    "validation_bleu_sentences": 3,
    "average_checkpoints": 2,
    "log_every": 5,
    "precision": "fp32",
}

MethodFactory = Callable[..., Method]
SpecFactory = Callable[..., RunSpec]
BatchFactory = Callable[..., Batch]


def build_toy_task(root: Path, words: Mapping[str, str]) -> Path:
    """Return the folder of a task of these domains' words: 60 training, 6 validation and 5 test pairs each."""
    corpora: dict[str, CorpusConfig] = {}
    generator = random.Random(11)
    for name, of_domain in words.items():
        sentences = [[generator.choice(of_domain.split()) for _ in range(generator.randint(2, 9))] for _ in range(130)]
        folder = root / name
        folder.mkdir()
        # The same word has another translation in each domain.
        targets = [[f"{word[::-1]}{name[0]}" for word in sentence] for sentence in sentences]
        for lang, lines in (("en", sentences), ("fr", targets)):
            (folder / f"train.{lang}").write_text("".join(f"{' '.join(line)}\n" for line in lines))
        corpora[name] = CorpusConfig.model_validate(
            {
                "title": name,
                "languages": ["en", "fr"],
                "source": {"provider": "local", "folder": str(folder)},
                "reader": {"name": "plain"},
            }
        )
        fetch(fetch_spec(name, corpora[name], root / "hashes.json"), root / "fetched" / name)
    config = TaskConfig.model_validate(
        {
            "title": "Toy",
            "source_lang": "en",
            "target_lang": "fr",
            "domains": {name: {"corpora": [name], "train": 60, "valid": 6, "test": 5} for name in words},
            "segmentation": {"bpe_merge_operations": 25},
        }
    )
    build_task(task_spec("toy", config, corpora, root / "hashes.json"), root / "fetched", root / "task")
    return root / "task"


@pytest.fixture(scope="session")
def toy_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a task of two domains that share one word."""
    return build_toy_task(tmp_path_factory.mktemp("toy-task"), TOY_WORDS)


@pytest.fixture(scope="session")
def told_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a task whose domains share all words: only who is told the domain can translate them."""
    return build_toy_task(tmp_path_factory.mktemp("told-task"), dict.fromkeys(TOY_WORDS, TOY_WORDS["law"]))


@pytest.fixture
def make_spec(toy_task: Path) -> SpecFactory:
    """Return a function (builder, architecture=..., domains=..., seed=..., **training) -> RunSpec on the toy task."""
    from mdnmt.tasks.task_data import TaskData

    data = TaskData.load(toy_task)

    def make(
        builder: str = "waldm",
        *,
        architecture: dict[str, Any] | None = None,
        domains: Sequence[str] | None = None,
        seed: int = 3,
        **training: Any,
    ) -> RunSpec:
        options = validate(builder, {**TOY_SIZES, "dropout": 0.2, **(architecture or {})}, where="test")
        return RunSpec(
            task_fingerprint=data.fingerprint,
            builder=builder,
            architecture=options.model_dump(),
            training=Training.model_validate(merge_recipes([TOY_TRAINING, training])),
            domains=tuple(domains or data.domains),
            seed=seed,
        )

    return make


@pytest.fixture(scope="session")
def random_method() -> MethodFactory:
    """Return a function that builds a method in evaluation mode with random biases, norms and padding rows as well."""

    def make(
        builder: str = "waldm",
        *,
        num_domains: int = 2,
        vocab: int = 29,
        seed: int = 0,
        dtype: torch.dtype = torch.float64,
        **architecture: Any,
    ) -> Method:
        torch.manual_seed(seed)
        sizes = {**TOY_SIZES, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 40, "dropout": 0.3}
        options = validate(builder, {**sizes, **architecture}, where="test")
        joint = architecture.get("share_embeddings") == "all"
        method = build(builder, options, VocabSizes(vocab if joint else vocab + 4, vocab, joint), num_domains)
        with torch.no_grad():
            for parameter in method.model.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
        method.model.to(dtype).eval()
        return method

    return make


def _padded(rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows])


@pytest.fixture(scope="session")
def make_batch() -> BatchFactory:
    """Return a function (sources, targets, domains) -> Batch, put together by hand; the rows end with </s>."""

    def make(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], domains: Sequence[int]) -> Batch:
        inputs = [[1, *row[:-1]] for row in targets]
        width = max(map(len, inputs))
        labels = [(row * width + t, word) for row, words in enumerate(targets) for t, word in enumerate(words)]
        source_BS, target_BT = _padded(sources), _padded(inputs)
        return Batch(
            source_BS=source_BS,
            source_mask_BS=source_BS != 0,
            target_BT=target_BT,
            target_mask_BT=target_BT != 0,
            label_N=torch.tensor([word for _, word in labels]),
            label_index_N=torch.tensor([index for index, _ in labels]),
            domain_B=torch.tensor(domains),
        )

    return make
