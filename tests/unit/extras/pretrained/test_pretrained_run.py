"""Fine-tuning learns, stops and goes on, and is kept whole; zero-shot runs keep a note of their weights."""

from __future__ import annotations

import io
import json
import shutil
from contextlib import suppress
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
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.hub import list_files
from mdnmt.extras.pretrained.model import count_parameters, load_pretrained
from mdnmt.extras.pretrained.run import make_run, setup_of
from mdnmt.extras.pretrained.tokenizer import load_tokenizer
from mdnmt.extras.pretrained.translator import PretrainedTranslator
from mdnmt.extras.pretrained.weights import checksums_of, digest_of, folder_of
from mdnmt.fsio import read_json
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.trainer import RuntimeOptions

pytestmark = pytest.mark.slow  # each fine-tunes a model

CPU = torch.device("cpu")
LINES = ["bank rate price", "", "court party rule judge", "growth"]
CONFIG = PretrainedConfig(weights="tiny/mbart50")
DECODING = Decoding(beam_size=3, max_length_ratio=1.0, max_length_extra=4)


def make(spec: Any, task: Path, folder: Path, root: Path, **runtime: Any) -> RunPaths:
    make_run(
        spec, task, folder, root=root, device="cpu", threads=1, runtime=RuntimeOptions(**runtime), method_name="tuned"
    )
    return RunPaths(folder)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def trained(folders: Path, pretrained_spec: Any, toy_task: Path, pretrained_root: Path) -> RunPaths:
    """Return the paths of a fine-tuned run, made once."""
    folder = folders / "trained"
    if not folder.exists():
        make(pretrained_spec(), toy_task, folder, pretrained_root)
    return RunPaths(folder)


def test_fine_tuning_learns_and_leaves_what_every_run_leaves(trained: RunPaths, pretrained_spec: Any) -> None:
    spec, record = pretrained_spec(), json.loads(trained.record.read_text())
    losses = [row["loss"] for row in read_metrics(trained.metrics) if row.get("split") == "valid"][2::3]
    assert len(losses) == 3 and losses[-1] < losses[0] - 0.1
    assert record["fingerprint"] == spec.fingerprint and record["method"] == "tuned"
    assert record["averaged_updates"] == [record["best_update"]] == [12]
    assert trained.curves.read_text().count("\n") == 1 + 2 + 3 * 3 * 2
    kept = {"config.json", "sentencepiece.bpe.model", "special_tokens_map.json", "sums.json", "tokenizer_config.json"}
    assert {path.name for path in trained.segmentation.iterdir()} == kept
    tied = {value.data_ptr(): value for name, value in load_model(trained.model).items() if "logits_bias" not in name}
    assert record["num_parameters"] == sum(value.numel() for value in tied.values())


def test_every_weight_is_trained(trained: RunPaths, pretrained_root: Path) -> None:
    before = load_pretrained(folder_of(CONFIG, pretrained_root), CONFIG)
    after = load_model(trained.model)
    assert before.state_dict().keys() == after.keys()
    same = [name for name, parameter in before.named_parameters() if torch.equal(parameter, after[name])]
    # Shifting all scores of an attention alike changes nothing, and so the bias of keys gets no gradient but rounding.
    assert [name for name in same if not name.endswith("k_proj.bias")] == []


