"""Option `compile`: the same losses up to rounding, with fewer shapes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mdnmt.checkpoints.store import Checkpoint
from mdnmt.config.training import Training
from mdnmt.errors import CheckpointError, ConfigError
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train import compiled
from mdnmt.train.batches import collate
from mdnmt.train.conditions import Conditions, conditions_here, resumed_conditions
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.progress import Progress
from mdnmt.train.run import build_method, train_run

CPU = torch.device("cpu")


@pytest.mark.slow
def test_compiled_losses_are_those_of_plain_training(
    make_spec: Any, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The backend that traces everything and stops before C++ is written, which takes minutes. `make gpu` compiles.
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="aot_eager"))
    torch.compiler.reset()
    losses = {}
    for compile in ("off", "default"):
        sizes = {"dropout": 0.0, "encoder_layers": 1, "decoder_layers": 1}
        spec = make_spec(architecture=sizes, compile=compile, log_every=1, max_updates=2, validate_every=2)
        train_run(spec, toy_task, tmp_path / compile, device="cpu")
        records = read_metrics(RunPaths(tmp_path / compile).metrics)
        losses[compile] = [one["losses"] for one in records if one.get("split") == "train"]
        assert records[0]["compile"] == compile
    assert len(losses["off"]) == len(losses["default"]) == 2
    for plain, other in zip(losses["off"], losses["default"], strict=True):
        assert other == pytest.approx(plain, rel=1e-4)


def test_a_batch_is_padded_to_a_multiple(toy_task: Path) -> None:
    split, rows = TaskData.load(toy_task).split("train"), np.arange(5, dtype=np.int64)
    plain, padded = (collate(split, rows, bos=1, width_multiple=multiple) for multiple in (1, 8))
    assert padded.source_BS.size(1) == -(-plain.source_BS.size(1) // 8) * 8
    width = plain.target_BT.size(1)
    assert padded.target_BT.size(1) % 8 == 0 and torch.equal(padded.target_BT[:, :width], plain.target_BT)
    assert not padded.target_mask_BT[:, width:].any()
    labels = [one.target_BT.flatten()[one.label_index_N] for one in (plain, padded)]
    assert torch.equal(*labels) and torch.equal(plain.label_N, padded.label_N)


@pytest.mark.parametrize(("builder", "options", "multiple"), [("waldm", {}, 8), ("waldm", {"aux_norm": "code"}, 1)])
def test_losses_that_count_padding_get_no_more_of_it(
    builder: str, options: dict[str, Any], multiple: int, make_spec: Any, toy_task: Path
) -> None:
    data = TaskData.load(toy_task)
    method = build_method(make_spec(builder, architecture=options), data, CPU)
    assert compiled.width_multiple(method, "default") == multiple
    assert compiled.width_multiple(method, "off") == 1


def test_a_run_resumes_under_the_same_value_alone(make_spec: Any, toy_task: Path) -> None:
    state = Conditions("code", "fp32", "cpu", "default").with_progress(Progress(update=3))
    for wanted in ("default", "off"):
        spec = make_spec(compile=wanted)
        here = conditions_here(spec.builder, spec.training, CPU, build_method(spec, TaskData.load(toy_task), CPU))
        resume = (Checkpoint(3, {}, {}, {}, state), here, spec.training, CPU)
        if wanted == "default":
            assert resumed_conditions(*resume).compile == "default"
            continue
        with pytest.raises(CheckpointError, match=r"began with training\.compile: default") as error:
            resumed_conditions(*resume)
        assert "\n" not in str(error.value)


def test_the_value_is_part_of_the_address_unless_it_is_off(make_spec: Any) -> None:
    plain, compiled_run = make_spec(), make_spec(compile="reduce-overhead")
    assert plain.fingerprint != compiled_run.fingerprint
    assert Training.model_validate({"compile": False}).compile == "off"  # a bare `off` in YAML


def test_a_failing_compiler_and_a_pretrained_model_are_told_in_one_line(
    make_spec: Any, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = build_method(make_spec(), TaskData.load(toy_task), CPU)
    error = type("InductorError", (Exception,), {"__module__": "torch._inductor.exc"})

    def fail(batch: Any) -> Any:
        raise error("\nno C++ compiler\n  at line 3")

    monkeypatch.setattr(torch, "compile", lambda *_, **__: fail)
    compiled.compile_model(method, "default")
    with (
        pytest.raises(ConfigError, match=r"compile: default: torch's compiler failed \(no C\+\+ compiler\)"),
        compiled.compiler_errors("default"),
    ):
        method.model.compiled_states(None)
    with pytest.raises(ConfigError, match=r"compile: default for a pretrained model"):
        compiled.compile_model(replace(method, model=nn.Linear(2, 2)), "default")
