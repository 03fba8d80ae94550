"""The exhibits of a study: its papers' tables and figures, each with its task and its systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.config.paper import PaperConfig, PaperFigure, PaperTable, TableRow, load_paper
from mdnmt.config.study import StudyConfig, StudyExhibit, Variant
from mdnmt.errors import ConfigError


def split_key(key: str) -> tuple[str, str]:
    """Return paper and item of `<paper>-<item>`."""
    paper, _, item = key.partition("-")
    return paper, item


def with_stand_ins(config: StudyConfig) -> StudyConfig:
    """Return the study with each task of a table or figure replaced by the one that stands in for it."""

    def replaced(exhibits: Mapping[str, StudyExhibit]) -> dict[str, StudyExhibit]:
        tasks = {key: config.stand_ins.get(shown.task, shown.task) for key, shown in exhibits.items()}
        return {key: shown.model_copy(update={"task": tasks[key]}) for key, shown in exhibits.items()}

    return config.model_copy(update={"tables": replaced(config.tables), "figures": replaced(config.figures)})


def load_papers(config_folder: Path, config: StudyConfig, where: str) -> dict[str, PaperConfig]:
    """Return the papers with exhibits in the study; rows of a table with a variant name the methods of the variant.

    Raises:
        ConfigError: a paper does not have the table or figure that is asked for.
    """
    papers: dict[str, PaperConfig] = {}
    for kind, keys in (("tables", config.tables), ("figures", config.figures)):
        for key in keys:
            paper, item = split_key(key)
            if paper not in papers:
                papers[paper] = load_paper(config_folder, paper)
            items = getattr(papers[paper], kind)
            if item not in items:
                hint = did_you_mean(item, items)
                raise ConfigError(f"{where}: {kind}.{key}: {paper} has no {item!r}{hint}; it has: {', '.join(items)}")
    for key in config.claims_without:
        paper, item = split_key(key)
        tables = (papers.get(paper) or load_paper(config_folder, paper)).tables
        if item not in tables:
            raise ConfigError(f"{where}: claims_without: {paper} has no table {item!r}{did_you_mean(item, tables)}")
        if key in config.tables:
            raise ConfigError(
                f"{where}: claims_without: {key} is shown by this study; expected tables that it leaves out"
            )
    return {
        name: paper.model_copy(update={"tables": {item: _varied(table) for item, table in paper.tables.items()}})
        for name, paper in papers.items()
    }


def _varied(table: PaperTable) -> PaperTable:
    if table.variant is None:
        return table
    suffix = table.variant.suffix

    def named(row: TableRow) -> TableRow:
        renamed = {
            "method": row.method and f"{row.method}-{suffix}",
            "best_of": row.best_of and tuple(f"{name}-{suffix}" for name in row.best_of),
        }
        return row.model_copy(update=renamed)

    return table.model_copy(update={"rows": tuple(named(row) for row in table.rows)})


def table_variants(
    config: StudyConfig, papers: dict[str, PaperConfig], task: str | None = None
) -> dict[str, tuple[str, Variant]]:
    """Return the methods of tables with a variant (of all tasks, or of one): name -> table, variant of the study.

    If the study lists its methods, only these.
    """
    found: dict[str, tuple[str, Variant]] = {}
    for key, shown in config.tables.items():
        paper, item = split_key(key)
        table = papers[paper].tables[item]
        if table.variant is None or task not in (None, shown.task):
            continue
        suffix = f"-{table.variant.suffix}"
        for name in [*(name for row in table.rows for name in row.methods), f"{config.comparison.baseline}{suffix}"]:
            method = name.removesuffix(suffix)
            if not config.methods or method in config.methods:
                options = {"architecture": table.variant.architecture, "training": table.variant.training}
                found[name] = key, Variant(method=method, **options)
    return found


def baseline_of(config: StudyConfig, table: PaperTable) -> str:
    """Return the method that the systems of a table are compared with."""
    baseline = config.comparison.baseline
    return baseline if table.variant is None else f"{baseline}-{table.variant.suffix}"


def table_of(config: StudyConfig, papers: dict[str, PaperConfig], key: str) -> PaperTable:
    """Return a table of the study, with the rows that the study adds, in the metrics that it asks for."""
    paper, item = split_key(key)
    table, shown = papers[paper].tables[item], config.tables[key]
    return table.model_copy(update={"rows": (*table.rows, *shown.rows), "metrics": shown.metrics or table.metrics})


def figure_of(config: StudyConfig, papers: dict[str, PaperConfig], key: str) -> PaperFigure:
    """Return a figure of the study, with the systems that the study asks for."""
    paper, item = split_key(key)
    figure, methods = papers[paper].figures[item], config.figures[key].methods
    return figure.model_copy(update={"methods": methods}) if methods else figure


def tasks_of(config: StudyConfig) -> tuple[str, ...]:
    """Return the tasks of a study: those that it lists, or else those that tables and figures are made from."""
    shown = (*config.tables.values(), *config.figures.values())
    return config.tasks or tuple(dict.fromkeys(item.task for item in shown))


def methods_of(config: StudyConfig, papers: dict[str, PaperConfig], task: str) -> tuple[str, ...]:
    """Return the methods that are trained on a task: those that the study lists, or else those of its exhibits."""
    if config.methods:
        of_others = table_variants(config, papers).keys() - table_variants(config, papers, task).keys()
        of_task = (name for name in config.variants if name not in of_others)
        return tuple(dict.fromkeys((*config.methods, *of_task)))  # a study may list a variant as well
    found: list[str] = []
    for table in (table_of(config, papers, key) for key, shown in config.tables.items() if shown.task == task):
        if table.kind not in ("corpora", "notation"):
            found += (baseline_of(config, table), *(name for row in table.rows for name in row.methods))
    for key, shown in config.figures.items():
        found += figure_of(config, papers, key).methods if shown.task == task else ()
    return tuple(dict.fromkeys(found))


def check_rows(
    config_folder: Path, config: StudyConfig, papers: dict[str, PaperConfig], train_on: dict[str, str], where: str
) -> None:
    """Raise an error if the study's own rows, or `best_of` or `labels` of any row, are not possible.

    Args:
        config_folder: the project's config/.
        config: the study.
        papers: those of its exhibits.
        train_on: method -> its `train_on`, of all methods of the study.
        where: the study's file.

    Raises:
        ConfigError: a row names an unknown method, chooses among methods that are trained differently, or has labels
            for a method with one run per domain.
    """
    for key, figure in config.figures.items():
        check_known(figure.methods, train_on, f"{where}: figures.{key}.methods")
    for key, shown in config.tables.items():
        paper, item = split_key(key)
        table, own = papers[paper].tables[item], f"{where}: tables.{key}.rows"
        check_known([name for row in shown.rows for name in row.methods], train_on, own)
        whole = {"rows": (*table.rows, *shown.rows), "metrics": shown.metrics or table.metrics}
        validate_model({**table.model_dump(), **whole}, PaperTable, own)
        _check_choices(shown.rows, train_on, own)
        _check_choices(table.rows, train_on, f"{config_folder}/papers/{paper}.yaml: tables.{item}")


def check_known(names: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise an error if a name is none of the study's methods.

    Raises:
        ConfigError: with the name nearest to it.
    """
    there = list(known)
    for name in names:
        if name not in there:
            hint = did_you_mean(name, there)
            raise ConfigError(f"{where}: {name!r} is none of the study's methods{hint}; they are: {', '.join(there)}")


def _check_choices(rows: Iterable[TableRow], train_on: dict[str, str], where: str) -> None:
    for row in rows:
        known = {name: train_on[name] for name in row.best_of or () if name in train_on}
        if len(set(known.values())) > 1:
            kinds = ", ".join(f"{name} has train_on: {kind}" for name, kind in known.items())
            raise ConfigError(f"{where}: best_of: {kinds}; expected methods that are trained alike")
        if row.own_domain and train_on.get(row.method or "", "each") != "each":
            raise ConfigError(f"{where}: own_domain: {row.method} is one model of all domains; leave own_domain out")
        if row.labels != ("given",) and train_on.get(row.method or "") == "each":
            raise ConfigError(
                f"{where}: labels: {row.method} is one run a domain, which the label chooses; its runs have rows, "
                "with their scores on the other domains; expected a method with train_on: all"
            )
