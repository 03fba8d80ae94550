"""Sum losses, tokens and time since the last training line; find the batch that produced a NaN or infinite loss."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from mdnmt.train.batch_sampler import UpdateBatches
from mdnmt.train.data_parallel import Workers

# Further keys of the sums: the gradient norm, summed over updates, and the number of updates in that sum.
GRADIENT_NORM, NUM_NORMS = "gradient_norm", "num_norms"
DOMAIN_LOSS, DOMAIN_TOKENS = "loss/", "tokens/"  # prefixes of the two keys of each domain
MAX_NORMS = 3  # of two groups at most, and of both together


class NotFinite(Exception):
    """A loss or a weight is NaN or infinite; the message says which."""


@dataclass(frozen=True)
class Step:
    """The losses and norms of one update on this worker, still on the device, where the next update overwrites them.

    Attributes:
        update: its number, from 1.
        chosen: its batches.
        losses: index of a batch in the update -> this worker's part of its losses, by name.
        norms: gradient norm of each clipped group, before clipping.
        domain_sums: [2, K], generation loss and target tokens of each domain, if they are known.
    """

    update: int
    chosen: UpdateBatches
    losses: Mapping[int, Mapping[str, Tensor]]
    norms: list[Tensor]
    domain_sums: Tensor | None = None


@dataclass(frozen=True)
class Numbers:
    """The numbers of one update on this worker, read from the device.

    Attributes:
        update: its number, from 1.
        chosen: its batches.
        losses: index of a batch in the update -> this worker's part of its losses.
        norms: gradient norm of each clipped group, before clipping.
    """

    update: int
    chosen: UpdateBatches
    losses: dict[int, list[float]]
    norms: list[float]

    @property
    def is_finite(self) -> bool:
        """Return whether no loss and no norm is NaN or infinite."""
        return all(map(math.isfinite, [*chain.from_iterable(self.losses.values()), *self.norms]))


@dataclass(frozen=True)
class BrokenUpdate:
    """The first update with a NaN or infinite value.

    Attributes:
        update: its number.
        chosen: its batches, to look up its sentences.
        positions: positions in the epoch of the batches with such a loss; of all its batches if every loss is finite.
        losses: the losses of each batch of the update, summed over all workers.
        norms: the gradient norms.
    """

    update: int
    chosen: UpdateBatches
    positions: list[int]
    losses: list[dict[str, float]]
    norms: list[float]


class Meters:
    """Sums tokens and the named losses; the numbers of updates stay on the device until they are read.

    Reading a number from a GPU at every update, or checking whether it is finite, would make the CPU wait. So each
    batch writes a row of `rows`, which are read together, and a NaN is searched for only where a sum has one.
    """

    def __init__(
        self,
        device: torch.device,
        workers: Workers,
        names: list[str],
        domains: Sequence[str] = (),
        capacity: int = 1024,
    ) -> None:
        """Make the rows; after `capacity` of them, or the batches of one update, they are read in between."""
        self.workers, self.names, self.domains = workers, names, domains
        self.sums: dict[str, float] = {}
        # A row: the losses of a batch; in the first row of an update also its norms, and the sums of its domains.
        columns = len(names) + MAX_NORMS + 2 * len(domains)
        self.rows = torch.zeros(capacity, columns, dtype=torch.float64, device=device)
        self._written = 0
        self.unread: list[Step] = []
        self._recent: list[Numbers] = []

    def add(self, step: Step) -> None:
        """Add the numbers of an update."""
        needed = max(1, len(step.losses))
        if self._written + needed > len(self.rows):
            self._read_rows()
        if needed > len(self.rows):
            self.rows = self.rows.new_zeros(needed, self.rows.size(1))
        self.unread.append(step)
        # `num_target_tokens` covers all workers, so only the first one counts it.
        self._sum("tokens", step.chosen.num_target_tokens if self.workers.is_first else 0)
        beyond, first = len(self.names), self._written
        values = [
            (row, 0, torch.stack([losses[name].detach() for name in self.names]))
            for row, losses in enumerate(step.losses.values(), first)
        ]
        if step.norms:
            groups = torch.stack([norm.detach() for norm in step.norms])
            together = torch.linalg.vector_norm(groups).unsqueeze(0)
            values += [(first, beyond, groups), (first, beyond + MAX_NORMS - 1, together)]
        if step.domain_sums is not None:
            values.append((first, beyond + MAX_NORMS, step.domain_sums.flatten()))
        if values:
            places = [self.rows.select(0, row).narrow(0, column, len(one)) for row, column, one in values]
            torch._foreach_copy_(places, [one for _, _, one in values])
        self._written += needed

    def _read_rows(self) -> None:
        """Read all rows, in one transfer, and add them up in the order of their updates."""
        rows, beyond = iter(self.rows[: self._written].tolist()), len(self.names)
        for step in self.unread:
            own = [next(rows) for _ in range(max(1, len(step.losses)))]
            norms, of_domains = own[0][beyond : beyond + MAX_NORMS], own[0][beyond + MAX_NORMS :]
            losses = {number: row[:beyond] for number, row in zip(step.losses, own, strict=False)}
            self._recent.append(Numbers(step.update, step.chosen, losses, norms[: len(step.norms)]))
            for of_batch in losses.values():
                for name, value in zip(self.names, of_batch, strict=True):
                    self._sum(name, value)
            if step.domain_sums is not None:
                for key, value in zip(self._domain_keys, of_domains, strict=True):
                    self._sum(key, value)
            # All workers have the same gradients, so the norm of all groups together is counted once.
            if step.norms and self.workers.is_first:
                self._sum(GRADIENT_NORM, norms[-1])
                self._sum(NUM_NORMS, 1)
        self.unread.clear()
        self._written = 0

    def _sum(self, key: str, value: float) -> None:
        self.sums[key] = self.sums.get(key, 0.0) + value

    def read(self) -> dict[str, float]:
        """Return the sums over all workers, tokens first; empty if nothing was added since the last `clear`.

        The sums include those of domains; `pop_domain_losses` removes them.

        Raises:
            NotFinite: the sum of a loss is NaN or infinite.
        """
        self._read_rows()
        keys = ["tokens", NUM_NORMS, *self.names, GRADIENT_NORM, *self._domain_keys]
        found = dict(zip(keys, self.workers.total([self.sums.get(key, 0.0) for key in keys]), strict=True))
        for name in self.names:
            if not math.isfinite(found[name]):
                raise NotFinite(f"the {name} loss became {found[name]}")
        # Keep the last update: if its gradient broke the weights, no loss shows it yet.
        del self._recent[:-1]
        return found if found["tokens"] else {}

    def clear(self) -> None:
        """Reset all sums to zero."""
        self.sums.clear()

    def restore(self, sums: Mapping[str, float]) -> None:
        """Continue with the sums of a checkpoint; they cover all workers, so only the first worker takes them."""
        # Checkpoints of earlier versions have no sums of domains.
        self.sums = dict(sums) if self.workers.is_first else {}
        self.unread.clear()
        self._recent.clear()
        self._written = 0

    def broken_update(self) -> BrokenUpdate | None:
        """Return the first update since the last reading with a NaN or infinite value; all workers return the same.

        If all losses and norms are finite, it is the last update. None: there was no update.
        """
        self._read_rows()
        wrong = (number for number, one in enumerate(self._recent) if not one.is_finite)
        first = next(wrong, len(self._recent) - 1)
        first = -self.workers.maximum([-first])[0]
        if first < 0:
            return None
        one = self._recent[first]
        losses = self._losses(one)
        bad = [not all(map(math.isfinite, named.values())) for named in losses]
        positions = [place for place, is_bad in zip(one.chosen.positions, bad, strict=True) if is_bad or not any(bad)]
        return BrokenUpdate(one.update, one.chosen, positions, losses, one.norms)

    def _losses(self, one: Numbers) -> list[dict[str, float]]:
        nothing = [0.0] * len(self.names)
        of_batches = (one.losses.get(number, nothing) for number in range(len(one.chosen.batches)))
        return [dict(zip(self.names, self.workers.total(own), strict=True)) for own in of_batches]

    @property
    def _domain_keys(self) -> list[str]:
        return [f"{beginning}{domain}" for beginning in (DOMAIN_LOSS, DOMAIN_TOKENS) for domain in self.domains]


def pop_domain_losses(sums: dict[str, float]) -> dict[str, float]:
    """Remove the sums of domains from those of `read`; return the loss per token of each domain that has tokens."""
    domains = [key.removeprefix(DOMAIN_TOKENS) for key in sums if key.startswith(DOMAIN_TOKENS)]
    found = {domain: (sums.pop(DOMAIN_LOSS + domain), sums.pop(DOMAIN_TOKENS + domain)) for domain in domains}
    return {domain: loss / tokens for domain, (loss, tokens) in found.items() if tokens}


class Throughput:
    """Tokens per second of training itself, without validations, checkpoints and restarts, since the last reading."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.restart()

    def restart(self) -> None:
        """Reset the counts and start the clock again."""
        self._tokens = self._updates = 0
        self._start = self._clock()

    def add(self, tokens: int) -> None:
        """Count one update of `tokens` target tokens."""
        self._tokens += tokens
        self._updates += 1

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time of the `with` block."""
        start = self._clock()
        try:
            yield
        finally:
            self._start += self._clock() - start

    def read(self) -> tuple[float, float]:
        """Return tokens per second and seconds per update since the last reading, then reset the counts."""
        seconds = max(1e-9, self._clock() - self._start)
        result = self._tokens / seconds, seconds / max(1, self._updates)
        self.restart()
        return result
