"""Attention over packed sentences equals that of each sentence alone; the calls of a GPU's kernels, without a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest
import torch
from method_forms import CONFIGS
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from mdnmt.config.training import Training
from mdnmt.models.kernels import varlen_attention as module
from mdnmt.models.kernels.varlen_attention import AttentionOptions, varlen_attention
from mdnmt.models.packing import Packing
from mdnmt.operations import method_checks as checks
from mdnmt.operations.method_checks import make_packed_batch
from mdnmt.train.forward_backward import forward_backward
from mdnmt.train.packed_batches import PackedShape

HEADS, WIDTH, TOKENS = 2, 8, 24
SOURCES, TARGETS = (3, 7, 1), (5, 2, 8)  # lengths
SHAPE = PackedShape(tokens=TOKENS, sentences=5, longest=8)
aten = torch.ops.aten


def packings() -> tuple[Packing, Packing]:
    """Return the packings of target and source."""
    batch = make_packed_batch(
        *([[4] * (length - 1) + [2] for length in lengths] for lengths in (SOURCES, TARGETS)), [0, 0, 0], SHAPE
    )
    assert batch.source_packing is not None and batch.target_packing is not None
    return batch.target_packing, batch.source_packing


def heads(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Return queries, keys and values [1, H, N, E]."""
    torch.manual_seed(1)
    return [
        torch.randn(1, TOKENS, HEADS, WIDTH).to(dtype).transpose(1, 2).detach().requires_grad_(True) for _ in range(3)
    ]


def kernel(dtype: torch.dtype) -> Any:
    """Return the kernel of a GPU."""
    return module.kernel_for(dtype, WIDTH)


def of_each_sentence(parts: Sequence[Tensor], queries: Packing, keys: Packing, is_causal: bool, scale: float) -> Tensor:
    """Return attention by the formula, one sentence after the other, [1, H, N, E]; zeros at padding."""
    rows = [
        weights(parts, of_q, of_k, is_causal, scale) @ parts[2][0, :, of_k]
        for of_q, of_k in zip(slices(queries.offsets), slices(keys.offsets), strict=True)
    ]
    y = torch.cat(rows, dim=1)
    return torch.cat([y, y.new_zeros(HEADS, TOKENS - y.size(1), WIDTH)], dim=1).unsqueeze(0)


def slices(offsets: Tensor) -> list[slice]:
    """Return the tokens of each sentence."""
    return [slice(start, end) for start, end in pairwise(offsets.tolist())]


def weights(parts: Sequence[Tensor], of_q: slice, of_k: slice, is_causal: bool, scale: float) -> Tensor:
    """Return softmax(scale Q K^T) of one sentence, [H, T, S]."""
    scores = parts[0][0, :, of_q] @ parts[1][0, :, of_k].transpose(1, 2) * scale
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
    return scores.softmax(-1)


def derivatives(
    parts: Sequence[Tensor], gradient: Tensor, queries: Tensor, keys: Tensor, is_causal: bool, scale: float
) -> list[Tensor]:
    """Return the gradients of Q, K and V, each [1, H, N, E], by the formula; NaN at padding."""
    q, k, v = parts
    found = [torch.full_like(x, float("nan")) for x in parts]
    for of_q, of_k in zip(slices(queries), slices(keys), strict=True):
        p, g = weights(parts, of_q, of_k, is_causal, scale), gradient[0, :, of_q]
        by_p = g @ v[0, :, of_k].transpose(1, 2)
        by_score = p * (by_p - (p * by_p).sum(-1, keepdim=True)) * scale
        found[0][0, :, of_q] = by_score @ k[0, :, of_k]
        found[1][0, :, of_k] = by_score.transpose(1, 2) @ q[0, :, of_q]
        found[2][0, :, of_k] = p.transpose(1, 2) @ g
    return found


def with_gradients(y: Tensor, parts: Sequence[Tensor]) -> list[Tensor]:
    """Return y and the gradients of a weighted sum of it."""
    weight = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)
    return [y.detach(), *torch.autograd.grad((y * weight).sum(), parts)]


