"""COMET on a toy of the library's own class: held against the library's own ways to score with the same files."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.cli import main
from mdnmt.config.comet import CometConfig
from mdnmt.errors import DataError
from mdnmt.fsio import read_json, write_json, write_lines
from mdnmt.score.metrics import comet as ours
from mdnmt.score.metrics.toy_comet import make_toy
from mdnmt.score.test_sets import load_test_sets

CPU = torch.device("cpu")
# Several of one length, so that the order of ties counts; several scripts; spaces around.
WORDS = ("bank", "price", "doctor", "a", "the patient", "42 %", "Straße", "déjà vu", "银行", "of", "growth", "x-ray")
PLAIN = [" ".join(WORDS[(row + k) % 12] for k in range(row % 5 + 1)) for row in range(24)]
SOURCES = [f"{'  ' * (row * 5 % 7)}{line}" for row, line in enumerate(PLAIN)]
REFERENCES = [f" {' '.join(reversed(line.split()))} ." for line in PLAIN]
HYPOTHESES = ["" if row % 7 == 3 else f"{line[2:]} {WORDS[row % 5]} " for row, line in enumerate(REFERENCES)]


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of models with a toy in it."""
    root = tmp_path_factory.mktemp("comet")
    make_toy(root / "toy-comet")
    return root


@pytest.fixture(scope="module")
def toy(toys: Path) -> Any:
    return ours.load(toys / "toy-comet")[0]


@pytest.fixture(scope="module")
def library() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import comet

    return comet


@pytest.fixture
def task(tmp_path: Path) -> Callable[..., tuple[Path, Path]]:
    """Return a function (domain -> sources, hypotheses, references) -> folders of the task and of the hypotheses."""

    def make(domains: dict[str, tuple[list[str], list[str], list[str]]]) -> tuple[Path, Path]:
        folder, hypotheses = tmp_path / "task", tmp_path / "hyp"
        splits = {name: dict.fromkeys(domains, f"{name}-identity") for name in ("train", "test")}
        write_json(
            folder / "task.json",
            {"source_lang": "en", "target_lang": "de", "domains": list(domains), "splits": splits},
        )
        for domain, (sources, found, references) in domains.items():
            write_lines(folder / "text" / f"test.{domain}.en", sources)
            write_lines(folder / "text" / f"test.{domain}.de", references)
            write_lines(hypotheses / f"hyp.{domain}.txt", found)
        return folder, hypotheses

    return make


def samples() -> list[dict[str, str]]:
    triples = zip(SOURCES, HYPOTHESES, REFERENCES, strict=True)
    return [{"src": s.strip(), "mt": h.strip(), "ref": r.strip()} for s, h, r in triples]


@pytest.mark.parametrize("transformation", ["sparsemax", "sparsemax_patch"])
def test_scores_are_those_of_the_library_to_the_last_bit(
    library: Any, toys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transformation: str
) -> None:
    folder = tmp_path / "toy"
    shutil.copytree(toys / "toy-comet", folder)
    hparams = (folder / "hparams.yaml").read_text()
    (folder / "hparams.yaml").write_text(hparams.replace('"sparsemax"', f'"{transformation}"'))
    monkeypatch.chdir(folder)  # where the library finds the encoder that the toy names
    theirs = library.load_from_checkpoint("checkpoints/model.ckpt", local_files_only=True)
    expected = theirs.predict(samples(), batch_size=5, gpus=0, progress_bar=False)
    model, _ = ours.load(folder)
    found = ours.segment_scores(model, SOURCES, HYPOTHESES, REFERENCES, 5)
    assert found == expected.scores
    assert math.fsum(found) / len(found) == pytest.approx(expected.system_score, abs=1e-12)
    assert len(set(found)) > 20
    assert (model.layerwise_attention.transform_fn is torch.softmax) == (transformation == "sparsemax_patch")


