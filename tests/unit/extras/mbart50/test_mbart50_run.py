"""Fine-tuning learns, stops and goes on, and is kept whole; zero-shot runs keep a note of their weights."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.analysis.resources import measure_run
from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.weights import load_model
from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.errors import ConfigError, DataError, Interrupted
from mdnmt.extras.mbart50.config import validate
from mdnmt.extras.mbart50.model import count_parameters, load_pretrained
from mdnmt.extras.mbart50.run import make_run, setup
from mdnmt.extras.mbart50.translator import MbartTranslator
from mdnmt.extras.mbart50.weight_files import folder_of
from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.trainer import RuntimeOptions

CPU = torch.device("cpu")
LINES = ["bank rate price", "", "court party rule judge", "growth"]
DECODING = Decoding(beam_size=3, max_length_ratio=1.0, max_length_extra=4)


def make(spec: Any, task: Path, folder: Path, root: Path, **runtime: Any) -> RunPaths:
    make_run(
        spec, task, folder, root=root, device="cpu", threads=1, runtime=RuntimeOptions(**runtime), method_name="mbart"
    )
    return RunPaths(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def trained(folders: Path, mbart_spec: Any, toy_task: Path, pretrained_root: Path) -> RunPaths:
    """Return the paths of a fine-tuned run, made once."""
    folder = folders / "trained"
    if not folder.exists():
        make(mbart_spec(), toy_task, folder, pretrained_root)
    return RunPaths(folder)


def test_fine_tuning_learns_and_leaves_what_every_run_leaves(trained: RunPaths, mbart_spec: Any) -> None:
    spec, record = mbart_spec(), json.loads(trained.record.read_text())
    losses = [row["loss"] for row in read_metrics(trained.metrics) if row.get("split") == "valid"][2::3]
    assert len(losses) == 3 and losses[-1] < losses[0] - 0.1
    assert record["fingerprint"] == spec.fingerprint and record["method"] == "mbart"
    assert record["averaged_updates"] == [record["best_update"]] == [12]
    assert trained.curves.read_text().count("\n") == 1 + 2 + 3 * 3 * 2
    assert {path.name for path in trained.segmentation.iterdir()} == {
        "config.json",
        "sentencepiece.bpe.model",
        "sums.json",
    }
    tied = {value.data_ptr(): value for name, value in load_model(trained.model).items() if "logits_bias" not in name}
    assert record["num_parameters"] == sum(value.numel() for value in tied.values())


def test_every_weight_is_trained(trained: RunPaths, pretrained_root: Path) -> None:
    before = load_pretrained(folder_of("facebook/mbart-large-50", pretrained_root))
    after = load_model(trained.model)
    assert before.state_dict().keys() == after.keys()
    same = [name for name, parameter in before.named_parameters() if torch.equal(parameter, after[name])]
    # Shifting all scores of an attention alike changes nothing, and so the bias of keys gets no gradient but rounding.
    assert [name for name in same if not name.endswith("k_proj.bias")] == []


def test_a_run_stopped_at_every_update_equals_one_never_stopped(
    trained: RunPaths, mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    stops = 0
    while not (tmp_path / "run.json").exists():
        try:
            make(mbart_spec(), toy_task, tmp_path, pretrained_root, stop_after_minutes=0.0)
        except Interrupted:
            stops += 1
    assert stops == 11
    for name in ("model.safetensors", "curves.tsv"):
        assert (tmp_path / name).read_bytes() == (trained.folder / name).read_bytes()


def test_the_trainer_gets_pairs_with_codes_and_the_dropout_of_the_options(
    mbart_spec: Any, toy_task: Path, pretrained_root: Path
) -> None:
    spec = mbart_spec(architecture={"dropout": 0.25, "attention_dropout": 0.15, "pairs_per_domain": 30})
    config = validate(spec.architecture, where="test")
    parts = setup(config, folder_of(config.weights, pretrained_root))
    data = parts.read(spec, TaskData.load(toy_task))
    method = parts.build(spec, data, CPU)
    split = data.split("train")
    assert len(split) == 60
    batch = collate(split, np.arange(4), bos=data.target_vocab.bos)
    [code] = {int(target[0]) for target in split.target}
    assert batch.target_BT[:, :2].tolist() == [[2, code]] * 4  # </s> starts, and the code is predicted
    assert batch.label_N[0] == code
    assert [loss.name for loss in method.losses] == ["generation"]
    layer = method.model.net.model.decoder.layers[0]
    assert (layer.dropout, layer.self_attn.dropout, layer.activation_dropout) == (0.25, 0.15, 0.0)


def test_a_fine_tuned_run_translates_by_itself_and_always_the_same(
    trained: RunPaths, tmp_path: Path, pretrained_root: Path
) -> None:
    moved = Path(shutil.copytree(trained.folder, tmp_path / "moved"))
    translator = MbartTranslator(trained.folder, CPU, tmp_path / "nothing")
    assert count_parameters(translator.model) == json.loads(trained.record.read_text())["num_parameters"]
    first = translator.translate(LINES, DECODING)
    assert MbartTranslator(moved, CPU, tmp_path / "nothing").translate(LINES, DECODING) == first
    assert first[1][0].text == "" and all(best[0].pieces for best in first[:1] + first[2:])
    (moved / "model.safetensors").write_bytes((moved / "model.safetensors").read_bytes()[:-7])
    with pytest.raises(InvalidCheckpoint, match="expected"):
        MbartTranslator(moved, CPU, tmp_path)


def test_a_zero_shot_run_is_a_note(
    mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = mbart_spec("zero-shot")
    paths = make(spec, toy_task, tmp_path / "run", pretrained_root)
    record = json.loads(paths.record.read_text())
    own = load_pretrained(folder_of(spec.architecture["weights"], pretrained_root))
    assert record["updates"] == 0 and record["num_parameters"] == sum(p.numel() for p in own.parameters())
    assert load_model(paths.model) == {} and paths.model.stat().st_size < 1000
    assert len(paths.curves.read_text().splitlines()) == 1
    # The verbs take it as any run.
    words = ["--run", str(paths.folder), "--device", "cpu", "--threads", "1", "--pretrained", str(pretrained_root)]
    spec_json = Decoding(beam_size=2, max_length_extra=2, nbest=2, max_sentences=3).model_dump_json()
    hyp = tmp_path / "hyp"
    assert main(["decode", *words, "--task", str(toy_task), "--spec", spec_json, "--out", str(hyp)]) == 0
    assert [len((hyp / f"hyp.{name}.txt").read_text().splitlines()) for name in ("economy", "law")] == [3, 3]
    [first, *_] = [json.loads(line) for line in (hyp / "nbest.law.jsonl").read_text().splitlines()]
    assert len(first) == 2 and first[0]["score"] >= first[1]["score"]
    capsys.readouterr()
    assert main(["decode", *words[:-1], str(tmp_path), "--task", str(toy_task), "--out", str(hyp)]) == 2
    said = capsys.readouterr().err
    assert "has no config.json; get them with `hf download facebook/mbart-large-50-many-to-many-mmt" in said


def test_the_verbs_train_and_translate(
    mbart_spec: Any,
    toy_task: Path,
    pretrained_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    out = str(tmp_path / "run")
    spec = mbart_spec(max_updates=1, log_every=1)
    words = ["--device", "cpu", "--threads", "1", "--pretrained", str(pretrained_root)]
    assert main(["train", "--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", out, *words]) == 0
    capsysbinary.readouterr()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"bank rate\n\ncourt\n")))
    assert main(["translate", "--run", out, "--domain", "law", "--beam-size", "2", *words]) == 0
    lines = capsysbinary.readouterr().out.decode().split("\n")
    assert len(lines) == 4 and lines[1] == lines[3] == "" and lines[0]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"bank\n")))
    assert main(["translate", "--run", out, "--domain", "laws", *words]) == 2
    assert b"no domain 'laws' in this run (did you mean 'law'?)" in capsysbinary.readouterr().err


def test_other_weights_than_planned_are_refused(
    mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(pretrained_root, tmp_path / "root"))
    config = folder_of("facebook/mbart-large-50", root) / "config.json"
    config.write_text(config.read_text().replace('"dropout": 0.1', '"dropout": 0.15'))
    with pytest.raises(DataError, match="but the run was planned with"):
        make(mbart_spec(), toy_task, tmp_path / "run", root)


def test_a_task_in_other_languages_is_refused(
    mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    task = Path(shutil.copytree(toy_task, tmp_path / "task"))
    manifest = read_json(task / "task.json")
    manifest["target_lang"] = "nl"
    (task / "vocab.nl.txt").write_bytes((task / "vocab.fr.txt").read_bytes())
    (task / "task.json").write_text(json.dumps(manifest))
    for use in ("zero-shot", "fine-tune"):
        with pytest.raises(ConfigError, match="set up for de, en, fr, zh, but the task is en to nl"):
            make(mbart_spec(use), task, tmp_path / use, pretrained_root)


@pytest.mark.slow
def test_time_and_memory_are_measured_as_those_of_every_run(
    trained: RunPaths, mbart_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    zero = make(mbart_spec("zero-shot"), toy_task, tmp_path / "zero", pretrained_root).folder
    options: dict[str, Any] = {"device": CPU, "repeats": 1, "root": pretrained_root}
    tuned, plain = (measure_run(folder, toy_task, DECODING, **options) for folder in (trained.folder, zero))
    assert tuned["train_tokens_per_second"] > 0 and tuned["num_parameters"] == plain["num_parameters"]
    assert plain.keys() == {key for key in tuned if "train" not in key and not key.startswith("epoch_")}
    words = ["--runs", json.dumps({"zero": str(zero)}), "--task", str(toy_task), "--out", str(tmp_path / "out.json")]
    words += ["--repeats", "1", "--device", "cpu", "--threads", "1", "--pretrained", str(pretrained_root)]
    assert main(["measure", *words]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["rows"]["zero"].keys() == plain.keys()