@pytest.mark.parametrize("is_causal", [False, True])
def test_it_is_the_attention_of_each_sentence(is_causal: bool) -> None:
    target, source = packings()
    keys = target if is_causal else source
    parts = heads()
    found = varlen_attention(*parts, target, keys, dropout=0.0, is_causal=is_causal, scale=0.3)
    wanted = of_each_sentence(parts, target, keys, is_causal, 0.3)
    for one, other in zip(with_gradients(found, parts), with_gradients(wanted, parts), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_dropout_leaves_out_some_weights_and_keeps_the_mean() -> None:
    target, source = packings()
    parts = [x.detach() for x in heads()]
    plain = varlen_attention(*parts, target, source, dropout=0.0, is_causal=False, scale=0.3)
    torch.manual_seed(2)
    drawn = [varlen_attention(*parts, target, source, dropout=0.4, is_causal=False, scale=0.3) for _ in range(4000)]
    assert not torch.allclose(drawn[0], plain)
    torch.testing.assert_close(torch.stack(drawn).mean(0), plain, rtol=0.0, atol=0.08)


class KernelsOfAGpu(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes both kernels by the formula, with NaN at tokens of no sentence; the dispatcher checks the arguments."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Return what a kernel returns."""
        name, kwargs = func._schema.name, kwargs or {}
        if name not in {
            "aten::_flash_attention_forward",
            "aten::_flash_attention_backward",
            "aten::_efficient_attention_forward",
            "aten::_efficient_attention_backward",
        }:
            return func(*args, **kwargs)
        given = {one.name: value for one, value in zip(func._schema.arguments, args, strict=False)}
        flash, numbers = "_flash" in name, torch.tensor([3])
        q, k, v = (given[key] if flash else given[key].squeeze(0) for key in ("query", "key", "value"))
        ends = [given[key] for key in (("cum_seq_q", "cum_seq_k") if flash else ("cu_seqlens_q", "cu_seqlens_k"))]
        longest = [given[key] for key in (("max_q", "max_k") if flash else ("max_seqlen_q", "max_seqlen_k"))]
        for offsets, most in zip(ends, longest, strict=True):
            assert offsets.dtype == torch.int32 and offsets.is_contiguous() and int(offsets.diff().max()) <= most
        assert given["dropout_p"] == 0.1
        is_causal = given["is_causal"] if flash else {0: False, 1: True}[given["custom_mask_type"]]
        parts, scale = [x.transpose(0, 1).unsqueeze(0) for x in (q, k, v)], kwargs["scale"]
        if "forward" in name:
            queries, keys = (Packing(offsets, *[torch.empty(0)] * 4) for offsets in ends)
            y = of_each_sentence(parts, queries, keys, is_causal, scale).squeeze(0).transpose(0, 1)
            y[ends[0][-1] :] = float("nan")
            return (y, y, numbers, numbers, y) if flash else (y.unsqueeze(0), y, numbers, numbers, 1, 1)
        assert torch.equal(given["rng_state" if flash else "philox_seed"], numbers)
        gradient = (given["grad_out"] if flash else given["grad_out_"].squeeze(0)).transpose(0, 1).unsqueeze(0)
        found = [
            x.squeeze(0).transpose(0, 1).contiguous()
            for x in derivatives(parts, gradient, ends[0], ends[1], is_causal, scale)
        ]
        return tuple(found) if flash else (*(x.unsqueeze(0) for x in found), q)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_what_kernels_leave_at_padding_reaches_nothing(dtype: torch.dtype, is_causal: bool) -> None:
    target, source = packings()
    keys = target if is_causal else source
    parts = heads()
    with KernelsOfAGpu():
        options = AttentionOptions(target, keys, 0.1, is_causal, 0.3)
        y = kernel(dtype).apply(*(x.squeeze(0).transpose(0, 1) for x in parts), options)
        found = with_gradients(y.transpose(0, 1).unsqueeze(0), parts)
    wanted = with_gradients(of_each_sentence(parts, target, keys, is_causal, 0.3), parts)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["mixed", "mtl", "wdc-wl", "waldm-edc", "dsa-guided", "damha-dmoe-mix-loss", "ldspslv"]
)
def test_an_update_with_the_flash_kernel_reads_no_value_and_needs_no_other_device(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the meta device tensors have no values; kernels, and torch's own derivatives, have shapes there."""
    options = {**CONFIGS[name].architecture, "attention_dropout": 0.1, "dtype": torch.float32, "num_domains": 3}
    method = checks.ready_to_train(checks.random_method(CONFIGS[name].builder, **options), 3)
    calls = []

    def flash(q: Tensor, k: Tensor, v: Tensor, *numbers: Any) -> Tensor:
        calls.append(numbers)
        parts = (x.squeeze(0).transpose(0, 1).bfloat16() for x in (q, k, v))
        y: Tensor = kernel(torch.bfloat16).apply(*parts, *numbers)  # type: ignore[no-untyped-call]
        return y.transpose(0, 1).unsqueeze(0).to(q.dtype)

    monkeypatch.setattr(module, "_plain", flash)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: nullcontext())
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: False)
    method.to(torch.device("meta")).model.train()
    for loss in method.losses:
        for key, value in vars(loss).items():
            if isinstance(value, Tensor):
                setattr(loss, key, value.to("meta"))
    batch = make_packed_batch(checks.SOURCES, checks.TARGETS, [0, 1, 2])
    forward_backward(
        method, [batch], Training(clip_norm=1.0), torch.device("meta"), None, num_target_tokens=12, num_domains=3
    )
    assert len(calls) >= 6
    assert all(one.grad is not None and one.grad.is_meta for one in method.model.parameters())


def test_each_type_and_width_has_its_kernel() -> None:
    flash, efficient = kernel(torch.bfloat16), kernel(torch.float32)
    assert flash is not efficient and kernel(torch.float64) is None
    assert module.kernel_for(torch.bfloat16, 256) is kernel(torch.float16) is flash
    assert module.kernel_for(torch.bfloat16, 264) is efficient


class Context:
    """What autograd passes to a function."""

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Keep tensors."""
        self.saved_tensors = tensors


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_torch_takes_the_arguments_for_cuda_tensors(dtype: torch.dtype) -> None:
    with FakeTensorMode(), torch.no_grad():

        def empty(*shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.empty(shape, dtype=dtype, device="cuda")

        packing = Packing(
            empty(6, dtype=torch.int32), empty(1, TOKENS), empty(TOKENS), empty(5, 8), empty(TOKENS, dtype=torch.bool)
        )
        q, k, v = (empty(TOKENS, HEADS, WIDTH, dtype=dtype) for _ in range(3))
        function, context = kernel(dtype), Context()
        y = function.forward(context, q, k, v, AttentionOptions(packing, packing, 0.1, True, 0.3))
        assert (y.shape, y.dtype, y.device.type) == (q.shape, dtype, "cuda")
        if dtype == torch.float32:
            return  # torch 2.13's fake form of the backward kernel lacks an argument that its schema has
        gradients = function.backward(context, torch.empty_like(y))
        assert [(x.shape, x.dtype) for x in gradients[:3]] == [(q.shape, dtype)] * 3