@pytest.mark.parametrize("batch_size", [1, 3, 16])
def test_batch_size_changes_no_score_but_float_rounding(toy: Any, batch_size: int) -> None:
    whole = ours.segment_scores(toy, SOURCES, HYPOTHESES, REFERENCES, len(SOURCES))
    found = ours.segment_scores(toy, SOURCES, HYPOTHESES, REFERENCES, batch_size)
    assert found == pytest.approx(whole, abs=2e-6)


def test_no_text_can_shift_the_lines_below_it(toys: Path, toy: Any, task: Callable[..., tuple[Path, Path]]) -> None:
    awkward = ["", "a\tb", "c\rd", "e\u2028f", "g\x0bh\x0ci", "j\x85k", "  ", "\tl", "m \u3000", "n\x1eo", "last line"]
    plain = [f"sentence number {row} of {WORDS[row]}" for row in range(len(awkward))]
    orders = {"hypotheses": (plain, awkward, plain[::-1]), "texts": (awkward, plain, awkward[::-1])}
    folder, hypotheses = task(orders)
    config = CometConfig(name="toy-comet", batch_size=4, precision="float32")
    scores, segments = ours.score_domains(load_test_sets(folder), hypotheses, config, toys, CPU)
    for domain, columns in orders.items():
        alone = [ours.segment_scores(toy, [s], [h], [r], 1)[0] for s, h, r in zip(*columns, strict=True)]
        assert segments[domain] == pytest.approx(alone, abs=2e-6)
        assert scores["domains"][domain]["num_sentences"] == len(awkward)


def test_an_empty_hypothesis_is_scored_as_one(toy: Any) -> None:
    found = ours.segment_scores(toy, SOURCES[:3], ["", REFERENCES[1], "\t "], REFERENCES[:3], 2)
    assert all(math.isfinite(score) for score in found)
    assert found[0] == pytest.approx(ours.segment_scores(toy, SOURCES[:1], [" "], REFERENCES[:1], 1)[0], abs=2e-6)


