"""One update is what the equations say; runs learn, end and fail as they should."""

from __future__ import annotations

import errno
import gc
import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases
from safetensors import safe_open

from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.checkpoints.weights import load_model
from mdnmt.decode.translator import Translator
from mdnmt.errors import Interrupted, MdnmtError
from mdnmt.models.losses import Loss
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import trainer as trainer_module
from mdnmt.train.batches import collate, epoch_batches, usable
from mdnmt.train.device import make_deterministic
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics_log import MetricsLog, read_metrics
from mdnmt.train.run import build_method, train_run
from mdnmt.train.schedule import learning_rate
from mdnmt.train.signals import StopRequest
from mdnmt.train.trainer import RuntimeOptions, Trainer, TrainingError


def train(spec: Any, task: Path, folder: Path, **runtime: Any) -> RunPaths:
    train_run(spec, task, folder, device="cpu", runtime=RuntimeOptions(**runtime))
    return RunPaths(folder)


def records(folder: Path, split: str) -> list[dict[str, Any]]:
    return [record for record in read_metrics(RunPaths(folder).metrics) if record.get("split") == split]


def total(losses: list[Loss], output: Any, batch: Any) -> Any:
    return torch.stack([loss(output, batch) for loss in losses]).sum()


@pytest.mark.parametrize("accumulate", [1, 3])
def test_two_updates_equal_those_made_by_hand(make_spec: Any, toy_task: Path, tmp_path: Path, accumulate: int) -> None:
    spec = make_spec(
        architecture={"dropout": 0.0},
        max_updates=2,
        validate_every=2,
        average_checkpoints=1,
        accumulate_batches=accumulate,
        clip_norm=0.05,
    )
    found = load_model(train(spec, toy_task, tmp_path).model)
    data = TaskData.load(toy_task)
    make_deterministic(spec.seed, None)
    method = build_method(spec, data, torch.device("cpu"))
    adam = torch.optim.AdamW(method.model.parameters(), betas=(0.9, 0.98), eps=1e-8, weight_decay=1e-4, fused=True)
    split = data.split("train")
    batches = epoch_batches(split, usable(split, [0, 1], 250), max_tokens=200, seed=spec.seed, epoch=0)
    proportions = [p for name, p in method.model.named_parameters() if "conditioner" in name]
    others = [p for name, p in method.model.named_parameters() if "conditioner" not in name]
    for update in (1, 2):
        chosen = [
            collate(split, indices, bos=1) for indices in batches[(update - 1) * accumulate : update * accumulate]
        ]
        words = sum(batch.num_target_tokens for batch in chosen)
        adam.zero_grad()
        for batch in chosen:
            (total(list(method.losses), method.model(batch), batch) / words).backward()
        for group in (others, proportions):
            norm = math.sqrt(sum(p.grad.square().sum().item() for p in group if p.grad is not None))
            assert norm > 0.05
            for p in group:
                if p.grad is not None:
                    p.grad *= 0.05 / (norm + 1e-6)
        adam.param_groups[0]["lr"] = learning_rate(update, spec.training)
        adam.step()
    for name, value in method.model.state_dict().items():
        assert torch.allclose(found[name], value, rtol=1e-4, atol=1e-6), name


@pytest.mark.slow
@pytest.mark.parametrize("builder", chosen_cases(["transformer", "waldm"], "waldm"))
def test_a_run_learns_and_leaves_what_is_promised(make_spec: Any, toy_task: Path, tmp_path: Path, builder: str) -> None:
    spec = make_spec(builder, max_updates=24, validate_every=8, architecture={"dropout": 0.0})
    paths = train(spec, toy_task, tmp_path)
    losses = [record["loss"] for record in records(tmp_path, "valid") if record["domain"] == "all"]
    assert len(losses) == 3 and losses[-1] < losses[0]
    assert all(math.isfinite(loss) for loss in losses)
    record = json.loads(paths.record.read_text())
    assert record["averaged_updates"] == [16, 24]
    with safe_open(paths.model, framework="pt") as model:
        assert record["fingerprint"] == spec.fingerprint == model.metadata()["run"]
    assert record["num_parameters"] == sum(
        p.numel() for p in build_method(spec, TaskData.load(toy_task), torch.device("cpu")).model.parameters()
    )
    assert {"economy", "law", "all"} == set(record["validation"])
    # A head, the training lines, and at each validation two domains and all, of validation and of training text.
    assert len(paths.curves.read_text().splitlines()) == 1 + 24 // 5 + 3 * 3 * 2
    assert not paths.lease.exists()
    # The newest, a second name of the final weights (written again where they were removed), and their sums.
    names = {path.name for path in paths.checkpoints.iterdir()}
    assert names - {paths.alternative.name} == {"update-00000024", "model.safetensors", "sums.json"}
    before = paths.model.read_bytes()
    paths.model.unlink()
    train(spec, toy_task, tmp_path)
    assert paths.model.read_bytes() == before
    assert {path.name for path in paths.checkpoints.iterdir()} == names
    [first, *_] = records(tmp_path, "train")
    assert set(first["losses"]) == ({"generation"} if builder == "transformer" else {"generation", "proportion"})
    # What curves show is the loss that all methods have; what is minimised is the sum.
    assert first["loss"] == first["losses"]["generation"]
    assert first["objective"] == pytest.approx(sum(first["losses"].values()))


