"""Models of which only the shapes are wanted: those of the real ones, had for nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mdnmt.methods import BUILDERS, build, validate
from mdnmt.methods.meta_device import on_meta_device
from mdnmt.methods.method import VocabSizes

ROOT = Path(__file__).resolve().parents[3]
SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}


@pytest.mark.parametrize("builder", BUILDERS)
def test_shapes_are_those_of_the_model(builder: str) -> None:
    architecture = validate(builder, SIZES, where="test")
    generator = torch.get_rng_state()
    with on_meta_device():
        outline = build(builder, architecture, VocabSizes(31, 29, False), 3).model
    assert torch.equal(torch.get_rng_state(), generator)
    model = build(builder, architecture, VocabSizes(31, 29, False), 3).model
    both = [{name: value.shape for name, value in one.state_dict().items()} for one in (outline, model)]
    buffers = [{name: value.shape for name, value in one.named_buffers()} for one in (outline, model)]
    assert both[0] == both[1] and buffers[0] == buffers[1]
    assert all(value.is_meta for value in outline.parameters())
    assert not any(value.is_meta for value in model.parameters())


@pytest.mark.slow
def test_a_study_is_resolved_without_torchs_compiler() -> None:
    look = (
        "import sys; from pathlib import Path; from mdnmt.studies.resolve import resolve; "
        "study = resolve(Path('config'), 'smoke', Path('resources/corpora'), None); "
        "print(len(study.runs), [name for name in ('torch._dynamo', 'sympy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    number, _, found = done.stdout.strip().partition(" ")
    assert int(number) > 100 and found == "[]", f"{found} is imported: for a step on the `meta` device, most likely"
