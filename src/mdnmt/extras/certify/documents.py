"""The documents of a certificate that people read or complete: artifact appendix, codecheck.yml and commands."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any

import yaml

from mdnmt.escape import markdown, one_line
from mdnmt.exchange.verify import Finding
from mdnmt.extras.certify.study_facts import StudyFacts
from mdnmt.numbers.verdicts import VERDICTS

APPENDIX, CODECHECK, COMMANDS = "README.md", "codecheck.yml", "commands.sh"


# What a human must add, and where: a field of README.md (it ends with a colon), or a key of another file.
TO_ADD = (
    ("the paper that the artifact belongs to", "Paper: in Abstract; `paper` in codecheck.yml"),
    ("its authors, with ORCID where they have one", "Authors: in Abstract; `paper` in codecheck.yml"),
    ("who answers questions", "Contact: in Abstract"),
    ("where the source code is published", "Source code address: in Badges; `repository` in codecheck.yml"),
    ("where the trained models are published, if that badge is asked for", "Trained models address: in Badges"),
    ("a container that reproduces one result, if that badge is asked for", "Container image: in Badges"),
    ("where this folder is archived", "Archive (DOI): in Badges; `report` in codecheck.yml"),
    ("intended use, risks and limits, and consent where people are concerned", "Ethics and limits: in Checklist"),
    ("how a reviewer gets data that may not be passed on", "Rights to data that may not be passed on: in Data"),
    ("the codechecker, the time of the check and the certificate's number", "the empty keys of codecheck.yml"),
)


def write_appendix(facts: StudyFacts, made: dict[str, Any], findings: list[Finding], size_bytes: int) -> str:
    """Return the artifact appendix as Markdown.

    Args:
        facts: facts about the study.
        made: provenance of the certificate (`mdnmt.provenance.collect`).
        findings: findings of `mdnmt verify`.
        size_bytes: size of the certificate.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("mdnmt.extras.certify", "."),
        autoescape=False,  # the output is Markdown; the filter md escapes foreign text
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["md"] = markdown
    records = facts.runs.values()
    counts = Counter(one.status for one in findings)
    hardware = sorted({f"{one.get('device', 'cpu')}, {one.get('provenance', {}).get('cpu', '')}" for one in records})
    return environment.get_template("artifact.md.j2").render(
        facts=facts,
        made=made,
        to_add=TO_ADD,
        methods=sorted({address.split("/")[1] for address in facts.runs}),
        seeds=sorted({_seed(address) for address in facts.runs}),
        hardware=[one_line(value) for value in hardware],
        commits=facts.provenance("commit"),
        finished=facts.provenance("utc"),
        hours=sum(float(one.get("seconds", 0)) for one in records) / 3600,
        megabytes=size_bytes / 1e6,
        runs=_rows(facts),
        all_verdicts=VERDICTS,
        cells=facts.counts("cell"),
        claims=facts.counts("claim"),
        checks=", ".join(f"{counts[status]} {status}" for status in ("ok", "differs", "not checked")),
    )


def _seed(address: str) -> int:
    return int(address.split("/")[2].removeprefix("seed").partition("-")[0])


def _rows(facts: StudyFacts) -> list[dict[str, str]]:
    """Return a row for each task and method; a value that is not recorded is empty."""
    groups: dict[tuple[str, str], list[str]] = {}
    for address in facts.runs:
        task, method, _ = address.split("/")
        groups.setdefault((task, method), []).append(address)
    rows = []
    for (task, method), addresses in groups.items():
        records = [facts.runs[address] for address in addresses]
        parameters, updates = (
            sorted({one[key] for one in records if key in one}) for key in ("num_parameters", "updates")
        )
        hours = sum(float(one.get("seconds", 0)) for one in records) / 3600
        rows.append(
            {
                "task": task,
                "method": method,
                "seeds": ", ".join(str(_seed(address)) for address in addresses),
                "parameters": ", ".join(f"{number:,}" for number in parameters),
                "updates": ", ".join(str(number) for number in updates),
                "hours": f"{hours:.2f}",
            }
        )
    return rows


def write_codecheck(facts: StudyFacts) -> str:
    """Return codecheck.yml, in version 1.0 of its specification; fields that only people can fill are empty."""
    cells, claims = (sum(facts.counts(kind).values()) for kind in ("cell", "claim"))
    value = {
        "version": "https://codecheck.org.uk/spec/config/1.0",
        "paper": {"title": "", "authors": [{"name": "", "ORCID": ""}], "reference": ""},
        "manifest": [
            {"file": "verdicts.csv", "comment": f"Verdicts on {cells} cells and {claims} claims of the papers"},
            {"file": "numbers.csv", "comment": "Every number of the study that the tables, figures and claims use"},
        ],
        "codechecker": [{"name": "", "ORCID": ""}],
        "summary": "",
        "repository": "",
        "check_time": "",
        "certificate": "",
        "report": "",
    }
    return "---\n" + yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=120)


def write_commands(facts: StudyFacts, commit: str | None) -> str:
    """Return a script that installs the environment, makes the study and packs its evidence.

    Args:
        facts: facts about the study.
        commit: commit of the source code, if it is known.
    """
    study = shlex.quote(facts.name)
    lines = ["#!/bin/sh", "# Make the study again. Run this in a checkout of the source code.", "set -eu"]
    if commit:
        lines.append(f"git checkout {shlex.quote(commit)}")
    lines += [
        "make setup",
        f".venv/bin/snakemake --cores all --config study={study}",
        f".venv/bin/mdnmt bundle {study} --bundle results/{study}/bundle",
        f".venv/bin/mdnmt verify results/{study}/bundle",
    ]
    return "\n".join(lines) + "\n"
