"""Refuse a task that has a sentence longer than the model takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mdnmt.errors import TrainingError
from mdnmt.models.transformer import TranslationModel
from mdnmt.tasks.task_data import Indices, TaskData


def refuse_long_sentences(data: TaskData, model: TranslationModel, used: Mapping[str, Sequence[Indices]]) -> None:
    """Refuse a sentence that is too long for the model.

    The source side of the test sets is checked too: all will be translated, and an error now is better than one after
    the training.

    Args:
        data: the task.
        model: the model.
        used: split -> the sentences that training reads, by domain.

    Raises:
        TrainingError: one is longer.
    """
    tested = {**used, "test": [np.arange(len(data.split("test")))]}
    for lang, side, rows_of, limit in (
        (data.source_lang, "source", tested, model.max_source_length),
        (data.target_lang, "target", used, model.max_target_length),
    ):
        for name, of_domains in rows_of.items():
            all_lengths = getattr(data.split(name), side).lengths
            for rows in of_domains:
                lengths = all_lengths[rows]
                if int(lengths.max(initial=0)) > limit:
                    longest = int(lengths.argmax())
                    raise TrainingError(
                        f"task {data.name}, {data.place(name, int(rows[longest]), lang)}: has {lengths[longest]} "
                        f"pieces, the model takes {limit}: remove this sentence from the text or set "
                        "`cleaning.max_characters`; or raise architecture.max_positions"
                    )
