"""Domain labels of test sentences at translation time: gold, wrong, missing or predicted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from mdnmt.config.decoding import Decoding, Labels, Split
from mdnmt.errors import DataError
from mdnmt.fingerprint import fingerprint
from mdnmt.fsio import read_json

SEED = 1  # for the order of the wrong labels


def translation_address(config: Decoding, split: Split) -> str:
    """Return the content address of a run's translations of a split, within the run's folder."""
    classifier = {"classifier": fingerprint("labels", {})} if config.labels == "predicted" else {}
    of_split = {"split": split} if split != "test" else {}
    return fingerprint("decode", {**config.model_dump(mode="json"), **classifier, **of_split})


def labels_under(
    labels: Labels,
    domains: Sequence[str],
    domain: str,
    num_sentences: int,
    predicted: Mapping[str, Sequence[str]] | None = None,
) -> list[str] | None:
    """Return the label of each of the first test sentences of a domain; None: translate without labels.

    Args:
        labels: the label condition.
        domains: the task's domains.
        domain: the gold domain.
        num_sentences: number of its test sentences to label.
        predicted: gold domain -> predicted domain of each of its test sentences.

    Raises:
        DataError: the task has no other domain for wrong labels, or predicted labels are missing.
    """
    if labels == "missing":
        return None
    if labels == "wrong":
        return wrong_labels(domains, domain, num_sentences)
    if labels == "given":
        return [domain] * num_sentences
    found = list((predicted or {}).get(domain, ()))[:num_sentences]
    if len(found) < num_sentences:
        raise DataError(
            f"{len(found)} predicted labels for {num_sentences} test sentences of {domain}; give --predicted the file "
            "that `mdnmt predict-labels` makes of the task"
        )
    return found


def wrong_labels(domains: Sequence[str], domain: str, num_sentences: int) -> list[str]:
    """Return a wrong domain for each sentence: the other domains equally often (up to a remainder), in random order.

    The order is that of hashes of (seed, domain, sentence number), so it depends on no random generator.

    Raises:
        DataError: there is no other domain.
    """
    others = [name for name in domains if name != domain]
    if not others:
        raise DataError(f"{domain} is the task's only domain: there is no wrong label; use a task with two")
    keys = [hashlib.sha256(f"{SEED}\0{domain}\0{number}".encode()).digest() for number in range(num_sentences)]
    found = [""] * num_sentences
    for rank, number in enumerate(sorted(range(num_sentences), key=keys.__getitem__)):
        found[number] = others[rank % len(others)]
    return found


def read_predicted(path: Path) -> dict[str, list[str]]:
    """Return gold domain -> predicted domain of each test sentence, from a file of `mdnmt predict-labels`.

    Raises:
        DataError: the file cannot be read or was not written by that command.
    """
    try:
        value = read_json(path)
        names = [str(name) for name in value["domains"]]
        return {domain: [names[label] for label in entry["labels"]] for domain, entry in value["test"].items()}
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise DataError(
            f"{path}: expected labels that `mdnmt predict-labels` wrote, found {type(error).__name__}: {error}; "
            "make them again"
        ) from None
