"""The quick way for float32 products stays as exact as float32, and leaves torch's settings as they were."""

from __future__ import annotations

import torch

from mdnmt.train.device import quick_float32

CPU = torch.device("cpu")


def test_products_are_exact_and_the_setting_is_put_back() -> None:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    generator = torch.Generator().manual_seed(1)
    for rows, inner, columns in ((300, 512, 256), (17, 1024, 512), (512, 300, 1024)):
        left, right = torch.randn(rows, inner, generator=generator), torch.randn(inner, columns, generator=generator)
        with quick_float32(CPU):
            products = (left @ right, (right.t() @ left.t()).t())
        assert matmul.fp32_precision == before
        true = left.double() @ right.double()
        for product in products:
            # bfloat16 would be off by some 1e-3 of the largest.
            assert (product.double() - true).abs().max() < 1e-5 * true.abs().max()


def test_the_setting_is_put_back_after_an_error() -> None:
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    try:
        with quick_float32(CPU):
            raise ValueError
    except ValueError:
        pass
    assert matmul.fp32_precision == before
