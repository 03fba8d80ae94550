"""Which files a COMET model is made of: what is missing, and what is another model."""

from __future__ import annotations

import hashlib
import re
import shutil
from pathlib import Path

import pytest

from mdnmt.config.comet import CometConfig
from mdnmt.errors import DataError
from mdnmt.fsio import write_text
from mdnmt.score.metrics import comet_files
from mdnmt.score.metrics.comet_files import NEEDED, plan, verified, why_missing


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "toy-comet"
    for name in NEEDED:  # any content: nothing here loads a model
        write_text(folder / name, name)
    return folder


def one_line(text: str) -> bool:
    return "\n" not in text and len(text) < 2000  # it names paths, which may be long


def test_missing_weights_are_one_line_that_says_how_to_get_them(made: Path, tmp_path: Path) -> None:
    said = why_missing(tmp_path, "wmt22-comet-da")
    assert said is not None and said.startswith("needs the weights of wmt22-comet-da") and one_line(said)
    folder, release = tmp_path / "wmt22-comet-da", comet_files.RELEASES["wmt22-comet-da"]
    assert f"hf download Unbabel/wmt22-comet-da --revision {release.revision} --local-dir {folder}`" in said
    assert f"--revision {release.encoder_revision} --local-dir {folder / 'encoder'}`" in said
    assert plan(CometConfig(), tmp_path) == (CometConfig(), said)
    shutil.copytree(made, tmp_path / "mine")
    assert why_missing(tmp_path, "mine") is None
    (tmp_path / "mine" / "encoder" / "tokenizer.json").unlink()
    said = why_missing(tmp_path, "mine")
    assert said is not None and "has no encoder/tokenizer.json; put checkpoints/model.ckpt, " in said and one_line(said)
    assert why_missing(tmp_path, "toy-comet") is None  # the verb makes it


def test_the_page_on_comet_gives_the_same_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "comet.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    said = why_missing(comet_files.COMET, "wmt22-comet-da")
    assert said is not None
    assert re.findall(r"^(hf .*)$", page, flags=re.MULTILINE) == re.findall(r"`(hf [^`]+)`", said)
    assert comet_files.RELEASES["wmt22-comet-da"].checkpoint_sha256[:12] in page


def test_plan_pins_the_files_and_asks_for_each_sum_once(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "mine")
    asked = []

    def sha256(path: Path) -> str:
        asked.append(path.relative_to(tmp_path / "mine").as_posix())
        return hashlib.sha256(path.read_bytes()).hexdigest()

    planned, reason = plan(CometConfig(name="mine"), tmp_path, sha256)
    assert reason is None and asked == list(NEEDED)
    assert verified(planned, tmp_path).sha256 == planned.sha256
    (tmp_path / "mine" / "encoder" / "tokenizer_config.json").write_text('{"model_max_length": 512}')
    with pytest.raises(DataError, match=f"but the scores are to be of {str(planned.sha256)[:12]}; put those back"):
        verified(planned, tmp_path)
    assert plan(CometConfig(name="toy-comet"), tmp_path) == (CometConfig(name="toy-comet"), None)


def test_another_checkpoint_under_a_released_name_is_refused(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "wmt22-comet-da")
    with pytest.raises(DataError, match="but Unbabel/wmt22-comet-da is e213091cde22"):
        verified(CometConfig(), tmp_path)
    _, reason = plan(CometConfig(), tmp_path)
    assert reason is not None and reason.startswith("needs the weights of wmt22-comet-da: ") and one_line(reason)
