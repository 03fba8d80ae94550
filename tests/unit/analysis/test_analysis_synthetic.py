"""Three methods of the study `synthetic`, made smaller: each reaches what its knowledge of the domain allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from chosen_cases import chosen_cases

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.config.corpus import load_corpus
from mdnmt.config.method import load_method
from mdnmt.config.run import RunSpec
from mdnmt.config.task import load_task
from mdnmt.config.training import Training
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.exhibits.generated_words import accuracy
from mdnmt.methods import validate
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_spec import task_spec

CONFIG = Path(__file__).resolve().parents[3] / "config"
NUM_DOMAINS = 2
GRAMMAR = {"sentences": 3400, "common_words": 24, "cue_words": 4, "context_words": 6, "label_words": 6}
SIZES = {"model_dim": 48, "ffn_dim": 96}
TRAINING = {"max_updates": 450, "warmup_updates": 80, "validate_every": 450}
METHODS = ("mixed", "domain-tag", "damha-dmoe-domain")


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("synthetic")
    config = load_task(CONFIG, f"synthetic-{NUM_DOMAINS}")
    domains = {
        name: domain.model_copy(update={"train": 3000, "valid": 40, "test": 150})
        for name, domain in config.domains.items()
    }
    config = config.model_copy(update={"domains": domains})
    corpora = {}
    for name in (corpus for domain in domains.values() for corpus in domain.corpora):
        corpus = load_corpus(CONFIG, name)
        corpora[name] = corpus.model_copy(update={"reader": corpus.reader.model_copy(update=GRAMMAR)})
        fetch(fetch_spec(name, corpora[name], root / "hashes.json"), root / "corpora" / name)
    build_task(task_spec("synthetic", config, corpora, root / "hashes.json"), root / "corpora", root / "task")
    return root / "task"


@pytest.fixture(scope="module")
def measured(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, float]]:
    """Return a function: train a method of config/methods, translate, and give the right words in percent by kind."""
    study = yaml.safe_load((CONFIG / "studies" / "synthetic.yaml").read_text())
    data = yaml.safe_load((task / "task.json").read_text())
    found: dict[str, dict[str, float]] = {}

    def measure(name: str) -> dict[str, float]:
        if name not in found:
            method, common = load_method(CONFIG, name), study["options"][0]["set"]
            architecture = {**method.architecture, **common["architecture"], **SIZES}
            spec = RunSpec(
                task_fingerprint=data["fingerprint"],
                builder=method.builder,
                architecture=validate(method.builder, architecture, where=name).model_dump(mode="json"),
                training=Training.model_validate({**method.training, **common["training"], **TRAINING}),
                domains=tuple(data["domains"]),
                seed=1,
            )
            folder = tmp_path_factory.mktemp(name)
            run = ["--run", str(folder / "run"), "--task", str(task), "--threads", "1"]
            train = ["--spec", spec.model_dump_json(), "--task", str(task), "--out", str(folder / "run")]
            assert main(["train", *train, "--threads", "1", "--device", "cpu"]) == 0
            hypotheses = str(folder / "hyp")
            assert main(["decode", *run, "--spec", '{"beam_size": 1}', "--out", hypotheses]) == 0
            assert main(["word-accuracy", *run, "--hypotheses", hypotheses, "--out", str(folder / "words.json")]) == 0
            found[name] = accuracy(fsio.read_json(folder / "words.json"))
        return found[name]

    return measure


def test_every_word_is_one_piece(task: Path) -> None:
    stats = yaml.safe_load((task / "stats.json").read_text())["domains"]
    rates = [
        (split[side]["pieces_per_token"], split[side]["oov_rate"])
        for d in stats.values()
        for split in d.values()
        for side in ("source", "target")
    ]
    assert set(rates) == {(1.0, 0.0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", chosen_cases(METHODS, "domain-tag"))
def test_unambiguous_words_and_those_that_the_context_decides_are_right(
    name: str, measured: Callable[[str], dict[str, float]]
) -> None:
    found = measured(name)
    assert found["common"] > 95 and found["cue"] > 95 and found["context"] > 90


@pytest.mark.slow
def test_without_the_label_what_it_alone_decides_is_a_guess(measured: Callable[[str], dict[str, float]]) -> None:
    assert abs(measured("mixed")["label"] - 100 / NUM_DOMAINS) < 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["domain-tag", "damha-dmoe-domain"])
def test_with_the_label_it_is_known(name: str, measured: Callable[[str], dict[str, float]]) -> None:
    assert measured(name)["label"] > 95
