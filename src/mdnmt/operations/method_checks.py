"""General checks that every method must pass, whatever it computes: the tests of mdnmt and `check-plugin` run them.

A check takes a function that builds the method at toy size, with random weights, from options of its architecture. It
raises `Failed` and says what is wrong.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.config.decoding import Decoding
from mdnmt.config.training import Training
from mdnmt.decode.beam import beam_search
from mdnmt.methods import build, validate
from mdnmt.methods.method import Method, TokenCounts, VocabSizes
from mdnmt.models.batch import Batch
from mdnmt.tasks.task_data import Ragged, Split
from mdnmt.train.batches import collate
from mdnmt.train.layout import why_padded
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.packed_batches import PackedShape, collate_packed

TOY_SIZES = {"model_dim": 16, "ffn_dim": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
VOCAB = 29
SOURCES = [[5, 6, 2], [7, 8, 9, 10, 11, 2], [3, 2]]
TARGETS = [[12, 13, 14, 2], [15, 2], [16, 17, 18, 19, 20, 21, 2]]
PACKED_SHAPE = PackedShape(tokens=64, sentences=5, longest=16)

Make = Callable[..., Method]  # (**options of the architecture, and `seed`, `dtype`) -> method


class Failed(Exception):
    """A method does not pass a check."""


def random_method(
    builder: str,
    *,
    num_domains: int = 2,
    vocab: int = VOCAB,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    **architecture: Any,
) -> Method:
    """Build a method in evaluation mode at toy size, with random biases, norms and padding rows as well."""
    torch.manual_seed(seed)
    sizes = {**TOY_SIZES, "encoder_layers": 2, "decoder_layers": 2, "max_positions": 40, "dropout": 0.3}
    options = validate(builder, {**sizes, **architecture}, where=builder)
    joint = architecture.get("share_embeddings") == "all"
    method = build(builder, options, VocabSizes(vocab if joint else vocab + 4, vocab, joint), num_domains)
    with torch.no_grad():
        for parameter in method.model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    method.model.to(dtype).eval()
    return method


def ready_to_train(method: Method, num_domains: int) -> Method:
    """Give a method random token counts, and set its schedules to the end of training."""
    if method.prepare is not None:
        torch.manual_seed(5)
        vocab = method.model.source_embedding.weight.size(0), method.model.target_embedding.weight.size(0)
        method.prepare(TokenCounts(*(torch.randint(0, 9, (num_domains, size)) for size in vocab)))
    method.begin_update(8, 10)  # every scheduled loss has a weight by then
    return method


def make_batch(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], domains: Sequence[int]) -> Batch:
    """Return a batch of sentences that end with </s>."""
    return collate(_split(sources, targets, domains), np.arange(len(domains)), bos=1)


def make_packed_batch(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    domains: Sequence[int],
    shape: PackedShape = PACKED_SHAPE,
) -> Batch:
    """Return the packed batch of the same sentences; the shape leaves room on both sides."""
    return collate_packed(_split(sources, targets, domains), np.arange(len(domains)), shape, bos=1)


def _split(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], domains: Sequence[int]) -> Split:
    source, target = (
        Ragged(np.concatenate(rows).astype(np.int32), np.cumsum([0, *map(len, rows)])) for rows in (sources, targets)
    )
    return Split(source, target, np.array(domains, dtype=np.int16))


def losses(method: Method, batch: Batch) -> dict[str, Tensor]:
    """Return the losses of a method by name."""
    output = method.model(batch)
    return {loss.name: loss(output, batch) for loss in method.losses}


def _domains(num_domains: int) -> list[int]:
    return [number % num_domains for number in range(3)]


def check_cached_decoding(make: Make, num_domains: int) -> None:
    """Check that decoding token by token gives the logits of the whole sentence."""
    method = make()
    # Longer than the cache's first room (16), so that it has to grow.
    torch.manual_seed(7)
    words = torch.randint(3, VOCAB, (3, 20))
    batch = make_batch(SOURCES, [[*row.tolist(), 2] for row in words], _domains(num_domains))
    with torch.inference_mode():
        expected = method.model(batch).logits().view(3, 21, -1)
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for t in range(21):
            found = method.model.step(batch.target_BT[:, t], state)
            if not torch.allclose(found, expected[:, t], rtol=1e-9, atol=1e-10):
                raise Failed(f"the logits of token {t} differ from those of decoding the whole sentence")


def check_beams(make: Make, num_domains: int) -> None:
    """Check that beams may be reordered, and sentences dropped, while the cache grows."""
    method, domains = make(), _domains(num_domains)
    batch = make_batch(SOURCES, [[4, 2]] * 3, domains)

    def whole(sentence: int, prefix: list[int]) -> Tensor:
        logits_NV: Tensor = method.model(make_batch([SOURCES[sentence]], [[*prefix, 2]], [domains[sentence]])).logits()
        return logits_NV[-1]

    # (sentence, words) of each of the 3 x 2 prefixes; what is kept after each step, as positions in the list before.
    prefixes = [(row, [word]) for row in range(3) for word in (1, 1)]
    steps: list[tuple[list[int] | None, list[int], list[int]]] = [
        (None, [1, 0, 3, 3, 4, 5], [9, 8, 7, 6, 5, 4]),
        ([0, 2], [1, 1, 5, 4], [12, 13, 14, 15]),
        ([1], [3, 2], [5, 7]),
        (None, [1, 0], [11, 9]),
    ]
    with torch.inference_mode():
        state = method.model.start(batch.source_BS, batch.source_mask_BS, batch.domain_B)
        for kept, order, new_words in steps:
            found = method.model.step(torch.tensor([words[-1] for _, words in prefixes]), state)
            for row, (sentence, words) in enumerate(prefixes):
                if not torch.allclose(found[row], whole(sentence, words[1:]), rtol=1e-9, atol=1e-10):
                    raise Failed("after beams were reordered or sentences dropped, logits differ from the whole")
            state.select(torch.tensor(kept) if kept is not None else None, torch.tensor(order))
            prefixes = [
                (prefixes[place][0], [*prefixes[place][1], word]) for place, word in zip(order, new_words, strict=True)
            ]


def check_padding(make: Make, num_domains: int) -> None:
    """Check that a sentence gets the same logits alone and in a padded batch."""
    method, domains = make(), _domains(num_domains)
    with torch.inference_mode():
        together = method.model(make_batch(SOURCES, TARGETS, domains)).logits().split([len(row) for row in TARGETS])
        for source, target, domain, found in zip(SOURCES, TARGETS, domains, together, strict=True):
            alone = method.model(make_batch([source], [target], [domain])).logits()
            if not torch.allclose(found, alone, rtol=1e-9, atol=1e-10):
                raise Failed("the logits of a sentence change with the padding of its batch")


def check_packing(make: Make, num_domains: int) -> None:
    """Check that losses and gradients of a packed batch are those of the padded one, if the method allows packing."""
    method = make(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)
    if why_padded(method, Training()) is not None:
        return
    method.model.train()
    domains = _domains(num_domains)
    padded, packed = make_batch(SOURCES, TARGETS, domains), make_packed_batch(SOURCES, TARGETS, domains)

    def numbers(batch: Batch) -> dict[str, Tensor]:
        torch.manual_seed(4)  # of choices that are drawn in training
        method.model.zero_grad(set_to_none=True)
        found = losses(method, batch)
        torch.autograd.backward(torch.stack(list(found.values())).sum())
        gradients = {name: p.grad for name, p in method.model.named_parameters() if p.grad is not None}
        return {**{f"loss {name!r}": value.detach() for name, value in found.items()}, **gradients}

    wanted, found = numbers(padded), numbers(packed)
    if wanted.keys() != found.keys():
        raise Failed("in packed batches, other parameters get a gradient")
    scale = max(float(value.abs().max()) for value in wanted.values())
    for name, value in wanted.items():
        if not (found[name] - value).abs().max() <= 1e-12 * scale:
            raise Failed(f"{name} is not that of the padded batch: set packs=False, or read sentences through Batch")


def check_registered(method: Method) -> None:
    """Check that no parameter or module is in a plain list or dictionary, and that each has one clipping group."""
    model = method.model
    registered = {id(parameter) for parameter in model.parameters()} | {id(buffer) for buffer in model.buffers()}
    modules = set(map(id, model.modules()))
    for module in model.modules():
        for name, value in vars(module).items():
            if name.startswith("_"):
                continue
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            for item in items:
                hidden = id(item) not in (modules if isinstance(item, nn.Module) else registered)
                if hidden and isinstance(item, nn.Module | Tensor):
                    kind = "module" if isinstance(item, nn.Module) else "tensor"
                    raise Failed(
                        f"{type(module).__name__}.{name} hides a {kind}, which is neither trained nor saved: use "
                        "nn.ModuleList or nn.Parameter"
                    )


def check_parameters(make: Make, num_domains: int, folder: Path, *, weights_decide: bool = True) -> None:
    """Check that every parameter is trained and clipped, or frozen, and that saved weights give the same model.

    Args:
        make: builds the method.
        num_domains: of the method.
        folder: for a file of weights.
        weights_decide: False: the method demonstrates weights that are not saved.
    """
    method = make(dtype=torch.float32, dropout=0.1)
    model = method.model
    if weights_decide:
        check_registered(method)
    held = [id(parameter) for group in method.clip_groups() for parameter in group]
    if sorted(held) != sorted(map(id, model.parameters())):
        raise Failed("clip_apart has a parameter that the model does not have, or has one twice")
    before = copy.deepcopy(model.state_dict())
    optimiser = Optimiser(model, Training(weight_decay=0.0))
    # Every word of both vocabularies occurs in it, so that every row of the embeddings is trained.
    words = list(range(3, VOCAB))
    sources, targets = [[*words, 2], [4, 2], [5, 2]], [[*words, 2], [*words[::-1], 2], [7, 2]]
    batch = make_batch(sources, targets, _domains(num_domains))
    model.train()
    for update in range(1, 9):
        method.begin_update(update, 8)
        torch.autograd.backward(torch.stack(list(losses(method, batch).values())).sum())
        optimiser.step(1e-3)
    model.eval()
    for key, value in model.named_parameters(remove_duplicate=False):
        moved = value != before[key]
        if not value.requires_grad:
            if moved.any():
                raise Failed(f"the parameter {key} is frozen, but training changed it")
            continue
        if key.endswith("embedding.weight"):
            moved = moved[3:VOCAB]  # special words and those that only the larger source vocabulary has are not read
        # Not all of it: a ReLU unit may be dead in so small a batch, and an expert that no word chose rightly rests.
        if moved.float().mean() <= 0.5:
            raise Failed(f"the parameter {key} is not trained: no loss reaches most of it")
    save_model(folder / "model.safetensors", model.state_dict())
    other = make(seed=99, dtype=torch.float32, dropout=0.1).model
    other.load_state_dict(load_model(folder / "model.safetensors"))
    for key, value in model.state_dict().items():
        if not torch.equal(other.state_dict()[key], value):
            raise Failed(f"{key} changes when weights are saved and loaded")
    if not weights_decide:
        return
    if not torch.equal(other(batch).logits(), model(batch).logits()):
        raise Failed("a model with loaded weights gives other logits: something that it uses is not saved")
    config = Decoding(beam_size=2, max_length_ratio=1.0, max_length_extra=4)
    found = [beam_search(one, batch.source_BS, batch.source_mask_BS, config, batch.domain_B) for one in (model, other)]
    if found[0] != found[1] or not found[0][0]:
        raise Failed("a model with loaded weights gives other translations")


def check_bf16(make: Make, num_domains: int) -> None:
    """Check that the losses are float32 numbers under bf16, near those of fp32."""
    method = make(dtype=torch.float32)
    batch = make_batch(SOURCES, TARGETS, _domains(num_domains))
    plain = {key: value.item() for key, value in losses(method, batch).items()}
    with torch.autocast("cpu", torch.bfloat16):
        found = losses(method, batch)
    torch.autograd.backward(torch.stack(list(found.values())).sum())
    for key, value in found.items():
        if value.dtype != torch.float32:
            raise Failed(f"under bf16 the loss {key!r} is {value.dtype}, expected torch.float32")
        if not abs(value.item() - plain[key]) <= max(0.1 * abs(plain[key]), 1e-3):
            raise Failed(f"the loss {key!r} is {value.item():g} under bf16 and {plain[key]:g} in fp32")


def check_deterministic(make: Make, num_domains: int) -> None:
    """Check that the same seed gives the same weights, losses and gradients."""
    batch = make_batch(SOURCES, TARGETS, _domains(num_domains))

    def once() -> list[Tensor]:
        method = make(seed=3, dtype=torch.float32)
        method.model.train()
        torch.manual_seed(4)
        found = list(losses(method, batch).values())
        torch.autograd.backward(torch.stack(found).sum())
        gradients = [p.grad for p in method.model.parameters() if p.grad is not None]
        return [*method.model.state_dict().values(), *found, *gradients]

    first, second = once(), once()
    if len(first) != len(second) or not all(map(torch.equal, first, second)):
        raise Failed("two models of the same seed differ: draw random numbers only from torch's generator")


def check_options(builder: str) -> None:
    """Check that the options survive run.json: written as JSON and read again, they are the same."""
    options = validate(builder, {}, where=builder)
    again = validate(builder, options.model_dump(mode="json"), where=builder)
    if again != options:
        raise Failed("the options change when they are written as JSON and read again")
