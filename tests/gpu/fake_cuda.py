"""Every method and precision on fake CUDA tensors: what a GPU would be asked to do, on a machine without one.

    make check-cuda        in its own environment, with the CUDA build of torch; no driver is needed

For each file of config/methods that this engine trains, and each precision: the forward pass of a training update with
all losses, on a padded batch and, if the method allows it, on a packed one; the optimiser, what a checkpoint holds, and
a decoding step. A fault is a tensor on another device, a synchronisation, a scalar copied to the device, or a result in
float64. Exit status 1 where one is found.

Not covered: kernels, rounding, memory, speed, the backward pass (torch's autograd engine asks the driver).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from device_watch import DeviceWatch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from mdnmt.config.method import MethodIndex, load_method
from mdnmt.config.training import Training
from mdnmt.methods import BUILDERS, build, validate
from mdnmt.methods.method import Method, TokenCounts, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Ragged, Split
from mdnmt.train.layout import why_padded
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.packed_batches import PackedShape, collate_packed

ROOT = Path(__file__).resolve().parents[2]
DEVICE = torch.device("cuda", 0)
VOCAB, DOMAINS, SENTENCES, LENGTH = 32_000, 3, 7, 19
LAYERS = 2  # of encoder and decoder: further ones are the same code
# What is meant to be as it is: file and kind -> reason.
INTENDED = {
    ("models/cross_entropy.py", "float64"): "losses of words are added up in float64: N numbers, not N x V",
    ("models/latent_depth.py", "synchronisation"): "blocks to skip are read once for a batch to translate, not trained",
}
PRECISIONS: dict[str, torch.dtype | None] = {"fp32": None, "bf16": torch.bfloat16}


@contextmanager
def autocast_without_driver() -> Iterator[None]:
    """Let autocast work for CUDA tensors though no GPU is there."""
    common = torch.cuda.amp.common
    before = common.amp_definitely_not_available, torch.cuda.is_bf16_supported
    common.amp_definitely_not_available = lambda: False
    torch.cuda.is_bf16_supported = lambda *_, **__: True
    try:
        yield
    finally:
        common.amp_definitely_not_available, torch.cuda.is_bf16_supported = before


def fake_batch() -> Batch:
    """Return a batch on the CPU, as `collate` does; its contents are never read."""
    ids, mask = torch.zeros(SENTENCES, LENGTH, dtype=torch.int64), torch.ones(SENTENCES, LENGTH, dtype=torch.bool)
    labels = torch.zeros(SENTENCES * LENGTH, dtype=torch.int64)
    return Batch(
        ids, mask, ids.clone(), mask.clone(), labels, labels.clone(), torch.zeros(SENTENCES, dtype=torch.int64)
    )


def fake_packed_batch() -> Batch:
    """Return a packed batch on the CPU, as `collate_packed` does."""
    words = Ragged(np.full(SENTENCES * 3, 2, dtype=np.int32), np.arange(0, SENTENCES * 3 + 1, 3))
    split = Split(words, words, np.zeros(SENTENCES, dtype=np.int16))
    shape = PackedShape(tokens=64, sentences=SENTENCES + 1, longest=8)
    return collate_packed(split, np.arange(SENTENCES), shape, bos=1)


def move(model: nn.Module) -> None:
    """Move what the model registered to the device, tied weights as one; `Module.to` cannot replace fake ones."""
    moved: dict[int, nn.Parameter] = {}
    for module in model.modules():
        for name, value in module._parameters.items():
            if value is not None:
                module._parameters[name] = moved.setdefault(id(value), nn.Parameter(value.detach().to(DEVICE)))
        for name, buffer in module._buffers.items():
            module._buffers[name] = None if buffer is None else buffer.to(DEVICE)
        if type(module)._apply is not nn.Module._apply:
            # It moves what it keeps in plain lists by itself (mdnmt.models.naive_mixing).
            for kept in (one for value in vars(module).values() if isinstance(value, list) for one in value):
                move(kept)


def fake_method(name: str, mode: FakeTensorMode) -> Method:
    """Return a method of config/methods on the fake device, with fake weights."""
    config = load_method(ROOT / "config", name)
    layers = {"encoder_layers": LAYERS, "decoder_layers": LAYERS}
    architecture = validate(config.builder, {**layers, **config.architecture}, where=name)
    with mode:
        joint = config.architecture.get("share_embeddings") == "all"
        method = build(config.builder, architecture, VocabSizes(VOCAB, VOCAB, joint), DOMAINS)
        move(method.model)
    if method.prepare is not None:
        # It looks at the counts, which fake tensors do not have: prepared for real, then faked.
        counts = torch.ones(DOMAINS, VOCAB, dtype=torch.int64)
        method.prepare(TokenCounts(counts, counts))
        with mode:
            for loss in method.losses:
                for key, value in vars(loss).items():
                    if isinstance(value, Tensor):
                        setattr(loss, key, mode.from_tensor(value).to(DEVICE))
    return method


def faults(make: Callable[[FakeTensorMode], Method], dtype: torch.dtype | None) -> list[str]:
    """Return what is wrong with a method in a precision, once each."""
    mode, watch = FakeTensorMode(), DeviceWatch("cuda")
    try:
        method = make(mode)
        with mode, autocast_without_driver(), watch:
            _one_update(method, dtype)
            _one_word(method, dtype)
    except Exception as error:  # whatever torch objects to is the finding
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        return [*_unintended(watch), f"{type(error).__name__}: {line}"]
    return _unintended(watch)


def _unintended(watch: DeviceWatch) -> list[str]:
    bad = (one for one in watch.findings if (one.place.rpartition(":")[0], one.kind) not in INTENDED)
    return sorted({str(one) for one in bad})


def _one_update(method: Method, dtype: torch.dtype | None) -> None:
    method.model.train()
    method.begin_update(5, 10)
    recipe = Training(max_updates=10)
    optimiser = Optimiser(method.model, recipe)
    for made in [fake_batch(), *([fake_packed_batch()] if why_padded(method, recipe) is None else [])]:
        words, batch = made.num_target_tokens, made.to(DEVICE)
        with torch.autocast("cuda", dtype, enabled=dtype is not None):
            output = method.model(batch)
            losses = [loss(output, batch) for loss in method.losses]
        assert torch.stack(losses).sum().div(words).device == DEVICE
    for parameter in method.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step(1e-4)
    saved = {**method.model.state_dict(), **optimiser.state()}
    elsewhere = [name for name, value in saved.items() if value.device != DEVICE]
    assert not elsewhere, f"not on the device: {elsewhere[0]} and {len(elsewhere) - 1} more"


def _one_word(method: Method, dtype: torch.dtype | None) -> None:
    method.model.eval()
    for module in method.model.modules():
        if hasattr(module, "may_skip"):
            module.may_skip = False  # fake tensors do not say which blocks are skipped: all are computed
    batch = fake_batch().to(DEVICE)
    with torch.no_grad(), torch.autocast("cuda", dtype, enabled=dtype is not None):
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for _ in range(2):
            logits_PV = method.model.step(batch.target_BT[:, 0], state)
    assert logits_PV.device == DEVICE


def main(argv: list[str] | None = None) -> int:
    """Check the named methods, or all; return the exit status."""
    index = MethodIndex(ROOT / "config")
    ours = [name for name in sorted(index.names) if index.load(name).builder in BUILDERS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="of config/methods; none: all")
    options: Any = parser.parse_args(argv)
    if unknown := set(options.methods) - set(ours):
        print(f"fake_cuda: found method {sorted(unknown)[0]!r}, expected one of: {', '.join(ours)}", file=sys.stderr)
        return 2
    started, wrong, chosen = time.monotonic(), 0, options.methods or ours
    for name in chosen:
        for precision, dtype in PRECISIONS.items():
            for fault in faults(lambda mode, name=name: fake_method(name, mode), dtype):
                wrong += 1
                print(f"{name} {precision}: {fault}", flush=True)
    print(
        f"{len(chosen)} methods in {len(PRECISIONS)} precisions on fake CUDA tensors, torch {torch.__version__}: "
        f"{wrong or 'no'} faults ({time.monotonic() - started:.0f} s)"
    )
    for (file, kind), reason in INTENDED.items():
        print(f"intended: {file}: {kind}: {reason}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
