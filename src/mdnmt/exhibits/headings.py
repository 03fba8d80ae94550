"""Headings of tables and figures: the number in the paper, preceded by "after" if the task is another one."""

from __future__ import annotations

from mdnmt.config.paper import PaperConfig, PaperFigure, PaperTable
from mdnmt.config.task import TaskConfig
from mdnmt.exhibits.registry import figure_class, table_class


def heading(name: str, paper: PaperConfig, item: PaperTable | PaperFigure, task: TaskConfig | None) -> str:
    """Return the place of a table or figure in its paper: `Table 3 (EN-FR)`, or `after Zhang et al., Table 3`.

    Args:
        name: name of the paper's file in config/papers/, without its suffix.
        paper: contents of that file.
        item: the table or figure.
        task: the task that it is made from; None: the paper's own.
    """
    if not item.where or task is None or not depends_on_task(item) or is_own(name, item, task):
        return printed_heading(paper, item, task)
    return f"after {paper.cited_as}, {item.where}"


def printed_heading(paper: PaperConfig, item: PaperTable | PaperFigure, task: TaskConfig | None) -> str:
    """Return the place of a table or figure, with a language pair if the paper has one number for several.

    The pair is the task's if the item has it, otherwise the item's first.
    """
    items: list[PaperTable | PaperFigure] = [*paper.tables.values(), *paper.figures.values()]
    is_divided = sum(other.where == item.where for other in items) > 1
    if not (item.where and item.pairs and is_divided):
        return item.where
    pair = task.pair if task is not None and task.pair in item.pairs else item.pairs[0]
    return f"{item.where} ({pair})"


def depends_on_task(item: PaperTable | PaperFigure) -> bool:
    """Say whether a table or figure differs between tasks; drawings of models and tables of symbols do not."""
    kind = figure_class(item.kind) if isinstance(item, PaperFigure) else table_class(item.kind)
    return kind.depends_on_task


def is_own(name: str, item: PaperTable | PaperFigure, task: TaskConfig) -> bool:
    """Say whether the task is that of the paper's table or figure, with its text and language pair."""
    return is_counterpart(name, item, task) and not any(domain.stands_for for domain in task.domains.values())


def is_counterpart(name: str, item: PaperTable | PaperFigure, task: TaskConfig) -> bool:
    """Say whether the task is, or stands in for, that of the paper's table or figure."""
    return task.of == name and is_of_pair(item, task)


def is_of_pair(item: PaperTable | PaperFigure, task: TaskConfig) -> bool:
    """Say whether the task has the language pair of the table or figure."""
    return not item.pairs or task.pair in item.pairs


def why_other(name: str, item: PaperTable | PaperFigure, task: TaskConfig) -> str | None:
    """Return why nothing made from the task can be compared with the printed numbers; None if it can."""
    return task.differs if is_counterpart(name, item, task) else f"made from another task ({task.title})"


_TOKENIZERS = {
    "moses": "Moses' tokenizer",
    "jieba": "jieba",
    "stanford": "the Stanford Segmenter",
    "character": "characters",
    "none": "blanks",
    "sentencepiece": "blanks alone, before sentencepiece",
}
_LANGUAGES = {"de": "German", "en": "English", "fr": "French", "zh": "Chinese"}


def other_tokenizers(paper: PaperConfig, task: TaskConfig) -> str:
    """Return how the text of a task is split otherwise than its paper says; empty if it is not."""
    found = []
    for lang in (task.source_lang, task.target_lang):
        ours, theirs = task.segmentation.tokenizer_of(lang), paper.tokenizers.get(lang)
        if theirs is not None and ours != theirs:
            name = _LANGUAGES.get(lang, lang)
            found.append(f"{name} is split by {_TOKENIZERS[ours]}, in the paper by {_TOKENIZERS[theirs]}")
    return "; ".join(found)
