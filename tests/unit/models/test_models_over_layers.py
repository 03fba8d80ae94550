"""The losses over all layers at once, as a GPU computes them, equal those of one layer after the other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from mdnmt.methods.method import TokenCounts
from mdnmt.models.kernels import Kernels, using

FORMS = [
    ("waldm", {"mixed_sides": "both"}),
    ("waldm", {"mixed_sides": "both", "proportion_smoothing": 0.0, "aux_norm": "code"}),
    ("domain_aware_attention", {"placement": "all", "guidance_weight": 0.5}),
    ("dmoe", {"gate_input": "mix", "damha_gate_input": "mix", "balance_losses": "both", "top_k": 1}),
]


@pytest.mark.parametrize(("builder", "form"), FORMS)
def test_both_forms_have_the_same_losses_and_gradients(
    random_method: Any, make_batch: Any, builder: str, form: dict[str, Any]
) -> None:
    batch = make_batch([[5, 6, 2], [7, 4, 9, 3, 5, 2], [3, 2]], [[4, 2], [8, 8, 3, 2], [6, 2]], [0, 1, 0])

    def computed(kernels: Kernels) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        with using(kernels):
            method = random_method(builder, vocab=12, encoder_layers=3, decoder_layers=2, **form)
            method.model.double()
            if method.prepare is not None:
                counts_KV = torch.arange(1, 25).view(2, 12)
                method.prepare(TokenCounts(counts_KV, counts_KV))
            output = method.model(batch)
            losses = {loss.name: loss(output, batch) for loss in method.losses}
            torch.stack(list(losses.values())).sum().backward()
        return losses, {name: one.grad for name, one in method.model.named_parameters() if one.grad is not None}

    losses, gradients = computed("cpu")
    assert len(losses) > 1
    torch.testing.assert_close(computed("plain"), (losses, gradients), rtol=1e-9, atol=1e-11)
