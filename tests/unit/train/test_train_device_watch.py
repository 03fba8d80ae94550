"""A planted mistake of each kind is found on fake CUDA tensors, and clean code passes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from device_watch import DeviceWatch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

CUDA = torch.device("cuda", 0)


def watched(work: Callable[[Tensor], object]) -> DeviceWatch:
    """Return what was seen while `work` computed with a fake CUDA tensor, up to an error of the fake device."""
    watch = DeviceWatch()
    with FakeTensorMode():
        x_BD = torch.empty(4, 3, device=CUDA)
        with watch:
            try:
                work(x_BD)
            except Exception as error:  # a fake tensor has no contents to be read
                assert watch.findings, error
    return watch


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (lambda x: x.sum().item(), "synchronisation"),
        (lambda x: bool((x > 0).any()), "synchronisation"),
        (lambda x: x.tolist(), "synchronisation"),
        (lambda x: x.masked_select(x > 0), "synchronisation"),
        (lambda x: x.cpu(), "synchronisation"),
        (lambda x: x * torch.zeros(4, 3).to(CUDA), "synchronisation"),
        (lambda x: x + torch.tensor(2.0).to(CUDA, non_blocking=True), "scalar copy"),
        (lambda x: x.double().sum(), "float64"),
    ],
)
def test_a_planted_mistake_is_found_with_its_line(work: Callable[[Tensor], object], kind: str) -> None:
    watch = watched(work)
    assert watch.count(kind) >= 1  # type: ignore[arg-type]
    assert {finding.place.split(":")[0] for finding in watch.findings if finding.kind == kind} == {
        "train/test_train_device_watch.py"
    }


def test_a_tensor_on_another_device_is_refused_by_the_fake_one() -> None:
    with FakeTensorMode(), DeviceWatch(), pytest.raises(RuntimeError, match="two devices"):
        torch.empty(4, 3, device=CUDA) + torch.empty(3)


def test_clean_work_has_no_finding_and_is_counted() -> None:
    def work(x_BD: Tensor) -> Tensor:
        moved_D = torch.zeros(3).to(CUDA, non_blocking=True)
        return (x_BD * moved_D).view(12).softmax(0).index_select(0, torch.zeros(2, dtype=torch.int64, device=CUDA))

    watch = watched(work)
    assert watch.findings == []
    # The copy, the product, the softmax, the index and its zeros; a view is no work.
    assert watch.operators == 5


def test_on_a_cpu_the_same_operators_are_counted_in_forward_and_backward() -> None:
    watch = DeviceWatch("cpu")
    x = torch.ones(3, requires_grad=True)
    with watch:
        (2 * x).sum().backward()
        assert x.grad is not None and x.grad.sum().item() == 6.0
        x.detach()[x > 0]  # the size of the result depends on data
    assert watch.operators >= 4 and watch.count("synchronisation") == 2
