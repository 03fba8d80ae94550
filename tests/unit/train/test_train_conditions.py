from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.checkpoints.store import Checkpoint
from mdnmt.cli import main
from mdnmt.code_hash import code_hash, modules_of
from mdnmt.config.project import ProjectConfig
from mdnmt.errors import CheckpointError, ConfigError, Interrupted
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import conditions, device, kernel_choice
from mdnmt.train.layout import why_padded
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.progress import Progress
from mdnmt.train.run import build_method, train_run
from mdnmt.train.trainer import RuntimeOptions


def begin(spec: Any, task: Path, folder: Path) -> None:
    """Train one update and stop, with a checkpoint."""
    with pytest.raises(Interrupted):
        train_run(spec, task, folder, device="cpu", runtime=RuntimeOptions(stop_after_minutes=0.0))


def go_on(spec: Any, task: Path, folder: Path, **runtime: Any) -> dict[str, Any]:
    train_run(spec, task, folder, device="cpu", runtime=RuntimeOptions(**runtime))
    record: dict[str, Any] = json.loads(RunPaths(folder).record.read_text())
    return record


def edit_code(monkeypatch: pytest.MonkeyPatch, name: str = "0" * 16) -> None:
    monkeypatch.setattr(conditions, "training_code", lambda builder: name)


