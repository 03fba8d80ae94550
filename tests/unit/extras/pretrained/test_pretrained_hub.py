"""Weights are downloaded from a hub at a commit, verified, locked, and listed; half a download is none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hub_server import COMMIT, Hub, serving

from mdnmt.corpora.corpus_lock import read_lock
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.hub import lock_name
from mdnmt.extras.pretrained.weights import folder_of, verified_folder
from mdnmt.fsio import read_json

pytestmark = pytest.mark.slow  # downloads that are cut

CONFIG = PretrainedConfig(weights="tiny/model", revision=COMMIT)
Fetch = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hub(pretrained_root: Path) -> Iterator[Hub]:
    with serving(folder_of(PretrainedConfig(weights="tiny/nllb"), pretrained_root)) as found:
        del found.files["weights.json"]
        found.files |= {"README.md": b"about", "tf_model.h5": b"the same weights again"}
        yield found


@pytest.fixture
def fetch(hub: Hub, tmp_path: Path) -> Fetch:
    """Return a function that runs the verb in a process of its own: the library reads its settings once."""
    (tmp_path / "config").mkdir()
    clean = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment = {**clean, "HF_ENDPOINT": hub.host, "HF_HOME": str(tmp_path / "hf"), "no_proxy": "*"}

    def run(weights: str = "tiny/model", revision: str = COMMIT) -> subprocess.CompletedProcess[str]:
        words = ["fetch-weights", weights, "--revision", revision, "--pretrained", "pretrained", "--config", "config"]
        command = [sys.executable, "-m", "mdnmt", *words]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    return run


def test_files_come_over_a_redirect_and_a_cut_and_are_locked(fetch: Fetch, hub: Hub, tmp_path: Path) -> None:
    hub.files["pytorch_model.bin"] = bytes(24 << 20)  # the library writes 10 MiB at a time
    hub.cut.add("pytorch_model.bin")
    done = fetch()
    assert done.returncode == 0, done.stderr
    folder = verified_folder(CONFIG, tmp_path / "pretrained")
    manifest = read_json(folder / "weights.json")
    assert "fra_Latn" in manifest["languages"]
    assert {"config.json", "sentencepiece.bpe.model", "pytorch_model.bin"} <= manifest["files"].keys()
    assert not {"README.md", "tf_model.h5"} & {name for name, _ in hub.sent}
    assert all((folder / name).read_bytes() == hub.files[name] for name in manifest["files"])
    asked = [given for name, given in hub.sent if name == "pytorch_model.bin"]
    assert asked == ["", f"bytes={10 << 20}-"]  # the second attempt resumed
    rows = read_lock(tmp_path / "config").corpora[lock_name("tiny/model", COMMIT)]
    assert {row.file: row.sha256 for row in rows} == manifest["files"]
    # Again, nothing is downloaded.
    hub.sent.clear()
    assert fetch().returncode == 0 and hub.sent == []


def test_a_file_that_is_not_what_hub_or_lock_say_is_removed(fetch: Fetch, hub: Hub, tmp_path: Path) -> None:
    folder = folder_of(CONFIG, tmp_path / "pretrained")
    for name in ("pytorch_model.bin", "config.json"):  # the hub lists them in two ways
        (folder / name).unlink(missing_ok=True)  # the first download got it
        hub.wrong = {name: bytes(byte ^ 1 for byte in hub.files[name])}
        last = fetch().stderr.splitlines()[-1]
        assert f"{name} has checksum" in last and "the hub says" in last
        assert not (folder / name).exists() and not (folder / "weights.json").exists()
        assert not read_lock(tmp_path / "config").corpora
    hub.wrong.clear()
    assert fetch().returncode == 0  # the same command gets what was lacking
    for path in folder.glob("*.*"):
        if path.is_file():
            path.unlink()
    hub.files["config.json"] += b" "  # the hub is consistent, but it is another file than the locked one
    done = fetch()
    assert done.returncode == 2 and "corpora.own.lock.yaml says" in done.stderr.splitlines()[-1]
    assert not (folder / "config.json").exists() and not (folder / "weights.json").exists()


def test_what_the_hub_does_not_have_is_one_line(fetch: Fetch) -> None:
    for weights, revision in (("tiny/model", "f" * 40), ("tiny/models", COMMIT)):
        done = fetch(weights, revision)
        assert done.returncode == 2 and "correct `weights` or `revision`" in done.stderr.splitlines()[-1]
