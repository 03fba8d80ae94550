"""What `mdnmt export` refuses, and what a folder that it writes holds."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from export_configuration import set_corpus

from mdnmt.cli import main
from mdnmt.errors import ConfigError
from mdnmt.extras.export import export_run as module
from mdnmt.extras.export.export_run import export_run
from mdnmt.fsio import write_sums
from mdnmt.tasks.segmentation.segmenter import Segmentation, Segmenter, plain_text, segmentation_files

Finished = Callable[..., Path]


@pytest.fixture(autouse=True)
def _needs_ctranslate2() -> None:
    pytest.importorskip("ctranslate2", reason="CTranslate2 is an optional package")


@pytest.mark.slow
def test_a_forbidding_licence_is_named(finished: Finished, configuration: Path, tmp_path: Path) -> None:
    set_corpus(configuration, "law-text", redistributable=False)
    with pytest.raises(ConfigError, match=r"the corpus law-text \(domain law; licence: CC BY-NC-ND 4.0\)") as caught:
        export_run(finished("transformer"), "ctranslate2", tmp_path / "out", configuration)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_domain_that_the_configuration_lacks_is_named(
    finished: Finished, configuration: Path, tmp_path: Path
) -> None:
    task = configuration / "tasks" / "toy.yaml"
    task.write_text(task.read_text().replace("law:", "laws:"))
    with pytest.raises(ConfigError, match="has no domain 'law'"):
        export_run(finished("transformer"), "ctranslate2", tmp_path / "out", configuration)


def test_a_folder_with_files_is_left_alone(
    finished: Finished, configuration: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("kept")
    command = ["export", str(finished("transformer")), "--to", "ctranslate2", "--config", str(configuration)]
    assert main([*command, "--out", str(out)]) == 2
    err = capsys.readouterr().err
    assert "exists and is not an empty folder" in err and err.count("\n") == 1
    assert [path.name for path in out.iterdir()] == ["mine"]


@pytest.mark.slow
def test_a_method_that_the_format_cannot_represent_is_named(
    finished: Finished, configuration: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="builder waldm"):
        export_run(finished("waldm"), "ctranslate2", tmp_path / "out", configuration)


def test_without_the_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, configuration: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs the package ctranslate2, .*pip install '\.\[export\]'"):
        export_run(tmp_path, "ctranslate2", tmp_path / "out", configuration)


def test_an_error_leaves_nothing(
    finished: Finished, configuration: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "model_card", full)
    with pytest.raises(OSError, match="No space"):
        export_run(finished("transformer"), "ctranslate2", tmp_path / "target" / "out", configuration)
    assert list((tmp_path / "target").iterdir()) == []


@pytest.mark.slow
def test_the_card_and_the_script_travel_with_the_model(finished: Finished, configuration: Path, tmp_path: Path) -> None:
    run, out = finished("domain_tag"), tmp_path / "out"
    export_run(run, "ctranslate2", out, configuration)
    card = (out / "README.md").read_text(encoding="utf-8")
    record = json.loads((run / "run.json").read_text())
    for said in (
        record["model_sha256"],
        f"{record['num_parameters']:,}",
        "| CC0 |",
        "<domain:law>",
        "## Energy\n\nCPU: ",
        "## Limits",
    ):
        assert said in card
    text = "Mr. O'Neil's  café — it's 5 % of “that” @@ thing… "
    command = [sys.executable, str(out / "segment.py")]
    pieces = subprocess.run([*command, "encode"], input=text.encode(), capture_output=True, check=True).stdout
    assert pieces.decode().split() == Segmenter.load(run / "segmentation", "en").encode(text)
    plain = subprocess.run([*command, "decode"], input=pieces, capture_output=True, check=True).stdout
    assert plain.decode().rstrip("\n") == plain_text(pieces.decode().split(), "fr")


def test_the_reversible_tokenizer_travels_as_well(finished: Finished, configuration: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out"
    shutil.copytree(finished("transformer"), run)
    folder = run / "segmentation"
    Segmentation("joint", {"en": "reversible", "fr": "reversible"}).save(folder)
    write_sums(folder, segmentation_files(folder, ("en", "fr")))
    export_run(run, "ctranslate2", out, configuration)
    text = "It's 5 % of “that”: info@example.org!"
    command = [sys.executable, str(out / "segment.py")]
    pieces = subprocess.run([*command, "encode"], input=text.encode(), capture_output=True, check=True).stdout
    assert pieces.decode().split() == Segmenter.load(folder, "en").encode(text)
    plain = subprocess.run([*command, "decode"], input=pieces, capture_output=True, check=True).stdout
    assert plain.decode().rstrip("\n") == text
