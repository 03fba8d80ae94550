"""What an audit is made from: the published numbers, the lists of checks and the methods whose size is counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path

from mdnmt.config.audit import AuditConfig, Cell, Parameters, Reading, SizeRatio, Vocabulary, load_audit
from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.config.published import Published, PublishedNumber, load_published
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import canonical_json
from mdnmt.statements.audit.cells import other_paper, split_cell, split_measure
from mdnmt.statements.audit.printed_numbers import value_of
from mdnmt.workspace import config_files

VERSION = 1  # raised when the same input gives another result


@dataclass(frozen=True)
class AuditInput:
    """Everything that an audit reads.

    Attributes:
        configs: paper -> its checks; these papers are audited.
        published: paper -> its numbers; of all papers, since checks may compare two.
        methods: name -> method, of those whose parameters are counted.
    """

    configs: Mapping[str, AuditConfig]
    published: Mapping[str, Published]
    methods: Mapping[str, MethodConfig]

    def identity(self) -> str:
        """Return 8 hexadecimal digits that change when, and only when, the audit may come out differently."""
        value = {
            "version": VERSION,
            "configs": {name: config.model_dump(mode="json") for name, config in self.configs.items()},
            "published": {
                name: [[*place, asdict(number)] for place, number in published.numbers.items()]
                for name, published in self.published.items()
            },
            "methods": {
                name: {"builder": method.builder, "architecture": method.architecture}
                for name, method in self.methods.items()
            },
        }
        return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()[:8]

    def number(self, paper: str, table: str, row: str, measure: str) -> PublishedNumber:
        """Return the number in a cell; `measure` is `column/metric`.

        Raises:
            ConfigError: there is no such cell.
        """
        column, metric = split_measure(measure)
        found = self.published[paper].find(table, row, column, metric) if paper in self.published else None
        if found is None:
            raise ConfigError(
                f"config/audit: {paper} has no cell {table} | {row} | {measure}; "
                f"expected a line of config/published/{paper}.tsv, written `table | row | column/metric`"
            )
        return found

    def value(self, paper: str, table: str, row: str, measure: str) -> Decimal:
        """Return the value of a cell.

        Raises:
            ConfigError: there is no such cell, or its number is not available.
        """
        value = value_of(self.number(paper, table, row, measure))
        if value is None:
            raise ConfigError(
                f"config/audit: the number of {paper} {table} | {row} | {measure} is not available; "
                f"type it into config/published/{paper}.tsv, or take the check out"
            )
        return value

    def cell(self, paper: str, cell: Cell) -> Decimal:
        """Return the value of a cell in a check; config/audit.py defines how cells are written."""
        if isinstance(cell, Decimal):
            return cell
        named = other_paper(cell)
        paper, rest = (named, cell.removeprefix(f"{named}: ")) if named else (paper, cell)
        if rest.startswith("rows of ") and paper in self.published:
            return Decimal(len(self.published[paper].rows(rest.removeprefix("rows of "))))
        return self.value(paper, *split_cell(rest))


def papers_with_audit(config_folder: Path) -> list[str]:
    """Return the papers that have a file in config/audit/."""
    return [path.stem for path in config_files(config_folder, "audit/*.yaml")]


def load_inputs(config_folder: Path, papers: Sequence[str] = ()) -> AuditInput:
    """Return what the audit of `papers` reads; without papers, of all that have a file in config/audit/.

    Raises:
        ConfigError: an unknown paper, or a mistake in a file.
    """
    configs = {name: load_audit(config_folder, name) for name in papers or papers_with_audit(config_folder)}
    known = [path.stem for path in config_files(config_folder, "published/*.tsv")]
    named = sorted({reading.method for config in configs.values() for reading in readings(config)})
    methods = MethodIndex(config_folder)
    return AuditInput(
        configs,
        {name: load_published(config_folder, name) for name in known},
        {name: methods.load(name) for name in named},
    )


def readings(config: AuditConfig) -> list[Reading]:
    """Return every model that the checks of a paper count."""
    found: list[Reading] = []
    for check in config.checks:
        if isinstance(check, Parameters):
            found += check.readings
        elif isinstance(check, SizeRatio):
            found += [check.reading, check.over]
        elif isinstance(check, Vocabulary):
            found += check.cells.values()
    return found
