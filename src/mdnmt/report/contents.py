"""What the page of a study is made from: its papers, tables, figures, runs, tasks and corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.exhibits.rows import Column, ReportRun, Titled


class ReportTable(Titled):
    """A table that `mdnmt exhibit` wrote; a missing file is shown as not made."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: str
    data: Path  # output of `mdnmt exhibit`; the page renders it again, so that all text is escaped
    runs: tuple[ReportRun, ...] = ()  # the measured runs, for rows that do not name their own
    missing: str | None = None


class ReportFigure(Titled):
    """A figure that `mdnmt exhibit` wrote, with a caption that says what to look for."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: str
    where: str = ""  # "Figure 6"
    png: Path
    numbers: Path | None = None  # what it shows, as JSON
    caption: str
    runs: tuple[ReportRun, ...] = ()
    missing: str | None = None


class ReportExhibit(Frozen):
    """A table or figure of a paper; no id: the study does not show it."""

    kind: Literal["table", "figure"]
    where: str = ""
    title: str
    id: str | None = None


class ReportPaper(Frozen):
    """A paper as a section of the page."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    title: str
    citation: str
    items: tuple[ReportExhibit, ...] = ()  # in the paper's own order
    claims: Path | None = None  # output of `mdnmt exhibit`; None: the paper has no claims here
    claims_code: str = ""  # hash of the code that would decide them now
    audit: Path | None = None  # output of `mdnmt audit --json`; None: the paper is not audited


class ReportTask(Frozen):
    """A task: its directory, its domains and the systems whose translations are shown."""

    name: str
    label: str
    directory: Path  # has stats.json, leakage.json, text/test.<domain>.<lang>
    source_lang: str
    target_lang: str
    domains: tuple[Column, ...]
    systems: tuple[tuple[str, Path], ...] = ()  # (label, folder with hyp.<domain>.txt)


class ReportCorpus(Frozen):
    """What a reader should know about a corpus: its origin, its licence, whom to cite."""

    name: str
    label: str
    domain: str = ""
    version: str = ""
    licence: str = ""
    citation: str = ""
    url: str = ""
    sha256: str = ""


class ReportExternal(Frozen):
    """A system that is not trained here, with the provenance and the files of its translations."""

    label: str
    task: str  # its title
    provenance: str
    redistributable: bool
    files: tuple[tuple[str, str], ...]  # (path, sha256)


class ReportSpec(Frozen):
    """Everything the page is made from; absent parts are shown as absent."""

    study: str
    title: str
    introduction: str = ""  # two sentences for a newcomer
    papers: tuple[ReportPaper, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[ReportFigure, ...] = ()
    tasks: tuple[ReportTask, ...] = ()
    corpora: tuple[ReportCorpus, ...] = ()
    external: tuple[ReportExternal, ...] = ()
    runs: Path | None = None  # runs.tsv
    measure: Path | None = None  # measure.json, for the hardware
    missing: tuple[tuple[str, str], ...] = ()  # (what the study names but does not have, why)
    commands: tuple[str, ...] = ()  # commands that make this page again
    made_with: dict[str, str] = Field({})  # file -> hash of the options that it must have been made with
    partial: bool = False  # made from whatever exists
