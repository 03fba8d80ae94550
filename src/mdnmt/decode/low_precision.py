"""Faster matrix products for models that only translate: oneDNN in float32, bfloat16 and int8.

fp32: on CPUs through oneDNN, which is as exact as torch's default and up to twice as fast.
bf16: factors rounded to bfloat16.
int8: factors rounded to eight bits, with one scale for each row of the weights and one for each token, and summed in 32
    bits. torch deprecates its own quantised modules; this calls the same operator as their successor, torchao.
Everything except products of activations with weights stays in float32.

Shapes: N tokens, I input and O output width, K domains.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.config.decoding import Precision
from mdnmt.errors import ConfigError
from mdnmt.models.context import DomainContext
from mdnmt.models.kernels.weighted_sum import weighted, weighted_sum
from mdnmt.models.projection import Linear, MixedLinear
from mdnmt.models.transformer import Transformer

Product = Callable[[Tensor], Tensor]  # x -> x W^T + b, [..., O]
MakeProduct = Callable[[Tensor, Tensor | None], Product]  # of W [O, I] and b
NARROW = 32  # a Linear with fewer outputs, such as a gate, stays float32: it is cheap, and rounding may flip its choice


def quantise(x_NI: Tensor) -> tuple[Tensor, Tensor]:
    """Return x divided by a scale and rounded to integers from -127 to 127, and the scale of each row, [N, 1]."""
    scale_N1 = x_NI.abs().amax(1, keepdim=True).clamp_(min=1e-30).div_(127.0)
    return (x_NI / scale_N1).round_().to(torch.int8), scale_N1


def float32_product(weight_OI: Tensor, bias_O: Tensor | None) -> Product:
    """Return the product of float32 numbers on a CPU, through oneDNN."""
    return lambda x: torch.ops.mkldnn._linear_pointwise(x, weight_OI, bias_O, "none", [], "")


def bfloat16_product(weight_OI: Tensor, bias_O: Tensor | None) -> Product:
    """Return the product with both factors rounded to bfloat16, in float32."""
    weight_OI, bias_O = weight_OI.bfloat16(), bias_O.bfloat16() if bias_O is not None else None
    return lambda x: F.linear(x.bfloat16(), weight_OI, bias_O).float()


def int8_product(weight_OI: Tensor, bias_O: Tensor | None) -> Product:
    """Return the product with both factors rounded to eight bits, in float32."""
    rounded_OI, scale_O1 = quantise(weight_OI)
    weight_IO, scale_O = rounded_OI.t().contiguous(), scale_O1.flatten()

    def product(x: Tensor) -> Tensor:
        rounded_NI, scale_N1 = quantise(x.flatten(0, -2))
        y_NO = torch._int_mm(rounded_NI, weight_IO).float().mul_(scale_N1).mul_(scale_O)
        if bias_O is not None:
            y_NO += bias_O
        return y_NO.view(*x.shape[:-1], -1)

    return product


PRODUCTS: dict[Precision, MakeProduct] = {"fp32": float32_product, "bf16": bfloat16_product, "int8": int8_product}


class _Projection(nn.Module):
    """Replaces a `Linear` in a prepared model."""

    def __init__(self, linear: Linear, product: MakeProduct) -> None:
        super().__init__()
        self.weight = linear.weight  # some blocks read it
        self.product = product(linear.weight, linear.bias)

    def forward(self, x_BTD: Tensor, context: DomainContext | None = None) -> Tensor:
        return self.product(x_BTD)


class _MixedProjection(nn.Module):
    """Replaces a `MixedLinear` in a prepared model; the same formula with another product."""

    def __init__(self, mixed: MixedLinear, product: MakeProduct) -> None:
        super().__init__()
        self.num_domains, self.sum_inside, self.bias = mixed.num_domains, mixed.sum_inside, mixed.bias
        self.product = product(mixed.weight.flatten(1) if mixed.sum_inside else mixed.weight.flatten(0, 1), None)

    def forward(self, x_BTD: Tensor, context: DomainContext) -> Tensor:
        proportion_BTK = context.proportion_BTK
        assert proportion_BTK is not None, "mixed projections belong in layers with a conditioner"
        if self.sum_inside:
            y_BTO = self.product(weighted(x_BTD, proportion_BTK).flatten(-2))
        else:
            outputs_BTKO = self.product(x_BTD).view(*x_BTD.shape[:-1], self.num_domains, -1)
            y_BTO = weighted_sum(outputs_BTKO, proportion_BTK)
        return y_BTO.add_(proportion_BTK @ self.bias)


def require_support(precision: Precision, device: torch.device) -> None:
    """Check that a device supports a precision.

    Raises:
        ConfigError: int8 is requested on a device other than a CPU.
    """
    if precision == "int8" and device.type != "cpu":
        raise ConfigError(f"found precision int8 on {device.type}, expected a CPU; take bf16 there")


def prepare_for_decoding(model: Transformer, precision: Precision = "fp32") -> Transformer:
    """Return a copy of `model` that translates in the given precision, for inference only; parameters are shared.

    A model that is already prepared, or for which `precision` changes nothing, is returned as it is.

    Raises:
        ConfigError: the device does not support the precision.
    """
    weight = model.output_weight
    require_support(precision, weight.device)
    if "token_logits" in vars(model):
        return model
    if precision == "fp32" and not (
        weight.device.type == "cpu" and weight.dtype == torch.float32 and torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    ):
        return model
    product = PRODUCTS[precision]
    changed: dict[int, nn.Module] = {}  # a module that occurs several times is replaced once

    def change(module: nn.Module) -> nn.Module:
        if id(module) not in changed:
            if isinstance(module, Linear) and module.weight.size(0) >= NARROW:
                new: nn.Module = _Projection(module, product)
            elif isinstance(module, MixedLinear):
                new = _MixedProjection(module, product)
            else:
                new = copy.copy(module)
                new._modules = {name: part and change(part) for name, part in module._modules.items()}
            changed[id(module)] = new
        return changed[id(module)]

    new = change(model)
    assert isinstance(new, Transformer)
    vars(new)["token_logits"] = product(weight, None)
    return new
