"""Sum the gradients of several workers in buckets, overlapped with the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import Tensor, nn

from mdnmt.train.data_parallel import Workers

# Elements per bucket (16 MiB in float32): few messages, and the first is sent long before the last gradient exists.
BUCKET_NUMBERS = 1 << 22


class GradientReducer:
    """Sums each gradient over all workers as soon as the last batch of an update has contributed to it.

    A hook on each parameter counts the gradients that are final. A bucket is sent when all of its gradients are final
    and all buckets before it have been sent, so that all workers send the same buckets in the same order. `finish`
    sends the buckets that are incomplete at the end of the backward pass.

    Buckets follow the order in which the first worker's gradients became final in the first update. This order depends
    only on the model, so a resumed run sums the same numbers in the same order.
    """

    def __init__(self, workers: Workers, parameters: Iterable[nn.Parameter]) -> None:
        """Register the hooks on the parameters; a single worker needs none."""
        self._workers = workers
        self._parameters = [parameter for parameter in parameters if parameter.requires_grad]
        self._buckets: list[list[int]] = []  # indices of parameters; empty before the first update
        self._bucket_of: dict[int, int] = {}
        self._reset()
        if workers.count > 1:
            for number, parameter in enumerate(self._parameters):
                parameter.register_post_accumulate_grad_hook(partial(self._is_final, number))  # type: ignore[no-untyped-call]

    def _reset(self) -> None:
        self._in_last_batch = False
        self._final: dict[int, None] = {}  # an ordered set: indices in the order in which they became final
        self._missing = [len(bucket) for bucket in self._buckets]
        self._has = [False] * len(self._parameters)
        self._waits: list[Callable[[], None]] = []

    def begin_last_batch(self) -> None:
        """Announce that the next backward pass is the last one of this update, so that gradients can be sent."""
        self._in_last_batch = True

    def finish(self) -> None:
        """Replace each gradient by the sum over all workers; it stays None if no worker has one."""
        if self._workers.count == 1:
            return
        if not self._buckets:
            self._make_buckets()
        while len(self._waits) < len(self._buckets):
            self._send()
        for wait in self._waits:
            wait()
        somebody_has = self._workers.maximum(self._has)
        for parameter, known in zip(self._parameters, somebody_has, strict=True):
            if not known:
                parameter.grad = None
        self._reset()

    def _is_final(self, number: int, _: Tensor) -> None:
        if not self._in_last_batch:
            return
        if number in self._final:
            raise RuntimeError("a gradient changed after it was sent: begin_last_batch() was called too early")
        self._final[number] = None
        if not self._buckets:
            return
        self._missing[self._bucket_of[number]] -= 1
        while len(self._waits) < len(self._buckets) and not self._missing[len(self._waits)]:
            self._send()

    def _send(self) -> None:
        """Start to sum the next bucket; its gradients become views of the flat buffer, so that none is stored twice."""
        bucket = self._buckets[len(self._waits)]
        gradients = []
        for number in bucket:
            parameter = self._parameters[number]
            self._has[number] = parameter.grad is not None
            gradients.append(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        parts = torch.split(flat, [gradient.numel() for gradient in gradients])
        for number, part in zip(bucket, parts, strict=True):
            self._parameters[number].grad = part.view_as(self._parameters[number])
        self._waits.append(self._workers.begin_sum(flat))

    def _make_buckets(self) -> None:
        everything = range(len(self._parameters))
        size = 0
        for number in self._workers.shared_json([*self._final, *(n for n in everything if n not in self._final)]):
            if not self._buckets or size >= BUCKET_NUMBERS:
                self._buckets.append([])
                size = 0
            self._buckets[-1].append(number)
            size += self._parameters[number].numel()
        self._bucket_of = {number: place for place, bucket in enumerate(self._buckets) for number in bucket}