@pytest.mark.slow
def test_a_run_that_ended_keeps_no_file_open(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    """Many runs in one process must not reach the limit of open files (often 1,024)."""
    train(make_spec(), toy_task, tmp_path / "first")  # what is opened once for all
    gc.collect()
    before = sorted(Path("/proc/self/fd").iterdir())
    gc.disable()
    try:
        train(make_spec(), toy_task, tmp_path / "second")
        assert sorted(Path("/proc/self/fd").iterdir()) == before
    finally:
        gc.enable()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EACCES])
def test_what_the_machine_refuses_is_not_called_damage(
    toy_task: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    data = TaskData.load(toy_task)

    def refuse(path: Path, **_: Any) -> None:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("numpy.load", refuse)
    with pytest.raises(OSError, match=os.strerror(number)):
        data.split("train")


@pytest.mark.slow
def test_a_sample_of_training_text_is_measured_and_changes_no_weight(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    def sample(size: int) -> dict[str, int]:
        return {"validate_every": 4, "validation_bleu_sentences": 3, "training_sample_sentences": size}

    with_sample, without = (
        train(make_spec(max_updates=12, **sample(size)), toy_task, tmp_path / name)
        for name, size in (("with", 5), ("without", 0))
    )
    found, other = load_model(with_sample.model), load_model(without.model)
    assert all(torch.equal(found[name], other[name]) for name in other)
    assert records(tmp_path / "without", "train-sample") == []
    measured = [one for one in records(tmp_path / "with", "train-sample") if one["domain"] == "all"]
    assert [one["update"] for one in measured] == [4, 8, 12]
    assert all(0 <= one["accuracy"] <= 1 and math.isfinite(one["loss"]) and "bleu" not in one for one in measured)
    assert records(tmp_path / "with", "valid")[0]["accuracy"] == records(tmp_path / "without", "valid")[0]["accuracy"]


@pytest.mark.slow
def test_the_epoch_of_a_measurement_is_counted_in_parts(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(max_updates=20, validate_every=10, log_every=5, max_tokens=200)
    train(spec, toy_task, tmp_path)
    split = TaskData.load(toy_task).split("train")
    sizes = [
        len(epoch_batches(split, usable(split, [0, 1], 250), max_tokens=200, seed=spec.seed, epoch=epoch))
        for epoch in (0, 1)
    ]
    expected = {update: update / sizes[0] for update in range(1, sizes[0] + 1)}
    expected |= {sizes[0] + update: 1 + update / sizes[1] for update in range(1, sizes[1] + 1)}
    assert sizes[0] < 20 <= sum(sizes)
    for split_name in ("train", "valid", "train-sample"):
        found = {one["update"]: one["epoch"] for one in records(tmp_path, split_name)}
        assert found == pytest.approx({update: expected[update] for update in found})
        assert 20 in found


@pytest.fixture
def _checkpoints_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    # A run that ends removes the checkpoints that it averaged.
    monkeypatch.setattr(CheckpointStore, "finish", lambda self, results: None)


@pytest.mark.slow
@pytest.mark.usefixtures("_checkpoints_stay")
@pytest.mark.parametrize("rule", ["average", "best"])
def test_both_rules_leave_their_weights(make_spec: Any, toy_task: Path, tmp_path: Path, rule: str) -> None:
    spec = make_spec("transformer", average_checkpoints=3, final_weights=rule)
    paths = train(spec, toy_task, tmp_path)
    record = json.loads(paths.record.read_text())
    updates = {"average": [4, 8, 12], "best": [record["best_update"]]}
    other = "best" if rule == "average" else "average"
    assert (record["averaged_updates"], record["alternative_updates"]) == (updates[rule], updates[other])
    store = CheckpointStore(paths.checkpoints, spec.fingerprint)
    for path, which in ((paths.model, rule), (paths.alternative, other)):
        found = load_model(path)
        for name in found:
            mean = sum(store.load_weights(update)[name].double() for update in updates[which]) / len(updates[which])
            assert torch.allclose(found[name].double(), mean, rtol=1e-6, atol=1e-8), (which, name)
    device = torch.device("cpu")
    final, alternative = (Translator(tmp_path, device, weights) for weights in ("final", "alternative"))
    for translator, path in ((final, paths.model), (alternative, paths.alternative)):
        weights = load_model(path)
        assert all(torch.equal(value, weights[name]) for name, value in translator.model.state_dict().items())
    assert record["validation"]["all"]["loss"] != record["alternative_validation"]["all"]["loss"]


@pytest.mark.slow
def test_where_both_rules_give_the_same_weights_there_is_one_file(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    paths = train(make_spec("transformer", average_checkpoints=0), toy_task, tmp_path)
    assert not paths.alternative.exists()
    assert "alternative_updates" not in json.loads(paths.record.read_text())
    Translator(tmp_path, torch.device("cpu"), "alternative")


@pytest.mark.slow
def test_without_averaging_the_best_checkpoint_is_taken(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(average_checkpoints=0, learning_rate=0.5, warmup_updates=0, max_updates=16)
    paths = train(spec, toy_task, tmp_path)
    valid = {r["update"]: r["loss"] for r in records(tmp_path, "valid") if r["domain"] == "all"}
    best = min(valid, key=lambda update: (valid[update], update))
    store = CheckpointStore(paths.checkpoints, spec.fingerprint)
    expected, found = store.load_weights(best), load_model(paths.model)
    assert json.loads(paths.record.read_text())["averaged_updates"] == [best]
    assert all(torch.equal(found[name], value) for name, value in expected.items())


def test_patience_ends_a_run_early(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    # With no learning rate to speak of, no validation is better than the first.
    spec = make_spec(
        max_updates=400, validate_every=2, patience=2, learning_rate=1e-30, warmup_init_learning_rate=0.0,
        min_learning_rate=0.0, validation_bleu_sentences=0,
    )  # fmt: skip
    paths = train(spec, toy_task, tmp_path)
    assert json.loads(paths.record.read_text())["updates"] == 6


def test_a_run_on_one_domain_reads_no_other(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    seen: set[int] = set()
    original = collate

    def spy(split: Any, indices: Any, **options: Any) -> Any:
        seen.update(split.domains[indices].tolist())
        return original(split, indices, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mdnmt.train.layout.collate", spy)
        patch.setattr("mdnmt.train.validation.collate", spy)
        train(make_spec("transformer", domains=["law"]), toy_task, tmp_path)
    assert seen == {1}


@pytest.mark.slow
def test_equal_runs_give_equal_bytes_and_other_seeds_others(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    def model(name: str, seed: int) -> bytes:
        return train(make_spec(seed=seed, max_updates=4), toy_task, tmp_path / name).model.read_bytes()

    assert model("a", 1) == model("b", 1)
    assert model("c", 2) != model("a", 1)


@pytest.mark.slow
def test_how_often_it_is_saved_and_validated_changes_nothing(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    plain = train(make_spec(), toy_task, tmp_path / "plain")
    often = train(make_spec(), toy_task, tmp_path / "often", save_every_updates=1, save_every_minutes=0.0)
    assert often.model.read_bytes() == plain.model.read_bytes()
    assert often.curves.read_bytes() == plain.curves.read_bytes()


def test_tied_weights_are_stored_once(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec("transformer", architecture={"share_embeddings": "all"}, max_updates=4)
    paths = train(spec, toy_task, tmp_path)
    record = json.loads(paths.record.read_text())
    header = 8 + int.from_bytes(paths.model.read_bytes()[:8], "little")
    assert paths.model.stat().st_size - header == 4 * record["num_parameters"]


@pytest.mark.slow
def test_a_time_limit_saves_and_goes_on(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    whole = train(make_spec(), toy_task, tmp_path / "whole")
    for update in (1, 2, 3):
        with pytest.raises(Interrupted, match=f"time limit of 0 min: saved at update {update} of"):
            train(make_spec(), toy_task, tmp_path / "slices", stop_after_minutes=0.0)
    slices = train(make_spec(), toy_task, tmp_path / "slices")
    assert slices.model.read_bytes() == whole.model.read_bytes()


@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"max_length": 1}, "raise training.max_length"),
        ({"learning_rate": 1e38, "warmup_updates": 0, "validate_every": 100, "log_every": 3}, "lower training"),
        # The loss of update 1 is still finite; the weights after it, which would be saved, are not.
        ({"learning_rate": 1e38, "warmup_updates": 0, "validate_every": 1}, "lower training"),
    ],
)
def test_training_that_cannot_go_on_is_one_line(
    make_spec: Any, toy_task: Path, tmp_path: Path, training: dict[str, Any], message: str
) -> None:
    with pytest.raises(TrainingError, match=message) as caught:
        train(make_spec(**training), toy_task, tmp_path)
    assert "\n" not in str(caught.value)
    assert not RunPaths(tmp_path).checkpoints.exists()


def test_sentences_beyond_the_models_positions_are_a_users_mistake(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    positions = 8
    with pytest.raises(MdnmtError, match="max_positions") as caught:
        train(make_spec(architecture={"max_positions": positions}), toy_task, tmp_path)
    found = re.search(r"domain (\w+), (\S+):(\d+) \('(.*)' \.\.\.\): has (\d+) pieces", str(caught.value))
    assert found is not None
    _, domain, _ = Path(found[2]).name.split(".")
    assert domain == found[1]
    line = Path(found[2]).read_text().splitlines()[int(found[3]) - 1]
    assert line.startswith(found[4])
    assert int(found[5]) > positions


def test_an_interrupted_run_saves_even_where_a_damaged_checkpoint_has_that_update(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec, paths = make_spec(validate_every=2), RunPaths(tmp_path)
    data = TaskData.load(toy_task)

    def trainer_on(lease: RunLease, metrics: MetricsLog, runtime: RuntimeOptions) -> Trainer:
        make_deterministic(spec.seed, None)
        store = CheckpointStore(paths.checkpoints, spec.fingerprint)
        method = build_method(spec, data, torch.device("cpu"))
        cpu = torch.device("cpu")
        return Trainer(spec, data, method, device=cpu, store=store, metrics=metrics, lease=lease, runtime=runtime)

    stop = StopRequest()
    with RunLease(paths.lease) as lease, MetricsLog(paths.metrics) as metrics:
        for _ in range(3):
            trainer = trainer_on(lease, metrics, RuntimeOptions(stop_after_minutes=0.0))
            trainer.resume()
            with pytest.raises(Interrupted):
                trainer.run(stop)
        newest = paths.checkpoints / "update-00000003" / "model.safetensors"
        newest.write_bytes(newest.read_bytes()[:-1])
        trainer = trainer_on(lease, metrics, RuntimeOptions(stop_after_minutes=0.0))
        assert trainer.resume() and trainer.progress.update == 2
        with pytest.raises(Interrupted, match="saved at update 3"):
            trainer.run(stop)
        assert CheckpointStore(paths.checkpoints, spec.fingerprint).load(3).update == 3


@pytest.mark.slow
def test_training_in_bfloat16_is_near_float32(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    def final(precision: str) -> tuple[float, dict[str, torch.Tensor]]:
        paths = train(make_spec(precision=precision), toy_task, tmp_path / precision)
        return json.loads(paths.record.read_text())["validation"]["all"]["loss"], load_model(paths.model)

    (exact, _), (rough, weights) = final("fp32"), final("bf16")
    assert rough != exact
    assert rough == pytest.approx(exact, rel=0.02)
    assert {value.dtype for value in weights.values()} == {torch.float32}


def test_scheduled_numbers_are_those_of_each_update(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(
        "dmoe",
        architecture={"gate_input": "mix", "balance_losses": "both", "alpha_high": 4.0, "alpha_low": 0.5},
        max_updates=4,
        log_every=1,
        validate_every=4,
    )
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        original = trainer_module.forward_backward

        def watched(method: Any, *arguments: Any, **options: Any) -> Any:
            seen.append(method.schedules[0].value.item())
            return original(method, *arguments, **options)

        patch.setattr(trainer_module, "forward_backward", watched)
        train(spec, toy_task, tmp_path)
    # Song et al. 2026, eq. 15 and 16 with T_s = 0 and T_e = 4: max((H - L) sin(pi t / 4), L)
    assert seen == pytest.approx([3.5 * math.sin(math.pi / 4), 3.5, 3.5 * math.sin(3 * math.pi / 4), 0.5], rel=1e-6)
