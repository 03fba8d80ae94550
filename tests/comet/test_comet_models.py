"""Models of COMET: the toy, what is no such model, and what must not be loaded."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.config.comet import CometConfig
from mdnmt.errors import ConfigError, DataError, MdnmtError
from mdnmt.score.metrics.comet import load, score_domains
from mdnmt.score.metrics.comet_files import CHECKPOINT, NEEDED
from mdnmt.score.metrics.toy_comet import make_toy
from mdnmt.score.test_sets import TestSets


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "toy-comet"
    make_toy(folder)
    return folder


@pytest.fixture
def toy(made: Path, tmp_path: Path) -> Path:
    """Return the folder of a toy that the test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "toy-comet"))


@pytest.fixture
def respoil(toy: Path) -> Callable[[Callable[[dict[str, Any]], Any]], Path]:
    """Return a function that writes the toy's checkpoint again as another function has changed it."""

    def write(change: Callable[[dict[str, Any]], Any]) -> Path:
        saved = torch.load(toy / CHECKPOINT, weights_only=True)
        changed = change(saved)
        torch.save(saved if changed is None else changed, toy / CHECKPOINT)
        return toy

    return write


def one_line(text: str) -> bool:
    return "\n" not in text and len(text) < 2000  # it names paths, which may be long


def test_toy_has_the_same_bytes_each_time_is_small_and_says_what_it_is(made: Path, tmp_path: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    make_toy(tmp_path / "again")
    assert torch.equal(torch.get_rng_state(), before)
    make_toy(tmp_path / "other", seed=1)
    files = sorted(path.relative_to(made) for path in made.rglob("*") if path.is_file())
    assert {str(file) for file in files} == set(NEEDED)
    assert all((made / file).read_bytes() == (tmp_path / "again" / file).read_bytes() for file in files)
    assert [str(file) for file in files if (made / file).read_bytes() != (tmp_path / "other" / file).read_bytes()] == [
        CHECKPOINT
    ]
    assert sum((made / file).stat().st_size for file in files) < 3_000_000
    assert load(made)[1] is True
    hparams = (tmp_path / "other" / "hparams.yaml").read_text()
    (tmp_path / "other" / "hparams.yaml").write_text(hparams.replace("toy: true\n", ""))
    assert load(tmp_path / "other")[1] is False


def test_toy_reads_every_script_without_unknown_pieces(made: Path) -> None:
    tokenizer = load(made)[0].encoder.tokenizer
    ids = tokenizer("Zwölf 银行 <s> naïve 😀 ﬁn")["input_ids"]
    assert tokenizer.unk_token_id not in ids and ids[0] == 0 and ids[-1] == 2


class Hostile:
    """Makes a folder when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_checkpoint_that_would_run_code_is_refused_in_one_line(respoil: Callable[..., Path], tmp_path: Path) -> None:
    folder = respoil(lambda saved: saved.update(callbacks=Hostile(tmp_path / "ran")))
    with pytest.raises(DataError) as refused:
        load(folder)
    said = str(refused.value)
    assert "refused: holds more than weights and asks for posix.mkdir" in said and one_line(said)
    assert not (tmp_path / "ran").exists()


def test_options_that_would_run_code_are_refused_in_one_line(toy: Path, tmp_path: Path) -> None:
    with (toy / "hparams.yaml").open("a") as file:
        file.write(f"train: !!python/object/apply:os.mkdir ['{tmp_path / 'ran'}']\n")
    with pytest.raises(ConfigError) as refused:
        load(toy)
    assert "python/object/apply" in str(refused.value) and one_line(str(refused.value))
    assert not (tmp_path / "ran").exists()


def lose(saved: dict[str, Any]) -> None:
    del saved["state_dict"]["estimator.ff.0.bias"]


def widen(saved: dict[str, Any]) -> None:
    saved["state_dict"]["estimator.ff.0.bias"] = torch.zeros(25)


def strip(saved: dict[str, Any]) -> None:
    del saved["hyper_parameters"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lose, "lacks estimator.ff.0.bias"),
        (lambda saved: saved["state_dict"].update(more=torch.ones(1)), "has, beside the model's weights, more"),
        (widen, "does not fit .*encoder .*size mismatch for estimator.ff.0.bias"),
        (strip, "lacks hyper_parameters or state_dict"),
        (lambda saved: saved["hyper_parameters"].update(hidden_sizes="wide"), "no COMET model can be made with it"),
        (lambda saved: saved["hyper_parameters"].update(encoder_model="XLM-Q"), "no COMET model can be made with it"),
        (lambda saved: torch.ones(2), "holds a Tensor, expected a checkpoint"),
    ],
)
def test_another_model_is_refused_in_one_line(respoil: Callable[..., Path], change: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as refused:
        load(respoil(change))
    assert one_line(str(refused.value))


def test_what_a_checkpoint_says_of_its_encoder_counts_for_nothing(respoil: Callable[..., Path], made: Path) -> None:
    def elsewhere(saved: dict[str, Any]) -> None:
        saved["hyper_parameters"].update(pretrained_model="xlm-roberta-large", load_pretrained_weights=True)
        # As every checkpoint of those years has it, and transformers no longer.
        saved["state_dict"]["encoder.model.embeddings.position_ids"] = torch.arange(514)[None]

    loaded, plain = load(respoil(elsewhere))[0].state_dict(), load(made)[0].state_dict()
    assert loaded.keys() == plain.keys() and all(torch.equal(loaded[name], plain[name]) for name in plain)


@pytest.mark.parametrize("data", [b"", b"version https://git-lfs.github.com/spec/v1\n", None])
def test_a_damaged_checkpoint_is_told_in_one_line(toy: Path, data: bytes | None) -> None:
    whole = (toy / CHECKPOINT).read_bytes()
    (toy / CHECKPOINT).write_bytes(whole[: len(whole) // 2] if data is None else data)
    with pytest.raises(DataError, match="is damaged, or no checkpoint") as refused:
        load(toy)
    assert one_line(str(refused.value))


@pytest.mark.parametrize("kind", ['"referenceless_regression_metric"', "null"])
def test_a_model_that_reads_no_references_is_refused(toy: Path, kind: str) -> None:
    hparams = toy / "hparams.yaml"
    hparams.write_text(hparams.read_text().replace('"regression_metric"', kind))
    with pytest.raises(DataError, match="expected 'regression_metric'"):
        load(toy)


def test_an_encoder_that_cannot_be_read_is_named(toy: Path) -> None:
    (toy / "encoder" / "tokenizer.json").write_text("{}")
    with pytest.raises(MdnmtError, match="encoder: no COMET model can be made with it"):
        load(toy)


def test_a_score_that_is_no_number_is_refused(respoil: Callable[..., Path], tmp_path: Path) -> None:
    def spoil(saved: dict[str, Any]) -> None:
        saved["state_dict"]["estimator.ff.0.bias"][0] = torch.nan

    folder = respoil(spoil)
    for name in ("task/text/test.law.en", "task/text/test.law.de", "hyp/hyp.law.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a\nb\n")
    sets = TestSets(tmp_path / "task", "en", "de", ("law",))
    config = CometConfig(name=folder.name)
    with pytest.raises(DataError, match="line 1 of law has a COMET score that is not a finite number"):
        score_domains(sets, tmp_path / "hyp", config, folder.parent, torch.device("cpu"))
