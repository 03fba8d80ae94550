"""Every entry is found by computing: with the number put right in print, the objection to it is gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.audit import AuditConfig, Gains
from mdnmt.config.published import Published, PublishedNumber
from mdnmt.errors import ConfigError
from mdnmt.statements.audit.audit import audit
from mdnmt.statements.audit.finding import AuditResult, Finding
from mdnmt.statements.audit.printed_tables import AuditInput, load_inputs

CONFIG = Path(__file__).resolve().parents[3] / "config"

MIX, ONLY = "+DAMHA+DMoE (mix)", "+DAMHA+DMoE (Domain-only)"
AVERAGES = {
    "T3 | Baseline | Avg./BLEU": "22.46",
    "T3 | Transformer-big | Avg./chrF": "32.13",
    "T3 | WALDM | Avg./BLEU": "23.43",
    "T3 | DASA | Avg./BLEU": "21.65",
    "T3 | DASA | Avg./chrF": "31.38",
    "T3 | DASA | Avg./COMET": "77.40",
    "T3 | mBART-50 | Avg./BLEU": "20.40",
    "T5 | Transformer | Avg./chrF": "45.27",
    "T5 | DASA | Avg./chrF": "45.27",
    "T5 | MBART-50-zero | Avg./chrF": "56.87",
    "T5 | MBART-50 | Avg./BLEU": "39.28",
}
STARRED = {
    "T3 | Domain-only | Science/BLEU": "9.78*",
    "T3 | Mix | Science/COMET": "73.58*",
    "T5 | Domain-only | Ted/COMET": "46.24*",
}
ALL_STARRED = STARRED | {
    "T3 | Mix | Science/BLEU": "9.78*",
    "T3 | Domain-only | Science/chrF": "17.9*",
    "T3 | Mix | Science/chrF": "17.9*",
    "T3 | Mix | Law/COMET": "86.21*",
    "T5 | Domain-only | New/chrF": "38.1*",
}
# The gains that the text should list, of Domain-only throughout: over a row, BLEU, chrF and COMET.
GAINS = {
    "T3": {
        "Baseline": ("1.83", "1.05", "0.36"),
        "Transformer-big": ("0.72", "0.53", "0.92"),
        "WALDM": ("0.86", "1.1", "0.49"),
        "LDSPSLV": ("1.75", "0.7", "1.19"),
        "DASA": ("2.64", "1.28", "0.33"),
    },
    "T5": {
        "Transformer": ("0.59", "0.34", "0.32"),
        "Transformer-big": ("0.51", "0.6", "0.68"),
        "WALDM": ("0.4", "0.1", "0.27"),
        "LDSPSLV": ("1.01", "0.77", "0.94"),
        "DASA": ("0.42", "0.34", "0.44"),
    },
}

# id -> the numbers of the print put right: cells, names of columns, or what a check has the text say.
RIGHT: dict[str, dict[str, Any]] = {
    **{
        f"song-{table}-avg-{row}-{measure.partition('/')[2]}": {"cells": {f"{table} | {row} | {measure}": raw}}
        for (table, row, measure), raw in ((cell.split(" | "), raw) for cell, raw in AVERAGES.items())
    },
    "song-T6-dbleu-dmoe-domain-only": {"cells": {"T6 | +DMoE (Domain-only) | ΔBLEU/dBLEU": "+0.44"}},
    **{f"song-T3-gain-{row}-chrF": {"gains": GAINS} for row in ("Transformer-big", "WALDM", "LDSPSLV", "DASA")},
    "song-stars": {"cells": STARRED},
    "song-stars-below-all": {"cells": ALL_STARRED},
    "song-gains-mixed-variants": {"gains": GAINS},
    "song-52-mbart-bleu": {"check": {"number": Decimal("3.89")}},
    "song-T5-zero-bleu": {"check": {"number": Decimal("7.08")}},
    "song-T5-zero-comet": {"check": {"number": Decimal("21.61")}},
    "song-T6-text-dmoe-chrf": {"cells": {"T6 | +DMoE (mix) | ChrF/chrF": "31.59"}},
    "song-t6-complementary": {"cells": {"T6 | +DAMHA | ChrF/chrF": "32.64", "T6 | +DAMHA | Comet/COMET": "77.71"}},
    "song-532-comet": {"check": {"number": Decimal("0.15")}},
    "song-532-mix-chrf": {"check": {"low": Decimal("-0.38"), "high": Decimal("-0.08")}},
    "song-532-mix-comet": {"check": {"high": Decimal("-0.26")}},
    "song-loss-useless": {
        "cells": {
            f"T6 | {MIX}+Loss | Bleu/BLEU": "24.48",
            f"T6 | {MIX}+Loss | ChrF/chrF": "32.91",
            f"T6 | {MIX}+Loss | Comet/COMET": "77.88",
        }
    },
    "song-speed-claim": {"cells": {"T4 | Domain-only | Inference speed/seconds_per_batch": "1.19"}},
    "song-t4-ldspslv-dasa-time": {"cells": {"T4 | DASA | Training time/seconds_per_epoch": "1176.84"}},
    # The one entry that holds: nobody had computed it before.
    "song-param-vocab": {"cells": {"T4 | Transformer-big | Parameter/parameters": "272 M"}},
    "song-param-waldm-big": {"cells": {"T4 | WALDM | Parameter/parameters": "221 M"}},
    "song-param-ldspslv": {"cells": {"T4 | LDSPSLV | Parameter/parameters": "89 M"}},
    "song-param-dmoe": {
        "cells": {
            "T4 | Domain-only | Parameter/parameters": "182 M",
            "T4 | Domain+Sentence | Parameter/parameters": "188 M",
        }
    },
    "song-eq15": {"check": {"lifted": True}},
    "song-final-model": {
        "cells": {"T3 | Mix | Avg./BLEU": "24.47", "T3 | Mix | Avg./chrF": "32.9", "T3 | Mix | Avg./COMET": "77.87"}
    },
    "song-law-5198": {"cells": {"T3 | Baseline | Law/BLEU": "51.97"}},
    "song-testsizes": {
        "cells": {
            "T2 | UM-Corpus/Law | Test/sentences": "456",
            "T2 | UM-Corpus/Thesis | Test/sentences": "625",
            "T2 | UM-Corpus/Spoken | Test/sentences": "455",
        }
    },
    "song-oov-low-enfr": {"cells": {"T5 | Transformer | Ted/BLEU": "33.5"}},
    "jiang-ratio": {"check": {"number": Decimal("2.3")}},
    "jiang-all-but-thesis": {
        "cells": {
            "T4 | Laws | Laws/BLEU": "50.03",
            "T4 | News | News/BLEU": "27.47",
            "T4 | Speech | Speech/BLEU": "16.78",
        }
    },
    "jiang-speech-spoken": {"columns": {"Spoken": "Speech"}},
    "jiang-k-times": {"check": {"domains": (2,), "times": Decimal("1.41")}},
    "zhang-enfr-trend": {"cells": {"T3 | Guided Learning | EN-FR/KDE4/BLEU-4": "46.57"}},
    "zhang-domaintag": {
        "cells": {"T3 | DomainTag | EN-FR/IWSLT/BLEU-4": "43.20", "T3 | DomainTag | EN-FR/ECB/BLEU-4": "47.81"}
    },
    "zhang-zhen-news": {
        "cells": {"T3 | Baseline | ZH-EN/NEWS/BLEU-4": "25.27", "T3 | Baseline | ZH-EN/IWSLT/BLEU-4": "22.87"}
    },
    "zhang-laws-level": {"cells": {"T3 | Baseline | ZH-EN/LAWS/BLEU-4": "58.87"}},
    "zhang-n4": {"check": {"pairs": ((Decimal(3), "rows of T2"),)}},
}


@cache
def inputs() -> AuditInput:
    return load_inputs(CONFIG)


@cache
def whole() -> AuditResult:
    return audit(inputs())


def paper_of(entry: str) -> str:
    return next(finding.paper for finding in whole().findings if finding.id == entry)


def only(config: AuditConfig, entry: str) -> AuditConfig:
    """Return the configuration with one entry, and the lists of gains where it needs them."""
    sweeps = tuple(sweep for sweep in config.sweeps if sweep.id == entry)
    needs_gains = any(sweep.sweep == "gain" for sweep in sweeps)
    checks = tuple(one for one in config.checks if one.id == entry or (needs_gains and isinstance(one, Gains)))
    return AuditConfig(sweeps=sweeps, checks=checks)


def value(raw: str) -> float:
    number = raw.rstrip("*M ").replace(",", "")
    return float(number) * (1e6 if raw.endswith("M") else 1)


def with_cells(published: Published, cells: dict[str, str], columns: dict[str, str]) -> Published:
    numbers = dict(published.numbers)
    for cell, raw in cells.items():
        table, row, measure = cell.split(" | ")
        column, _, metric = measure.rpartition("/")
        old = numbers[table, row, column, metric]
        numbers[table, row, column, metric] = PublishedNumber(value(raw), raw, old.star, "")
    renamed = {(t, row, columns.get(column, column), metric): old for (t, row, column, metric), old in numbers.items()}
    return Published(published.paper, renamed)


def with_gains(config: AuditConfig, gains: dict[str, dict[str, tuple[str, ...]]]) -> AuditConfig:
    def listed(check: Gains) -> Gains:
        lists = [
            one.model_copy(
                update={
                    "over": {
                        row: dict(zip(("BLEU", "chrF", "COMET"), map(Decimal, numbers), strict=True))
                        for row, numbers in gains[one.table].items()
                    }
                }
            )
            for one in check.lists
        ]
        return check.model_copy(update={"lists": tuple(lists)})

    checks = [listed(check) if isinstance(check, Gains) else check for check in config.checks]
    return config.model_copy(update={"checks": tuple(checks)})


def found(entry: str, right: dict[str, Any] | None = None) -> Finding:
    """Return an entry computed alone, with the print as it is or put right."""
    paper, change = paper_of(entry), right or {}
    config = only(inputs().configs[paper], entry)
    if "gains" in change:
        config = with_gains(config, change["gains"])
    if "check" in change:
        [check] = config.checks
        config = config.model_copy(update={"checks": (check.model_copy(update=change["check"]),)})
    numbers = with_cells(inputs().published[paper], change.get("cells", {}), change.get("columns", {}))
    changed = replace(inputs(), configs={paper: config}, published={**inputs().published, paper: numbers})
    return next(finding for finding in audit(changed).findings if finding.id == entry)


def ids(findings: Sequence[Finding]) -> list[str]:
    return [finding.id for finding in findings]


@pytest.mark.slow
def test_every_computed_entry_is_put_right_below() -> None:
    assert set(RIGHT) == {finding.id for finding in whole().findings if finding.computed and not finding.ours}


@pytest.mark.parametrize("entry", RIGHT)
def test_an_entry_goes_when_the_print_is_put_right(entry: str) -> None:
    as_printed, put_right = found(entry), found(entry, RIGHT[entry])
    before, after = "inconsistent", "consistent"
    if entry == "song-param-vocab":
        before, after = after, before
    assert (as_printed.status, put_right.status) == (before, after), put_right.recomputed
    assert as_printed == next(finding for finding in whole().findings if finding.id == entry)


def test_the_eight_starred_scores_below_the_baseline() -> None:
    one = next(finding for finding in whole().findings if finding.id == "song-stars-below-all")
    assert one.comment.startswith("8 of 42 cells.")
    for cell in ALL_STARRED:
        table, row, measure = cell.split(" | ")
        column, metric = measure.split("/")
        assert f"Table {table[1:]}, {row}, {column} {metric}: " in str(one.recomputed)
    short = {cell: raw for cell, raw in ALL_STARRED.items() if "Law" not in cell}
    left = found("song-stars-below-all", {"cells": short})
    assert (left.status, left.recomputed) == ("inconsistent", "Table 3, Mix, Law COMET: 86.15*, baseline 86.21")


def test_what_the_audit_found_by_itself_is_marked() -> None:
    ours = [finding for finding in whole().findings if finding.ours and finding.status == "inconsistent"]
    assert ids(ours) == ["jiang-same-size", "song-t3-best", "song-ldspslv-memory", "song-names"]
    # A wrong cell that nobody had named becomes an entry.
    numbers = with_cells(inputs().published["song2026"], {"T5 | WALDM | Avg./COMET": "54.90"}, {})
    config = AuditConfig()
    result = audit(replace(inputs(), configs={"song2026": config}, published={"song2026": numbers}))
    [new] = [finding for finding in result.findings if "WALDM" in finding.id and "T5" in finding.id]
    assert new.id == "song-T5-average-WALDM-Avg.-COMET"
    assert (new.status, new.ours, new.printed, new.recomputed) == ("inconsistent", True, "54.90", "54.7967")


def test_how_much_was_compared() -> None:
    done = {(one.paper, one.kind): (one.compared, one.agreed) for one in whole().checked}
    assert done["song2026", "average"] == (51, 40)
    assert done["song2026", "delta"] == (39, 38)
    assert done["song2026", "star"] == (42, 34)
    assert done["song2026", "gain"] == (30, 26)
    assert done["zhang2021", "total"] == (3, 3)
    assert done["phan2022", "distance"] == (12, 12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": ("T3 | Baselin | Avg./BLEU",)}, "the sweep average has no cell 'T3 | Baselin | Avg./BLEU'"),
        ({"sweep": "delta"}, "the sweep delta has no cell"),
    ],
)
def test_a_sweep_entry_must_name_what_the_sweep_looks_at(change: dict[str, Any], message: str) -> None:
    entry = inputs().configs["song2026"].sweeps[0].model_copy(update=change)
    with pytest.raises(ConfigError, match="song-T3-avg-Baseline-BLEU") as caught:
        audit(replace(inputs(), configs={"song2026": AuditConfig(sweeps=(entry,))}))
    assert message in str(caught.value)


def test_a_cell_that_is_not_there_or_has_no_number_is_named() -> None:
    with pytest.raises(ConfigError, match=r"jiang2020 has no cell T3 \| MTL \| Ted/BLEU"):
        inputs().cell("song2026", "jiang2020: T3 | MTL | Ted/BLEU")
    with pytest.raises(ConfigError, match=r"is not available; type it into config/published/jiang2020\.tsv"):
        inputs().cell("jiang2020", "T3 | MTL | TED/BLEU")
    with pytest.raises(ConfigError, match=r"expected `table \| row \| column/metric`"):
        inputs().cell("jiang2020", "T3 MTL TED")
