"""What tests of the engine share: a tiny task made by the real code from generated text, runs on it, random models."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import setuptools  # noqa: F401  (torch's compiler wants it imported before anything imports distutils)
import torch

from mdnmt import gpu
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.run import RunSpec
from mdnmt.config.task import TaskConfig
from mdnmt.config.training import Training, merge_recipes
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.methods import validate
from mdnmt.methods.method import Method
from mdnmt.models.batch import Batch
from mdnmt.operations import method_checks
from mdnmt.operations.method_checks import TOY_SIZES
from mdnmt.score.metrics import comet_environment
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_spec import task_spec

torch.set_num_threads(1)
# Triton reads it when some test imports it first. Asked of nvidia-smi, not of torch, whose first answer settles what
# the process may see.
if not gpu.count_visible():
    os.environ["TRITON_INTERPRET"] = "1"
ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))  # `device_watch`

TOY_WORDS = {"economy": "bank rate price growth index survey", "law": "bank court rule party judge order"}
TOY_TRAINING = {
    "max_updates": 12,
    "max_tokens": 200,
    "learning_rate": 5e-3,
    "warmup_updates": 5,
    "validate_every": 4,
    "validation_bleu_sentences": 0,  # greedy search takes longer than all the rest; tests of it ask for it
    "average_checkpoints": 2,
    "log_every": 5,
    "precision": "fp32",
}

MethodFactory = Callable[..., Method]
SpecFactory = Callable[..., RunSpec]
BatchFactory = Callable[..., Batch]


@pytest.fixture(scope="session")
def comet_folder() -> Path:
    """Return the environment of COMET; without one as it is locked now, the test is skipped."""
    made = ROOT / comet_environment.MADE
    if not made.is_file() or made.read_text(encoding="utf-8") != comet_environment.identity():
        pytest.skip(f"no {comet_environment.FOLDER} as it is locked: `make test-all` makes it")
    return ROOT / comet_environment.FOLDER


def build_toy_task(root: Path, words: Mapping[str, str], **segmentation: Any) -> Path:
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
            "segmentation": {"bpe_merge_operations": 25, **segmentation},
        }
    )
    build_task(task_spec("toy", config, corpora, root / "hashes.json"), root / "fetched", root / "task")
    return root / "task"


@pytest.fixture(scope="session")
def toy_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a task of two domains that share one word."""
    return build_toy_task(tmp_path_factory.mktemp("toy-task"), TOY_WORDS)


@pytest.fixture(scope="session")
def segmented_task() -> Callable[..., Path]:
    """Return a function (folder, **segmentation) -> the toy task with these options, made in the folder."""
    return lambda root, **segmentation: build_toy_task(root, TOY_WORDS, **segmentation)


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

    def make(builder: str = "waldm", **options: Any) -> Method:
        return method_checks.random_method(builder, **options)

    return make


@pytest.fixture(scope="session")
def make_batch() -> BatchFactory:
    """Return a function (sources, targets, domains) -> Batch; the sentences end with </s>."""
    return method_checks.make_batch
