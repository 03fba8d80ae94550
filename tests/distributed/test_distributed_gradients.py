"""The gradients of several workers are those of one worker that has all batches, whoever has how many tokens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from forked import together

from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate
from mdnmt.train.data_parallel import GradientSum, Workers
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.run import build_method

CPU = torch.device("cpu")
DONE = ["done", "done"]
METHODS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "waldm": {},
    "dmoe": {"gate_input": "domain"},
    "domain_aware_attention": {"guidance_weight": 1.0},
}


def update(spec: Any, task: Path, batches: Sequence[Any], tokens: int, workers: Workers) -> dict[str, Any]:
    """Return the gradients and their norm of one update in float64, of which this worker has some batches."""
    torch.manual_seed(workers.rank)  # other weights in each worker: those of the first count
    data = TaskData.load(task)
    method = build_method(spec, data, CPU)
    method.model.double()
    if workers.is_first:
        torch.manual_seed(5)
        for parameter in method.model.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
    method.begin_update(5, 10)
    parallel = GradientSum(workers, method.model, CPU, 1.0) if workers.count > 1 else None
    own = [collate(data.split("train"), rows, bos=1) for rows in batches]
    for _ in range(2):  # what the first update leaves must not change the second
        method.model.zero_grad(set_to_none=True)
        found = forward_backward(method, own, spec.training, CPU, None, num_target_tokens=tokens, parallel=parallel)
    assert all("module." not in name for name in method.model.state_dict())
    named = {name: parameter.grad for name, parameter in method.model.named_parameters()}
    return {"norm": found.norms, **named}


@pytest.mark.slow
@pytest.mark.parametrize("builder", list(METHODS))
def test_unequal_workers_have_the_gradient_of_one(make_spec: Any, toy_task: Path, tmp_path: Path, builder: str) -> None:
    spec = make_spec(builder, architecture={"dropout": 0.0, **METHODS[builder]}, clip_norm=0.01)
    split = TaskData.load(toy_task).split("train")
    law, economy = (np.flatnonzero(split.domains == domain)[:12].astype(np.int64) for domain in (0, 1))
    shortest = economy[np.argsort(split.target.lengths[economy], kind="stable")][:1]
    # The second worker has one short sentence, of a domain that the first lacks; then no batch at all.
    for case, shares in (("uneven", [[law[:7], law[7:]], [shortest]]), ("none", [[law, shortest], []])):
        rows = [batch for share in shares for batch in share]
        tokens = int(sum(split.target.lengths[batch].sum() for batch in rows))

        def work(workers: Workers, shares: Any = shares, tokens: int = tokens, case: str = case) -> None:
            with workers.joined(1.0):
                found = update(spec, toy_task, shares[workers.rank], tokens, workers)
                torch.save(found, tmp_path / f"{case}-{workers.rank}.pt")

        assert together(tmp_path / "ends", 2, work) == DONE
        alone = update(spec, toy_task, rows, tokens, Workers())
        for rank in (0, 1):
            found = torch.load(tmp_path / f"{case}-{rank}.pt", weights_only=True)
            assert found.keys() == alone.keys()
            for name, expected in alone.items():
                if expected is None:
                    assert found[name] is None, name
                else:
                    torch.testing.assert_close(found[name], expected, rtol=1e-10, atol=1e-13)


def test_a_parameter_that_nobody_used_keeps_no_gradient(tmp_path: Path) -> None:
    def work(workers: Workers) -> None:
        model = torch.nn.ParameterList(torch.nn.Parameter(torch.ones(2)) for _ in range(4))
        both, of_first, of_second, _ = model
        with workers.joined(1.0):
            parallel = GradientSum(workers, model, CPU, 1.0)
            # Of the first worker, the second batch does not use what the first batch did.
            for batches in ([[both, of_first], [both]], [[both, of_second]])[workers.rank], [[both]]:
                for parameter in model:
                    parameter.grad = None
                for number, used in enumerate(batches if workers.is_first or len(batches[0]) > 1 else []):
                    objective = torch.stack([(workers.rank + 1.0) * one.sum() for one in used]).sum()
                    parallel.backward(objective, is_last=number + 1 == len(batches))
                if not workers.is_first and len(batches[0]) == 1:
                    parallel.nothing()
                found = [None if one.grad is None else one.grad.tolist() for one in model]
                with (tmp_path / f"found-{workers.rank}").open("a") as file:
                    file.write(f"{json.dumps(found)}\n")

    assert together(tmp_path / "ends", 2, work) == DONE
    for rank in (0, 1):
        lines = [json.loads(line) for line in (tmp_path / f"found-{rank}").read_text().splitlines()]
        assert lines == [[[4.0, 4.0], [1.0, 1.0], [2.0, 2.0], None], [[1.0, 1.0], None, None, None]]
