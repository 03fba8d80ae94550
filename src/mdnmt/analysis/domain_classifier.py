"""Predict the domain of a sentence from its source side: a linear classifier of word and character n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline, make_union

from mdnmt.errors import DataError
from mdnmt.tasks.task_data import TaskData

TRAIN_SENTENCES = 20_000  # largest number per domain, spread evenly over its training text
FEATURES = 100_000  # largest number of word n-grams, and of character n-grams
ABOUT = "logistic regression on TF-IDF of words (1-2) and letters (1-4) of the source"


def predict(data: TaskData) -> dict[str, Any]:
    """Return the predicted domain of every test sentence of a task, and the accuracy of the predictions.

    The classifier is trained on the source side of the training text, with equal total weight for each domain. Training
    is deterministic.

    Returns:
        {"classifier": its name, "domains": names in label order, "train_sentences": number for each domain, "accuracy":
        mean over the domains, "test": {domain: {"accuracy": share, "labels": [predicted label of each sentence]}}}.

    Raises:
        DataError: the task has fewer than two domains with text.
    """
    model, train_sentences = train(data)
    test: dict[str, dict[str, Any]] = {}
    for label, name in enumerate(data.domains):
        guesses: list[int] = model.predict(data.text("test", name, data.source_lang)).tolist()
        test[name] = {"accuracy": guesses.count(label) / len(guesses), "labels": guesses}
    return {
        "classifier": ABOUT,
        "domains": list(data.domains),
        "train_sentences": train_sentences,
        "accuracy": sum(entry["accuracy"] for entry in test.values()) / len(test),
        "test": test,
    }


def train(data: TaskData) -> tuple[Pipeline, dict[str, int]]:
    """Return a classifier of a task's domains, which predicts labels, and its number of sentences for each domain.

    Raises:
        DataError: the task has fewer than two domains with text.
    """
    texts = {name: _spread(data.text("train", name, data.source_lang)) for name in data.domains}
    if len([lines for lines in texts.values() if lines]) < 2:
        raise DataError(f"{data.folder}: training text of fewer than two domains; a classifier needs two or more")
    model = untrained()
    labels = [label for label, lines in enumerate(texts.values()) for _ in lines]
    model.fit([line for lines in texts.values() for line in lines], labels)
    return model, {name: len(lines) for name, lines in texts.items()}


def _spread(lines: Sequence[str]) -> list[str]:
    step = max(1, -(-len(lines) // TRAIN_SENTENCES))
    return list(lines[::step])


def untrained() -> Pipeline:
    """Return the classifier before training."""
    words = TfidfVectorizer(token_pattern=r"\w+", ngram_range=(1, 2), max_features=FEATURES, sublinear_tf=True)
    # Character n-grams, because text in a script without spaces has no word n-grams.
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(1, 4), max_features=FEATURES, sublinear_tf=True)
    return make_pipeline(make_union(words, letters), LogisticRegression(class_weight="balanced", max_iter=1000))