def test_a_run_stopped_at_every_update_equals_one_never_stopped(
    trained: RunPaths, pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    stops = 0
    while not (tmp_path / "run.json").exists():
        try:
            make(pretrained_spec(), toy_task, tmp_path, pretrained_root, stop_after_minutes=0.0)
        except Interrupted:
            stops += 1
    assert stops == 11
    for name in ("model.safetensors", "curves.tsv"):
        assert (tmp_path / name).read_bytes() == (trained.folder / name).read_bytes()


@pytest.mark.parametrize(("kind", "start", "given"), [("mbart50", 2, 1), ("nllb", 2, 1), ("marian", None, 0)])
def test_the_decoder_begins_as_transformers_says(
    kind: str, start: int | None, given: int, pretrained_spec: Any, toy_task: Path, pretrained_root: Path
) -> None:
    spec = pretrained_spec(kind=kind, architecture={"pairs_per_domain": 30})
    parts = setup_of(spec, pretrained_root)
    assert parts is not None
    data = parts.read(spec, TaskData.load(toy_task))
    split = data.split("train")
    assert len(split) == 60
    batch = collate(split, np.arange(4), bos=data.target_vocab.bos)
    if start is None:  # Marian begins with padding
        start = load_tokenizer(folder_of(PretrainedConfig(weights=f"tiny/{kind}"), pretrained_root)).pad_token_id
    assert batch.target_BT[:, 0].tolist() == [start] * 4
    codes = {int(target[0]) for target in split.target}
    assert (len(codes) == 1) == bool(given)  # the code of the language is predicted
    assert [loss.name for loss in parts.build(spec, data, CPU).losses] == ["generation"]


def test_lora_of_one_domain_keeps_its_additions_alone(
    pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    training = {"learning_rate": 0.05, "max_updates": 20, "validate_every": 10}
    spec = pretrained_spec("lora", "nllb", domains=("law",), architecture={"lora_rank": 2}, **training)
    paths = make(spec, toy_task, tmp_path / "run", pretrained_root)
    record, saved = json.loads(paths.record.read_text()), load_model(paths.model)
    assert saved and all(".lora_" in name for name in saved)
    assert record["num_parameters"] > 5 * sum(one.numel() for one in saved.values())
    losses = [row for row in read_metrics(paths.metrics) if row.get("split") == "valid" and row.get("domain") == "law"]
    assert losses[-1]["loss"] < losses[0]["loss"]
    assert not {row.get("domain") for row in read_metrics(paths.metrics)} & {"economy"}
    # Stopped and resumed, it is the same run.
    while not (tmp_path / "again/run.json").exists():
        with suppress(Interrupted):
            make(spec, toy_task, tmp_path / "again", pretrained_root, stop_after_minutes=0.0)
    assert (tmp_path / "again/model.safetensors").read_bytes() == paths.model.read_bytes()
    # It translates with the pretrained weights, and not without them.
    tuned = PretrainedTranslator(paths.folder, CPU, pretrained_root).translate(LINES, DECODING)
    plain = make(pretrained_spec("zero-shot", "nllb"), toy_task, tmp_path / "zero", pretrained_root)
    assert tuned != PretrainedTranslator(plain.folder, CPU, pretrained_root).translate(LINES, DECODING)
    with pytest.raises(DataError, match="get them with `mdnmt fetch-weights tiny/nllb`"):
        PretrainedTranslator(paths.folder, CPU, tmp_path)
    measured = measure_run(paths.folder, toy_task, DECODING, device=CPU, repeats=1, root=pretrained_root)
    assert measured["parameters_per_domain"] == sum(one.numel() for one in saved.values())


def test_a_fine_tuned_run_translates_by_itself_and_always_the_same(
    trained: RunPaths, tmp_path: Path, pretrained_root: Path
) -> None:
    moved = Path(shutil.copytree(trained.folder, tmp_path / "moved"))
    translator = PretrainedTranslator(trained.folder, CPU, tmp_path / "nothing")
    assert count_parameters(trained.segmentation, CONFIG) == json.loads(trained.record.read_text())["num_parameters"]
    first = translator.translate(LINES, DECODING)
    assert PretrainedTranslator(moved, CPU, tmp_path / "nothing").translate(LINES, DECODING) == first
    assert first[1][0].text == "" and any(best[0].pieces for best in first)
    (moved / "model.safetensors").write_bytes((moved / "model.safetensors").read_bytes()[:-7])
    with pytest.raises(InvalidCheckpoint, match="expected"):
        PretrainedTranslator(moved, CPU, tmp_path)


def test_a_zero_shot_run_is_a_note(
    pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = pretrained_spec("zero-shot")
    paths = make(spec, toy_task, tmp_path / "run", pretrained_root)
    record = json.loads(paths.record.read_text())
    own = load_pretrained(folder_of(CONFIG, pretrained_root), CONFIG)
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
    assert "tiny--mbart50: no complete weights" in said and "get them with `mdnmt fetch-weights tiny/mbart50`" in said


def test_the_verbs_train_and_translate(
    pretrained_spec: Any,
    toy_task: Path,
    pretrained_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    out = str(tmp_path / "run")
    spec = pretrained_spec(max_updates=1, log_every=1)
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
    pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(pretrained_root, tmp_path / "root"))
    planned = pretrained_spec(architecture={"sha256": digest_of(checksums_of(folder_of(CONFIG, root)))})
    config = folder_of(CONFIG, root) / "config.json"
    config.write_text(config.read_text().replace('"dropout": 0.1', '"dropout": 0.15'))
    with pytest.raises(DataError, match=r"config\.json: differs from weights\.json; remove both"):
        make(planned, toy_task, tmp_path / "run", root)
    list_files(config.parent)
    with pytest.raises(DataError, match="but the run was planned with"):
        make(planned, toy_task, tmp_path / "run", root)


def test_a_task_in_other_languages_is_refused(
    pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    task = Path(shutil.copytree(toy_task, tmp_path / "task"))
    manifest = read_json(task / "task.json")
    manifest["target_lang"] = "mt"
    (task / "vocab.mt.txt").write_bytes((task / "vocab.fr.txt").read_bytes())
    (task / "task.json").write_text(json.dumps(manifest))
    for use in ("zero-shot", "fine-tune"):
        with pytest.raises(ConfigError, match="tiny/mbart50 has no language 'mt'; it has"):
            make(pretrained_spec(use), task, tmp_path / use, pretrained_root)


def test_time_and_memory_are_measured_as_those_of_every_run(
    trained: RunPaths, pretrained_spec: Any, toy_task: Path, pretrained_root: Path, tmp_path: Path
) -> None:
    zero = make(pretrained_spec("zero-shot"), toy_task, tmp_path / "zero", pretrained_root).folder
    options: dict[str, Any] = {"device": CPU, "repeats": 1, "root": pretrained_root}
    tuned, plain = (measure_run(folder, toy_task, DECODING, **options) for folder in (trained.folder, zero))
    assert tuned["train_tokens_per_second"] > 0 and tuned["num_parameters"] == plain["num_parameters"]
    assert plain.keys() == {key for key in tuned if "train" not in key and not key.startswith("epoch_")}
    words = ["--runs", json.dumps({"zero": str(zero)}), "--task", str(toy_task), "--out", str(tmp_path / "out.json")]
    words += ["--repeats", "1", "--device", "cpu", "--threads", "1", "--pretrained", str(pretrained_root)]
    assert main(["measure", *words]) == 0
    assert json.loads((tmp_path / "out.json").read_text())["rows"]["zero"].keys() == plain.keys()