def test_verb_writes_scores_as_scores_json_has_them_and_sentences_beside(
    toys: Path,
    task: Callable[..., tuple[Path, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch, "set_deterministic_debug_mode", lambda mode: None)  # of this process, not of one test
    short = (SOURCES[:5], HYPOTHESES[:5], REFERENCES[:5])
    folder, hypotheses = task({"law": (SOURCES, HYPOTHESES, REFERENCES), "news": short})
    out = tmp_path / "out" / "comet-1.json"
    where = ["--task", str(folder), "--hypotheses", str(hypotheses)]
    options = ["--spec", '{"name": "toy-comet"}', "--weights", str(toys), "--device", "cpu", "--out", str(out)]
    assert main(["comet", *where, *options]) == 0
    found = read_json(out)
    splits = {"train": "train-identity", "test": "test-identity"}
    for domain, num_sentences in (("law", 24), ("news", 5)):
        values = found["domains"][domain]
        assert values == {"comet": values["comet"], "num_sentences": num_sentences, "splits": splits}
        assert values["comet"].keys() == {"score", "signature"}
    segments = read_json(tmp_path / "out" / "comet-1.segments.json")["domains"]
    for domain, values in found["domains"].items():
        assert values["comet"]["score"] == 100 * (math.fsum(segments[domain]) / values["num_sentences"])
    law, news = (found["domains"][name]["comet"]["score"] for name in ("law", "news"))
    assert found["mean"] == {"comet": (law + news) / 2}
    checkpoint = found["model"]["checkpoint_sha256"][:12]
    assert found["domains"]["law"]["comet"]["signature"] == (
        f"model:toy-comet|toy:random-weights|checkpoint:{checkpoint}|precision:float16|batch:16|device:cpu|version:2.2.7"
    )
    assert found["model"]["toy"] is True
    printed = capsys.readouterr().out
    assert f"law: COMET {law:.2f} (24 sentences)" in printed and "(a toy: says nothing)" in printed
    before = {path: path.read_bytes() for path in out.parent.iterdir()}
    # Where the toy is missing, the verb makes it, with the same bytes.
    assert main(["comet", *where, *options, "--weights", str(tmp_path / "models")]) == 0
    assert {path: path.read_bytes() for path in out.parent.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--task is missing"),
        (["--task", "nowhere", "--hypotheses", "h", "--out", "o.json"], "nowhere/task.json: no such file"),
        (["--task", "t", "--hypotheses", "h", "--out", "o", "--spec", '{"batch": 3}'], "unknown key 'batch'"),
    ],
)
def test_mistakes_of_the_verb_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main(["comet", *arguments]) == 2
    printed = capsys.readouterr().err
    assert said in printed and printed.count("\n") == 1


def test_too_few_hypotheses_are_told_before_the_model_is_loaded(
    task: Callable[..., tuple[Path, Path]], tmp_path: Path
) -> None:
    folder, hypotheses = task({"law": (SOURCES, HYPOTHESES[:-1], REFERENCES)})
    with pytest.raises(DataError, match=r"23 lines, but .* has 24 references"):
        ours.score_domains(load_test_sets(folder), hypotheses, CometConfig(), tmp_path / "no models", CPU)


ALONE = """
import os, socket, sys
for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"):
    os.environ.pop(name, None)
def refused(*args, **options):
    sys.exit("a socket was asked for")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refused
from mdnmt.cli import main
task, hypotheses, out, weights = sys.argv[1:]
where = ["--task", task, "--hypotheses", hypotheses]
spec = ["--spec", '{"name": "toy-comet"}', "--weights", weights, "--device", "cpu", "--threads", "1"]
assert main(["comet", *where, "--out", out + "/comet.json", *spec]) == 0
assert "comet" in sys.modules and os.environ["HF_HUB_OFFLINE"] == "1"
"""


def test_scoring_asks_no_server(toys: Path, task: Callable[..., tuple[Path, Path]], tmp_path: Path) -> None:
    folder, hypotheses = task({"law": (SOURCES, HYPOTHESES, REFERENCES)})
    arguments = [str(folder), str(hypotheses), str(tmp_path), str(toys)]
    done = subprocess.run([sys.executable, "-c", ALONE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and "law: COMET" in done.stdout
    assert json.loads((tmp_path / "comet.json").read_text())["domains"]["law"]["num_sentences"] == 24


def test_scores_are_those_of_the_command_of_the_library(
    toys: Path, task: Callable[..., tuple[Path, Path]], tmp_path: Path
) -> None:
    folder, hypotheses = task({"law": (SOURCES, HYPOTHESES, REFERENCES)})
    files = [folder / "text" / "test.law.en", hypotheses / "hyp.law.txt", folder / "text" / "test.law.de"]
    named = [word for option, file in zip(("-s", "-t", "-r"), files, strict=True) for word in (option, str(file))]
    command = [str(Path(sys.executable).parent / "comet-score"), *named, "--to_json", str(tmp_path / "told.json")]
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://127.0.0.1:9")
    done = subprocess.run(
        [*command, "--model", "checkpoints/model.ckpt", "--gpus", "0", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        cwd=toys / "toy-comet",  # where the library finds the encoder that the toy names
        env={**os.environ, **nowhere, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    told = [one["COMET"] for one in json.loads((tmp_path / "told.json").read_text())[str(files[1])]]
    mean = done.stdout.rstrip().split("score: ")[-1].splitlines()[0]
    config = CometConfig(name="toy-comet")  # the defaults are those of the command
    scores, segments = ours.score_domains(load_test_sets(folder), hypotheses, config, toys, CPU)
    assert segments["law"] == told and len(set(told)) > 15
    assert f"{scores['domains']['law']['comet']['score'] / 100:.4f}" == mean
