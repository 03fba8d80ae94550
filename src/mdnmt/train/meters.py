"""Sum losses and tokens since the last training line, and find the batch that produced a NaN or infinite loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mdnmt.train.batch_sampler import UpdateBatches
from mdnmt.train.data_parallel import Workers

# Further keys of the sums: the gradient norm, summed over updates, and the number of updates in that sum.
GRADIENT_NORM, NUM_NORMS = "gradient_norm", "num_norms"
DOMAINS = "domains"  # key of the sums on the device; `read` returns two keys for each domain, with these prefixes
DOMAIN_LOSS, DOMAIN_TOKENS = "loss/", "tokens/"


class NotFinite(Exception):
    """A loss or a weight is NaN or infinite; the message says which."""


@dataclass(frozen=True)
class Step:
    """The losses and norms of one update on this worker, still on the device.

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
class BrokenUpdate:
    """The first update with a NaN or infinite value.

    Attributes:
        update: its number.
        epoch: counted from 0.
        positions: positions in the epoch of the batches with such a loss; of all its batches if every loss is finite.
        losses: the losses of each batch of the update, summed over all workers.
        norms: the gradient norms.
        step: the update, to look up its sentences.
    """

    update: int
    epoch: int
    positions: list[int]
    losses: list[dict[str, float]]
    norms: list[float]
    step: Step


@dataclass
class Meters:
    """Sums tokens and the named losses; the losses stay on the device until they are read.

    Reading a number from a GPU at every update, or checking whether it is finite, would make the CPU wait.
    """

    device: torch.device
    workers: Workers
    names: list[str]
    domains: Sequence[str] = ()
    sums: dict[str, Tensor] = field(default_factory=dict)
    tokens: int = 0
    num_norms: int = 0
    unread: list[Step] = field(default_factory=list)

    def add(self, step: Step) -> None:
        """Add the numbers of an update."""
        self.unread.append(step)
        # `num_target_tokens` covers all workers, so only the first one counts it.
        self.tokens += step.chosen.num_target_tokens if self.workers.is_first else 0
        for losses in step.losses.values():
            for name, value in losses.items():
                self._add(name, value)
        if step.domain_sums is not None:
            self._add(DOMAINS, step.domain_sums)
        # All workers have the same gradients, so the norm is counted once.
        if step.norms and self.workers.is_first:
            groups = torch.stack([norm.detach() for norm in step.norms])
            self._add(GRADIENT_NORM, torch.linalg.vector_norm(groups))
            self.num_norms += 1

    def read(self) -> dict[str, float]:
        """Return the sums over all workers, tokens first; empty if nothing was added since the last `clear`.

        The sums include those of domains; `pop_domain_losses` removes them.

        Raises:
            NotFinite: the sum of a loss is NaN or infinite.
        """
        names = [*self.names, GRADIENT_NORM]
        own = [self.sums[name].item() if name in self.sums else 0.0 for name in names]
        counts = [float(self.tokens), float(self.num_norms)]
        of_domains = self.sums[DOMAINS].flatten().tolist() if DOMAINS in self.sums else [0.0] * len(self._domain_keys)
        keys = ["tokens", NUM_NORMS, *names, *self._domain_keys]
        found = dict(zip(keys, self.workers.total([*counts, *own, *of_domains]), strict=True))
        for name in self.names:
            if not math.isfinite(found[name]):
                raise NotFinite(f"the {name} loss became {found[name]}")
        # Keep the last update: if its gradient broke the weights, no loss shows it yet.
        del self.unread[:-1]
        return found if found["tokens"] else {}

    def clear(self) -> None:
        """Reset all sums to zero."""
        self.sums, self.tokens, self.num_norms = {}, 0, 0

    def restore(self, sums: Mapping[str, float]) -> None:
        """Continue with the sums of a checkpoint; they cover all workers, so only the first worker takes them."""
        kept = dict(sums) if self.workers.is_first else {}
        self.tokens, self.num_norms = int(kept.pop("tokens", 0)), int(kept.pop(NUM_NORMS, 0))
        # Checkpoints of earlier versions have no sums of domains.
        of_domains = [kept.pop(key, 0.0) for key in self._domain_keys]
        self.sums = {name: torch.tensor(value, dtype=torch.float64, device=self.device) for name, value in kept.items()}
        if any(of_domains):
            self.sums[DOMAINS] = torch.tensor(of_domains, dtype=torch.float64, device=self.device).view(2, -1)
        self.unread.clear()

    def broken_update(self) -> BrokenUpdate | None:
        """Return the first update since the last reading with a NaN or infinite value; all workers return the same.

        If all losses and norms are finite, it is the last update. None: there was no update.
        """
        wrong = (number for number, step in enumerate(self.unread) if _is_wrong(step))
        first = next(wrong, len(self.unread) - 1)
        first = -self.workers.maximum([-first])[0]
        if first < 0:
            return None
        step = self.unread[first]
        losses = self._losses(step)
        bad = [not all(map(math.isfinite, named.values())) for named in losses]
        positions = [place for place, is_bad in zip(step.chosen.positions, bad, strict=True) if is_bad or not any(bad)]
        norms = [norm.item() for norm in step.norms]
        return BrokenUpdate(step.update, step.chosen.epoch, positions, losses, norms, step)

    def _losses(self, step: Step) -> list[dict[str, float]]:
        found: list[dict[str, float]] = []
        for number in range(len(step.chosen.batches)):
            own = [float(step.losses.get(number, {}).get(name, 0.0)) for name in self.names]
            found.append(dict(zip(self.names, self.workers.total(own), strict=True)))
        return found

    @property
    def _domain_keys(self) -> list[str]:
        return [f"{beginning}{domain}" for beginning in (DOMAIN_LOSS, DOMAIN_TOKENS) for domain in self.domains]

    def _add(self, name: str, value: Tensor) -> None:
        value = value.to(device=self.device, dtype=torch.float64)
        self.sums[name] = self.sums[name] + value if name in self.sums else value


def pop_domain_losses(sums: dict[str, float]) -> dict[str, float]:
    """Remove the sums of domains from those of `read`; return the loss per token of each domain that has tokens."""
    domains = [key.removeprefix(DOMAIN_TOKENS) for key in sums if key.startswith(DOMAIN_TOKENS)]
    found = {domain: (sums.pop(DOMAIN_LOSS + domain), sums.pop(DOMAIN_TOKENS + domain)) for domain in domains}
    return {domain: loss / tokens for domain, (loss, tokens) in found.items() if tokens}


def _is_wrong(step: Step) -> bool:
    values = [value for losses in step.losses.values() for value in losses.values()] + step.norms
    return not all(math.isfinite(value.item()) for value in values)
