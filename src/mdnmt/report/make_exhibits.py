"""Make exhibits of a study by their keys: what `mdnmt exhibit` does, for the rules of the workflow and for people.

A key is the path of an exhibit below `results/<study>/`, without its ending: `tables/jiang2020-table2`,
`figures/song2026-figure5`, `claims/jiang2020`, `significance/<table>`, `numbers`, `runs`, `report`. The key `tables` or
`figures` stands for all tables or figures of the study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.config.loader import did_you_mean
from mdnmt.errors import ConfigError
from mdnmt.exhibits.comparison import comparison
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.request import identity
from mdnmt.exhibits.table_request import table_spec
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
        self.keys = (
            *(f"significance/{key}" for key in tables),
            *(f"tables/{key}" for key in tables),
            *(f"figures/{key}" for key in figures),
            *(f"claims/{paper}" for paper in study.papers if places.claims(paper)),
            *("numbers", "runs", "report"),
        )

    def make(self, keys: Iterable[str], planned: Sequence[str] = ()) -> None:
        """Make the exhibits with these keys, in this order.

        Args:
            keys: what to make.
            planned: the identity (`request.identity`) that each exhibit must have, in the same order; empty: any.

        Raises:
            ConfigError: the study has no such exhibit, or one has become another than was planned; nothing was made.
            DataError: a file that an exhibit is made from is missing, damaged, or made with other options.
        """
        specs = {key: self._spec(key, self._places) for key in self._expanded(keys)}
        # Snakemake records what it planned, so it would not notice a study that is edited while it runs, and then back.
        if planned and list(map(identity, specs.values())) != list(planned):
            raise ConfigError(
                f"study {self._study.name} is not the one that was planned for {', '.join(specs)}: its configuration "
                "or its finished runs changed since then; start the same command again"
            )
        for key, spec in specs.items():
            self._write(key, spec, self._places)

    def make_from_what_exists(self, keys: Iterable[str] = ()) -> Path:
        """Make tables and figures from the files that exist now, without new tests; return the last file written.

        They are written to the folder `partial` of the study's results: what Snakemake makes is replaced by Snakemake
        alone, which knows the options that it was made with.

        Args:
            keys: of tables and figures, `tables` or `figures`; none: all of them, and the page.

        Raises:
            ConfigError: a key of something else; nothing was made.
        """
        chosen = self._expanded(keys or ("tables", "figures"))
        if others := [key for key in chosen if not key.startswith(("tables/", "figures/"))]:
            raise ConfigError(
                f"{others[0]} is made by Snakemake alone (`mdnmt run {self._study.name}`); by hand, expected tables or "
                "figures, or no key for all of them and the page"
            )
        places = replace(self._places, partial=True)
        written = [
            self._write(key, self._spec(key, places, partial=True), places)
            for key in (*chosen, *(() if keys else ("runs", "report")))
        ]
        return written[-1]

    def _expanded(self, keys: Iterable[str]) -> list[str]:
        """Return keys in full: all of a kind for `tables` or `figures`, and `tables/KEY` for KEY alone."""
        found = list[str]()
        for key in keys:
            of_kind = [known for known in self.keys if key in ("tables", "figures") and known.startswith(f"{key}/")]
            bare = [known for known in self.keys if known.endswith(f"/{key}") and not known.startswith("significance")]
            exact = [key] if key in self.keys else of_kind or bare
            if not exact and key not in ("tables", "figures"):
                raise ConfigError(
                    f"study {self._study.name} has no exhibit {key!r}{did_you_mean(key, self.keys)}; expected one of: "
                    f"{', '.join(self.keys)}"
                )
            found += exact
        return found

    def _spec(self, key: str, places: ResultPaths, *, partial: bool = False) -> Any:
        """Return all that an exhibit is made of; its rule records the identity of it."""
        study, (kind, _, name) = self._study, key.partition("/")
        specs: dict[str, Callable[[], Any]] = {
            "significance": lambda: comparison(study, name, places),
            "tables": lambda: table_spec(study, name, places, partial=partial),
            "figures": lambda: figure_spec(study, name, places, partial=partial),
            "claims": lambda: claims_spec(study, name, places),
            "numbers": lambda: number_sources(study, places),
            "runs": lambda: report_selection.run_rows(study, places),
            "report": lambda: report_selection.report_spec(study, places, (self._command,), partial=partial),
        }
        return specs[kind]()

    def _write(self, key: str, spec: Any, places: ResultPaths) -> Path:
        """Make an exhibit and return its main file. Writers of few exhibits are imported here: numpy, matplotlib."""
        kind, _, name = key.partition("/")
        own = Path(places.runs_table).parent
        if kind == "significance":
            from mdnmt.score.significance.compare_systems import write_comparison

            write_comparison(spec, path := Path(places.significance(name)))
        elif kind == "tables":
            paths = {ending: Path(places.table(name, ending)) for ending in (*FORMATS, JSON)}
            write_table(spec, paths)
            path = paths["md"]
        elif kind == "figures":
            from mdnmt.exhibits.save_figure import save

            path, *others = (Path(places.figure(name, ending)) for ending in ("png", "pdf", "json"))
            save(spec, path, *others)
        elif kind == "claims":
            from mdnmt.statements.claims.write_claims import write_claims

            path = Path(str(places.claims(name)))
            write_claims(spec, path, path.with_suffix(".md"))
        elif kind == "numbers":
            from mdnmt.exhibits.write_numbers import write_numbers

            write_numbers(self._study.name, spec, own)
            path = own / "numbers.csv"
        elif kind == "runs":
            write_runs(spec, path := Path(places.runs_table))
        else:
            fsio.require_options(spec.made_with)
            fsio.write_text(path := own / "report.html", report_page.render(spec))
        return path
