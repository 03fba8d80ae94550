"""Domain labels at translation time: of test sentences (gold, wrong, missing or predicted), and of a user's text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from mdnmt.config.decoding import Decoding, Labels, Split
from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError, DataError
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


def label_of(domain: str, domains: tuple[str, ...]) -> int:
    """Return the label of a domain of a run.

    Raises:
        ConfigError: the run has no such domain.
    """
    if domain not in domains:
        hint = did_you_mean(domain, domains)
        raise ConfigError(f"no domain {domain!r} in this run{hint}; there are: {', '.join(domains)}")
    return domains.index(domain)


def read_labels(path: Path, domains: tuple[str, ...]) -> list[str]:
    """Return the domain of each line of a text, from a file with one domain per line.

    Raises:
        DataError: it is not UTF-8, a line is empty, or a line names no domain of the run.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # with or without a byte order mark
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8; convert the file first") from None
    labels = [line.strip() for line in text.removesuffix("\n").split("\n")] if text else []
    for number, label in enumerate(labels, 1):
        if not label:
            raise DataError(f"{path}, line {number}: empty; expected a domain: {', '.join(domains)}")
        try:
            label_of(label, domains)
        except ConfigError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
    return labels
