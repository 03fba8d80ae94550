"""How often the host waits for the device in beam search."""

from __future__ import annotations

from typing import Any

import pytest
from device_watch import DeviceWatch
from torch import Tensor

from mdnmt.config.decoding import Decoding
from mdnmt.decode.beam import beam_search
from mdnmt.models.cache import STEPS_BETWEEN_DROPS

# Each brings values to the host. (Some work on what another one brought: `int` calls `item`.)
READS = ("cpu", "tolist", "__bool__", "__float__", "__int__")


@pytest.mark.slow
@pytest.mark.parametrize("builder", ["transformer", "waldm", "domain_aware_attention", "dmoe"])
def test_a_step_is_waited_for_once(
    monkeypatch: pytest.MonkeyPatch, random_method: Any, make_batch: Any, builder: str
) -> None:
    model = random_method(builder, vocab=30, encoder_layers=1, decoder_layers=1).model
    batch = make_batch([[5, 6, 2], [7, 4, 9, 3, 5, 2], [3, 2]], [[2]] * 3, [0, 1, 0])
    calls: list[str] = []

    def counted(owner: type, name: str) -> None:
        before = getattr(owner, name)

        def call(*args: Any) -> Any:
            calls.append(name)
            return before(*args)

        monkeypatch.setattr(owner, name, call)

    counted(type(model), "step")
    for name in READS:
        counted(Tensor, name)
    config = Decoding(beam_size=4, max_length_ratio=2.0, max_length_extra=20)
    with DeviceWatch("cpu") as watch:
        beam_search(model, batch.source_BS, batch.source_mask_BS, config, batch.domain_B)
    steps = calls.count("step")
    # Besides the candidates of a step: the lengths at the start, and how many cells are in use before some are dropped.
    assert steps > 2 * STEPS_BETWEEN_DROPS
    assert len(calls) - steps <= 1 + steps + steps // STEPS_BETWEEN_DROPS
    # Operators whose size depends on data; reads of one value are among the calls.
    found = {one.operator for one in watch.findings if one.kind == "synchronisation"}
    assert found <= {"_local_scalar_dense"}
