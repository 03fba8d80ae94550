"""The tidy table of a study's numbers: one row per measured number, written as numbers.csv and read as a DataFrame."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from mdnmt import fsio
from mdnmt.config.published import load_published as read_published
from mdnmt.errors import DataError
from mdnmt.numbers.sources import COLUMNS, NumberSource, Row, read_source
from mdnmt.workspace import config_files

TABLE, SEAL = "numbers.csv", "numbers.json"
PUBLISHED_COLUMNS = ("paper", "exhibit", "row", "column", "metric", "value", "printed", "star", "recommended", "note")
_TYPES = {**dict.fromkeys((*COLUMNS, "note"), "str"), "seed": "Int64", "value": "float64", "n": "Int64"}


def collect(sources: tuple[NumberSource, ...]) -> pd.DataFrame:
    """Return all numbers of `sources`, in their order.

    Raises:
        DataError: a file is damaged or has no such numbers, or a domain was scored on different numbers of sentences.
    """
    # Figures of several kinds may measure the same numbers; the first has them.
    first: dict[tuple[Any, ...], Row] = {}
    for row in (row for source in sources for row in read_source(source)):
        first.setdefault(tuple(row[name] for name in COLUMNS if name != "source"), row)
    rows = list(first.values())
    table = pd.DataFrame(rows, columns=list(COLUMNS)).astype({name: _TYPES[name] for name in COLUMNS})
    for (task, split, domain), group in table[table["n"].notna() & (table["split"] != "")].groupby(
        ["task", "split", "domain"]
    ):
        if group["n"].nunique() > 1:
            known, other = group.drop_duplicates("n").head(2).itertuples()
            raise DataError(
                f"{other.source}: {other.n} {split} sentences for {domain} of {task}, but {known.n} in {known.source}; "
                "expected the same text everywhere: decode and score again"
            )
    return table


def write(
    folder: Path, study: str, table: pd.DataFrame, made_from: list[Path], notes: Mapping[str, str] | None = None
) -> None:
    """Write the table to `folder`, and beside it a sealed record of its checksum and of the files it was made from.

    Args:
        folder: the folder of the study.
        study: its name.
        table: what `collect` returned.
        made_from: the files.
        notes: `source` of rows -> how what the code here would make differs, for one more column.
    """
    table = table.assign(note=[(notes or {}).get(source, "") for source in table["source"]])
    text = table.to_csv(index=False, lineterminator="\n")
    fsio.write_text(folder / TABLE, text)
    record = {"study": study, "sha256": hashlib.sha256(text.encode("utf-8")).hexdigest()}
    fsio.write_sealed(folder / SEAL, record, fsio.sealed(made_from))


def load(study: str, results: str | Path = "results") -> pd.DataFrame:
    """Return all numbers of a finished study: one row per number, with the columns `COLUMNS` and `note`.

    Args:
        study: its name.
        results: the folder of all results.

    Raises:
        DataError: the table is missing, was edited or belongs to another study, or a file that it was made from has
            changed since.
    """
    path = Path(results) / study / TABLE
    again = f"remove it and run snakemake --cores all --config study={study}"
    try:
        data, record = path.read_bytes(), fsio.read_json(path.with_name(SEAL))
    except FileNotFoundError as error:
        raise DataError(
            f"{error.filename}: no such file; snakemake --cores all --config study={study} makes it"
        ) from None
    if record.get("study") != study:
        raise DataError(f"{path}: is the table of study {record.get('study')!r}, expected {study!r}; {again}")
    if record.get("sha256") != hashlib.sha256(data).hexdigest():
        raise DataError(f"{path}: was altered, its sha256 is not the one in {SEAL}; {again}")
    return pd.read_csv(
        io.BytesIO(data),
        dtype=_TYPES,
        keep_default_na=False,
        na_values={"seed": [""], "n": [""]},
        float_precision="round_trip",
    )


def load_published(config: str | Path = "config") -> pd.DataFrame:
    """Return the numbers that the papers print: one row per cell, with the columns `PUBLISHED_COLUMNS`.

    Args:
        config: the project's folder of configuration.

    Raises:
        ConfigError: a file of config/published is malformed.
    """
    rows = [
        (paper, *place, number.value, number.raw, number.star, number.recommended, number.note)
        for paper in (path.stem for path in config_files(Path(config), "published/*.tsv"))
        for place, number in read_published(Path(config), paper).numbers.items()
    ]
    table = pd.DataFrame(rows, columns=list(PUBLISHED_COLUMNS))
    return table.astype({"value": "float64", "star": "bool", "recommended": "float64"})