def test_a_run_does_not_go_on_with_other_code(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec()
    begin(spec, toy_task, tmp_path)
    before = sorted(path.name for path in RunPaths(tmp_path).checkpoints.iterdir())
    edit_code(monkeypatch)
    with pytest.raises(CheckpointError, match="up to update 1 by other training code") as error:
        go_on(spec, toy_task, tmp_path)
    assert "--accept-code-change" in str(error.value) and "\n" not in str(error.value)
    assert sorted(path.name for path in RunPaths(tmp_path).checkpoints.iterdir()) == before


@pytest.mark.slow
def test_it_goes_on_when_told_to_and_the_record_lists_both_codes(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec()
    first = conditions.training_code(spec.builder)
    begin(spec, toy_task, tmp_path)
    edit_code(monkeypatch)
    record = go_on(spec, toy_task, tmp_path, accept_code_change=True)
    assert [(one["at_update"], one["code"]) for one in record["attempts"]] == [(0, first), (1, "0" * 16)]
    for one in record["attempts"]:
        assert one["device"] == "cpu" and one["precision"] == "fp32"
        assert {"commit", "dirty", "python", "utc"} <= set(one) and "torch" in one["packages"]
    assert record["code"] == "0" * 16


@pytest.mark.slow
@pytest.mark.parametrize("measures", [True, False])
def test_the_record_has_the_energy_of_each_attempt(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measures: bool
) -> None:
    class Meter:
        def __init__(self, *given: object) -> None:
            assert given == ("cpu", 1)
            self.used = 0.0

        def read(self) -> dict[str, Any]:
            self.used += 1.0
            return {"cpu": {"joules": self.used} if measures else {"not_measured": "no counter"}}

    monkeypatch.setattr("mdnmt.train.metrics_log.energy_meter", Meter)
    spec = make_spec()
    begin(spec, toy_task, tmp_path)
    energy = [one["energy"]["cpu"] for one in go_on(spec, toy_task, tmp_path)["attempts"]]
    lines = [line for line in read_metrics(RunPaths(tmp_path).metrics) if "energy" in line]
    if measures:
        assert energy[1]["joules"] == lines[-1]["energy"]["cpu"]["joules"] > 2
    else:  # said once for each attempt
        assert [line["event"] for line in lines] == ["start", "resume"]
        assert energy == [{"not_measured": "no counter"}] * 2


@pytest.mark.slow
def test_a_run_that_is_over_is_finished_by_any_code(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec()
    before = go_on(spec, toy_task, tmp_path)
    RunPaths(tmp_path).model.unlink()
    edit_code(monkeypatch)
    after = go_on(spec, toy_task, tmp_path)
    assert after["model_sha256"] == before["model_sha256"] and after["updates"] == before["updates"]
    # The code that trained it, not the code that wrote its files again.
    assert after["code"] == before["code"] and [one["code"] for one in after["attempts"]] == [before["code"], "0" * 16]
    assert after["provenance"]["utc"] == before["provenance"]["utc"] == before["attempts"][0]["utc"]


@pytest.mark.slow
def test_the_verb_takes_the_option_and_the_workflow_passes_it(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = make_spec()
    begin(spec, toy_task, tmp_path)
    edit_code(monkeypatch)
    words = ["train", "--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", str(tmp_path)]
    words += ["--device", "cpu"]
    assert main(words) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("mdnmt train: ") and "other training code" in line
    options = ProjectConfig(accept_code_change=True).training_options.split()
    assert "--accept-code-change" in options
    assert "--accept-code-change" not in ProjectConfig().training_options
    assert main([*words, *options]) == 0


@pytest.mark.slow
def test_the_precision_of_a_run_is_kept_where_the_device_could_do_otherwise(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(precision="auto")
    monkeypatch.setattr(device, "has_native_bf16", lambda _: False)
    begin(spec, toy_task, tmp_path)
    monkeypatch.setattr(device, "has_native_bf16", lambda _: True)
    record = go_on(spec, toy_task, tmp_path)
    assert record["precision"] == "fp32" and [one["precision"] for one in record["attempts"]] == ["fp32", "fp32"]
    assert go_on(spec, toy_task, tmp_path / "fresh")["precision"] == "bf16"


@pytest.mark.slow
def test_a_run_in_bf16_is_refused_by_a_device_that_has_none(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = make_spec(precision="auto")
    monkeypatch.setattr(device, "has_native_bf16", lambda _: True)
    begin(spec, toy_task, tmp_path)
    monkeypatch.setattr(conditions, "has_native_bf16", lambda _: False)
    with pytest.raises(CheckpointError, match="began in bf16") as error:
        go_on(spec, toy_task, tmp_path)
    assert "\n" not in str(error.value)
    monkeypatch.setattr(conditions, "has_native_bf16", lambda _: True)
    assert go_on(spec, toy_task, tmp_path)["precision"] == "bf16"
    # A run that is over makes no update any more: its files can be written again by any device.
    monkeypatch.setattr(conditions, "has_native_bf16", lambda _: False)
    RunPaths(tmp_path).model.unlink()
    assert go_on(spec, toy_task, tmp_path)["precision"] == "bf16"


@pytest.mark.slow
def test_a_run_keeps_its_kernels(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(kernels="plain")
    begin(spec, toy_task, tmp_path / "stopped")
    resumed, whole = (go_on(spec, toy_task, tmp_path / name) for name in ("stopped", "whole"))
    assert resumed["model_sha256"] == whole["model_sha256"] and resumed["resumes"] == 1
    assert resumed["kernels"] == "plain" and [one["kernels"] for one in resumed["attempts"]] == ["plain", "plain"]
    other = go_on(make_spec(), toy_task, tmp_path / "other")
    assert other["kernels"] == "cpu" and other["model_sha256"] != whole["model_sha256"]


def here(spec: Any, task: Path, device: str) -> conditions.Conditions:
    """Return the conditions of a run that begins on a device."""
    method = build_method(spec, TaskData.load(task), torch.device("cpu"))
    return conditions.conditions_here(spec.builder, spec.training, torch.device(device), method)


def resumed(spec: Any, task: Path, device: str, **began: str) -> conditions.Conditions:
    """Return the conditions under which a run resumes that began under others."""
    now = here(spec, task, device)
    options: Any = {"precision": "fp32", "kernels": now.kernels, **began}
    state = conditions.Conditions("code", **options).with_progress(Progress(update=3))
    return conditions.resumed_conditions(Checkpoint(3, {}, {}, {}, state), now, spec.training, torch.device(device))


def test_other_kernels_are_refused(make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def resume(began: str, wanted: str, device: str) -> conditions.Conditions:
        return resumed(make_spec(kernels=wanted), toy_task, device, kernels=began)

    assert resume("plain", "auto", "cpu").kernels == "plain"  # moved from a GPU to a CPU
    assert resume("cpu", "cpu", "cpu").kernels == "cpu"
    refused = [("cpu", "auto", "cuda"), ("cpu", "plain", "cpu"), ("plain", "cpu", "cpu")]
    for began, wanted, name in (*refused, ("triton", "auto", "cuda"), ("triton", "auto", "cpu")):
        with pytest.raises(CheckpointError, match=f"began with kernels: {began}") as error:
            resume(began, wanted, name)
        assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="kernels: cpu on device cuda"):
        resume("cpu", "cpu", "cuda")
    monkeypatch.setattr(kernel_choice, "why_no_triton", lambda device: "")
    assert here(make_spec(), toy_task, "cuda").kernels == resume("triton", "auto", "cuda").kernels == "triton"
    assert here(make_spec(kernels="plain"), toy_task, "cuda").kernels == "plain"
    assert resume("plain", "auto", "cuda").kernels == "plain"
    with pytest.raises(CheckpointError, match=r"training\.kernels: auto on a GPU with Triton"):
        resume("triton", "plain", "cuda")


def test_triton_is_used_only_where_it_computes_the_plain_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    why_no_triton, card = kernel_choice.why_no_triton.__wrapped__, torch.device("cuda", 0)
    monkeypatch.setattr(kernel_choice, "find_spec", lambda name: None)
    assert why_no_triton(card) == "Triton is not installed"
    monkeypatch.setattr(kernel_choice, "find_spec", lambda name: name)
    assert "not for device cpu" in why_no_triton(torch.device("cpu"))

    def why(found: float | Exception) -> str:
        def small_loss(device: torch.device, kernels: str) -> list[torch.Tensor]:
            if kernels == "triton" and isinstance(found, Exception):
                raise found
            return [torch.tensor(found if kernels == "triton" else 1.0)]

        monkeypatch.setattr(kernel_choice, "_small_loss", small_loss)
        return str(why_no_triton(card))

    assert why(1.0) == ""
    assert why(1.1) == "Triton's loss differs from the plain one by 1.0e-01"
    assert why(math.nan) == "Triton's loss differs from the plain one by nan"
    assert why(RuntimeError("no C compiler\nat all")) == "Triton failed: no C compiler"
    assert why(KeyError()) == "Triton failed: KeyError"


@pytest.mark.parametrize(
    ("builder", "options", "layouts"),
    [
        ("dmoe", {}, ("padded", "packed")),
        ("domain_tag", {}, ("padded", "padded")),
        ("waldm", {"aux_norm": "code"}, ("padded", "padded")),
    ],
)
def test_the_layout_follows_device_and_method(
    builder: str, options: dict[str, Any], layouts: tuple[str, str], make_spec: Any, toy_task: Path
) -> None:
    spec = make_spec(builder, architecture=options)
    assert tuple(here(spec, toy_task, device).layout for device in ("cpu", "cuda")) == layouts
    assert here(make_spec(builder, layout="padded"), toy_task, "cuda").layout == "padded"
    assert here(make_spec(builder, architecture=options, compile="default"), toy_task, "cuda").layout == "padded"
    packed = make_spec(builder, architecture=options, layout="packed")
    assert packed.fingerprint == spec.fingerprint
    if layouts[1] == "packed":
        assert here(packed, toy_task, "cpu").layout == "packed"
        return
    with pytest.raises(ConfigError, match=r"found training\.layout: packed, but .*: expected auto or padded") as error:
        here(packed, toy_task, "cpu")
    assert "\n" not in str(error.value)


def test_a_gpu_without_bf16_gets_padded_batches_in_a_bf16_run(
    make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for has, layout in ((True, "packed"), (False, "padded")):
        monkeypatch.setattr("mdnmt.train.layout.has_native_bf16", lambda device, has=has: has)
        assert here(make_spec(precision="bf16"), toy_task, "cuda").layout == layout
        assert here(make_spec(precision="fp32"), toy_task, "cuda").layout == "packed"


def test_a_loss_that_does_not_say_that_it_packs_keeps_batches_padded(make_spec: Any, toy_task: Path) -> None:
    class OwnLoss:
        name = "own"

        def __call__(self, output: Any, batch: Any) -> torch.Tensor:
            return batch.target_mask_BT.sum(1).square().sum()  # type: ignore[no-any-return]

    spec = make_spec()
    method = build_method(spec, TaskData.load(toy_task), torch.device("cpu"))
    assert why_padded(method, spec.training) is None
    method.losses = [*method.losses, OwnLoss()]
    assert why_padded(method, spec.training) == "the loss 'own' takes the shape of a padded batch for its sentences"


def test_another_layout_is_refused(make_spec: Any, toy_task: Path) -> None:
    def resume(began: str, wanted: str, device: str) -> str:
        return resumed(make_spec(layout=wanted), toy_task, device, kernels="plain", layout=began).layout

    for began in ("padded", "packed"):
        assert resume(began, "auto", "cpu") == resume(began, "auto", "cuda") == resume(began, began, "cpu") == began
    for began, wanted in (("padded", "packed"), ("packed", "padded")):
        with pytest.raises(CheckpointError, match=rf"began with training\.layout: {began}") as error:
            resume(began, wanted, "cpu")
        assert "\n" not in str(error.value)
    # A checkpoint from before there was a choice.
    assert resumed(make_spec(), toy_task, "cuda", kernels="plain").layout == "padded"


@pytest.mark.slow
def test_a_packed_run_resumes_in_its_layout_bit_for_bit(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(layout="packed")
    begin(spec, toy_task, tmp_path / "stopped")
    with pytest.raises(CheckpointError, match=r"began with training\.layout: packed"):
        go_on(make_spec(layout="padded"), toy_task, tmp_path / "stopped")
    resumed, whole = (
        go_on(one, toy_task, tmp_path / name) for one, name in ((make_spec(), "stopped"), (spec, "whole"))
    )
    assert resumed["model_sha256"] == whole["model_sha256"] and resumed["resumes"] == 1
    assert resumed["layout"] == "packed" and [one["layout"] for one in resumed["attempts"]] == ["packed", "packed"]


def test_the_code_of_a_run_is_what_changes_its_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    def listed(*roots: str, **options: Any) -> str:
        seen.update(modules_of(*roots, **options))
        return code_hash(*roots, **options)

    of_waldm = conditions.training_code("waldm")
    monkeypatch.setattr("mdnmt.training_code.code_hash", listed)
    assert conditions.training_code("dmoe") != of_waldm
    assert {"mdnmt.train.forward_backward", "mdnmt.models.attention", "mdnmt.methods.dmoe"} <= seen
    assert not seen & {"mdnmt.methods.waldm", "mdnmt.train.lease", "mdnmt.corpora.readers.tmx", "mdnmt.fsio"}
