"""Sums since the last training line, and which batch produced a NaN or an infinite loss."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from mdnmt.train.batch_sampler import UpdateBatches
from mdnmt.train.data_parallel import Workers

# Entries of the sums beside tokens and losses: a norm of all gradients, summed over updates, and how many were added.
GRADIENT_NORM, NUM_NORMS = "gradient_norm", "num_norms"
DOMAINS = "domains"  # the entry on the device; `read` returns two for each domain, with these beginnings
DOMAIN_LOSS, DOMAIN_TOKENS = "loss/", "tokens/"


class NotFinite(Exception):
    """A loss or a weight is NaN or infinite; the text says which."""


@dataclass(frozen=True)
class Step:
    """What this worker found in one update, left on the device.

    Attributes:
        update: its number, from 1.
        chosen: its batches.
        losses: number of a batch in the update -> its losses by name.
        norms: of the gradients before they were clipped.
        domain_sums: [2, K], generation loss and target tokens of each domain, where they are known.
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
        positions: the batches with such a loss, or all of the update if only the gradient was wrong.
        losses: of each batch of the update, over all workers.
        norms: of the gradients.
        step: the update, for its sentences.
    """

    update: int
    epoch: int
    positions: list[int]
    losses: list[dict[str, float]]
    norms: list[float]
    step: Step


@dataclass
class Meters:
    """Sums tokens and the named losses; values stay on the device until they are read.

    Reading a number from a GPU at every update, or checking there whether it is finite, would make the host wait. The
    tokens are known on the host and stay there.
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
        """Take the numbers of an update."""
        self.unread.append(step)
        # Each worker knows the tokens of all; they are counted once.
        self.tokens += step.chosen.num_words if self.workers.is_first else 0
        for losses in step.losses.values():
            for name, value in losses.items():
                self._add(name, value)
        if step.domain_sums is not None:
            self._add(DOMAINS, step.domain_sums)
        # All workers have the same gradients.
        if step.norms and self.workers.is_first:
            groups = torch.stack([norm.detach() for norm in step.norms])
            self._add(GRADIENT_NORM, torch.linalg.vector_norm(groups))
            self.num_norms += 1

    def read(self) -> dict[str, float]:
        """Return the sums over all workers, tokens first; empty where nothing was added since they were cleared.

        `pop_domain_losses` takes those of domains out of them.

        Raises:
            NotFinite: one is no finite number.
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
        # All but the last: what its gradient did to the weights is not seen in any loss yet.
        del self.unread[:-1]
        return found if found["tokens"] else {}

    def clear(self) -> None:
        """Set all sums to zero."""
        self.sums, self.tokens, self.num_norms = {}, 0, 0

    def restore(self, sums: Mapping[str, float]) -> None:
        """Go on with saved sums, which the first worker takes over from all."""
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

        If no loss is wrong and gradients were not measured, it is the last update. None: there was no update.
        """
        wrong = (number for number, step in enumerate(self.unread) if _is_wrong(step))
        first = next(wrong, len(self.unread) - 1)
        first = -self.workers.most([-first])[0]
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
    """Take the sums of domains out of what `read` returned; return the loss a token of each domain that had any."""
    domains = [key.removeprefix(DOMAIN_TOKENS) for key in sums if key.startswith(DOMAIN_TOKENS)]
    found = {domain: (sums.pop(DOMAIN_LOSS + domain), sums.pop(DOMAIN_TOKENS + domain)) for domain in domains}
    return {domain: loss / tokens for domain, (loss, tokens) in found.items() if tokens}


def _is_wrong(step: Step) -> bool:
    values = [value for losses in step.losses.values() for value in losses.values()] + step.norms
    return not all(math.isfinite(value.item()) for value in values)
