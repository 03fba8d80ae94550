"""Sample domains in training: each domain's share by temperature or weight, and the sentence pairs of an epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdnmt.config.training import DomainSampling
from mdnmt.errors import ConfigError
from mdnmt.tasks.task_data import Indices

Labels = NDArray[np.integer[Any]]


def domain_shares(
    labels: Labels, indices: Indices, sampling: DomainSampling, domains: Sequence[str]
) -> dict[int, float]:
    """Return the share of each domain in an epoch's sentence pairs, label -> share; the shares add up to 1.

    With a temperature T a domain of n pairs gets a share proportional to n ** (1 / T) (Arivazhagan et al. 2019).

    Args:
        labels: of all pairs of the split.
        indices: the pairs that the run trains on.
        sampling: temperature or weights.
        domains: the task's domains, in the order of their labels.

    Raises:
        ConfigError: the weights do not name exactly the task's domains.
    """
    found, counts = np.unique(labels[indices], return_counts=True)
    if sampling.weights is None:
        assert sampling.temperature is not None
        raw = {
            int(label): float(count) ** (1 / sampling.temperature) for label, count in zip(found, counts, strict=True)
        }
    else:
        check_weights(sampling, domains)
        raw = {int(label): sampling.weights[domains[int(label)]] for label in found}
    total = sum(raw.values())
    return {label: value / total for label, value in raw.items()}


def check_weights(sampling: DomainSampling | None, domains: Sequence[str]) -> None:
    """Check that weights, if there are any, name exactly the domains of a task.

    Raises:
        ConfigError: a domain has no weight, or a weight has no domain.
    """
    if sampling is None or sampling.weights is None or set(sampling.weights) == set(domains):
        return
    raise ConfigError(
        f"training.domain_sampling.weights: found {', '.join(sampling.weights)}; expected a weight for each domain of "
        f"the task: {', '.join(domains)}"
    )


def sample(labels: Labels, indices: Indices, shares: Mapping[int, float], generator: np.random.Generator) -> Indices:
    """Return as many pairs as `indices` has, divided among the domains by their shares.

    If c pairs of a domain with n pairs are needed, each pair is drawn c // n times, and c % n random ones once more. So
    no pair is repeated before all have been drawn.

    Args:
        labels: of all pairs of the split.
        indices: the pairs to draw from.
        shares: label -> share.
        generator: of the epoch; how many numbers are drawn from it depends only on the other arguments.
    """
    ordered = sorted(shares)
    wanted = np.array([shares[label] for label in ordered]) * len(indices)
    counts = np.floor(wanted).astype(np.int64)
    left = len(indices) - int(counts.sum())
    counts[np.argsort(counts - wanted, kind="stable")[:left]] += 1  # the largest remainders
    parts = []
    for label, count in zip(ordered, counts.tolist(), strict=True):
        rows = indices[labels[indices] == label]
        passes, rest = divmod(count, len(rows))
        parts += [np.tile(rows, passes), generator.permutation(rows)[:rest]]
    drawn: Indices = np.concatenate(parts).astype(np.int64)
    return drawn
