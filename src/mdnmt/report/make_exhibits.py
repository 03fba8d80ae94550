"""Make exhibits of a study by their keys: what `mdnmt exhibit` does, for the rules of the workflow and for people.

A key is the path of an exhibit below `results/<study>/`, without its ending: `tables/jiang2020-table2`,
`figures/song2026-figure5`, `claims/jiang2020`, `significance/<table>`, `numbers`, `runs`, `report`. The key `tables` or
`figures` stands for all tables or figures of the study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.spec_files import identity
from mdnmt.exhibits.table_selection import comparison, table_spec
from mdnmt.report import report_page, report_selection
from mdnmt.report.runs_table import write_runs
from mdnmt.report.write_table import FORMATS, JSON, write_table
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


class Exhibits:
    """The exhibits of a study."""

    def __init__(self, study: Study, places: ResultPaths, command: str) -> None:
        """Take a study.

        Args:
            study: the study.
            places: the paths of its results.
            command: the command that makes the study again, for the page.
        """
        self._study, self._places, self._command = study, places, command
        tables, figures = study.config.tables, study.config.figures
        self._made: dict[str, Callable[[], None]] = {
            **{f"significance/{key}": partial(self._significance, key) for key in tables},
            **{f"tables/{key}": partial(self._table, key) for key in tables},
            **{f"figures/{key}": partial(self._figure, key) for key in figures},
            **{f"claims/{paper}": partial(self._claims, paper) for paper in study.papers},
            "numbers": self._numbers,
            "runs": self._runs,
            "report": self._report,
        }

    def make(self, keys: Iterable[str], planned: Sequence[str] = ()) -> None:
        """Make the exhibits with these keys, in this order.

        Args:
            keys: what to make.
            planned: the identity (`spec_files.identity`) that each exhibit must have, in the same order; empty: any.

        Raises:
            ConfigError: the study has no such exhibit, or one has become another than was planned; nothing was made.
            DataError: a file that an exhibit is made from is missing, damaged, or made with other options.
        """
        found = [exact for key in keys for exact in self._expanded(key)]
        # Snakemake records what it planned, so it would not notice a study that is edited while it runs, and then back.
        if planned and [identity(self._spec(key)) for key in found] != list(planned):
            raise ConfigError(
                f"study {self._study.name} is not the one that was planned for {', '.join(found)}: its configuration "
                "or its finished runs changed since then; start the same command again"
            )
        for key in found:
            self._made[key]()

    def make_from_what_exists(self, keys: Iterable[str] = ()) -> Path:
        """Make tables and figures from the files that exist now, without new tests; return the last file written.

        They lie in the folder `partial` of the study's results: what Snakemake makes is replaced by Snakemake alone,
        which knows the options that it was made with.

        Args:
            keys: of tables and figures, `tables` or `figures`; none: all of them, and the page.

        Raises:
            ConfigError: a key of something else; nothing was made.
        """
        places = partial_paths(self._places)
        chosen = [exact for key in keys or ("tables", "figures") for exact in self._expanded(key)]
        if others := [key for key in chosen if not key.startswith(("tables/", "figures/"))]:
            raise ConfigError(
                f"{others[0]} is made by Snakemake alone (`mdnmt run {self._study.name}`); by hand, expected tables or "
                "figures, or no key for all of them and the page"
            )
        path = Path(places.runs_table)
        for kind, _, key in (one.partition("/") for one in chosen):
            if kind == "tables":
                path = _write_table(self._study, key, places, partial=True)
            else:
                path = _save_figure(self._study, key, places, partial=True)
        if keys:
            return path
        write_runs(report_selection.run_rows(self._study, places), Path(places.runs_table))
        page = Path(places.runs_table).with_name("report.html")
        spec = report_selection.report_spec(self._study, places, (self._command,), partial=True)
        fsio.write_text(page, report_page.render(spec))
        return page

    def _spec(self, key: str) -> Any:
        """Return what the rule of an exhibit records of it."""
        kind, _, name = key.partition("/")
        specs: dict[str, Callable[[], Any]] = {
            "significance": lambda: comparison(self._study, name, self._places),
            "tables": lambda: table_spec(self._study, name, self._places),
            "figures": lambda: figure_spec(self._study, name, self._places),
            "claims": lambda: claims_spec(self._study, name, self._places),
            "numbers": lambda: number_sources(self._study, self._places),
            "runs": lambda: report_selection.run_rows(self._study, self._places),
            "report": lambda: report_selection.report_spec(self._study, self._places, (self._command,)),
        }
        return specs[kind]()

    def _expanded(self, key: str) -> list[str]:
        if key in ("tables", "figures"):
            return [known for known in self._made if known.startswith(f"{key}/")]
        bare = [known for known in self._made if known.endswith(f"/{key}") and not known.startswith("signif")]
        if key not in self._made and not bare:
            raise ConfigError(
                f"study {self._study.name} has no exhibit {key!r}{did_you_mean(key, self._made)}; expected one of: "
                f"{', '.join(self._made)}"
            )
        return [key] if key in self._made else bare

    def _significance(self, key: str) -> None:
        from mdnmt.score.significance.write_comparison import write_comparison

        write_comparison(comparison(self._study, key, self._places), Path(self._places.significance(key)))

    def _table(self, key: str) -> None:
        _write_table(self._study, key, self._places)

    def _figure(self, key: str) -> None:
        _save_figure(self._study, key, self._places)

    def _claims(self, paper: str) -> None:
        from mdnmt.statements.claims.write_claims import write_claims

        if path := self._places.claims(paper):
            write_claims(claims_spec(self._study, paper, self._places), Path(path), Path(path).with_suffix(".md"))

    def _numbers(self) -> None:
        from mdnmt.exhibits.write_numbers import write_numbers

        sources = number_sources(self._study, self._places)
        write_numbers(self._study.name, sources, Path(self._places.runs_table).parent)

    def _runs(self) -> None:
        write_runs(report_selection.run_rows(self._study, self._places), Path(self._places.runs_table))

    def _report(self) -> None:
        spec = report_selection.report_spec(self._study, self._places, (self._command,))
        fsio.require_options(spec.made_with)
        page = Path(self._places.runs_table).with_name("report.html")
        fsio.write_text(page, report_page.render(spec))
        print(f"report: {page}")


def partial_paths(places: ResultPaths) -> ResultPaths:
    """Return the paths of a report on what exists: its tables, figures and list of runs stand apart."""
    folder = Path(places.runs_table).with_name("partial")
    return replace(
        places,
        table=lambda key, kind: f"{folder}/tables/{key}.{kind}",
        figure=lambda key, kind: f"{folder}/figures/{key}.{kind}",
        runs_table=f"{folder}/runs.tsv",
    )


def _write_table(study: Study, key: str, places: ResultPaths, *, partial: bool = False) -> Path:
    paths = {ending: Path(places.table(key, ending)) for ending in (*FORMATS, JSON)}
    write_table(table_spec(study, key, places, partial=partial), paths)
    return paths["md"]


def _save_figure(study: Study, key: str, places: ResultPaths, *, partial: bool = False) -> Path:
    from mdnmt.exhibits.save_figure import save  # imports matplotlib's style

    png, pdf, numbers = (Path(places.figure(key, kind)) for kind in ("png", "pdf", "json"))
    save(figure_spec(study, key, places, partial=partial), png, pdf, numbers)
    return png
