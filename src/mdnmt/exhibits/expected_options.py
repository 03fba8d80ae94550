"""The options that tables and figures must have been made with; claims and the report check them."""

from __future__ import annotations

from collections.abc import Iterable

from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.table_request import table_spec
from mdnmt.fsio import options_hash
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


def of_exhibits(study: Study, keys: Iterable[str], places: ResultPaths) -> dict[str, str]:
    """Return JSON file -> hash of its spec (see `fsio.require_options`), for the tables and figures with these keys."""
    found = {}
    for key in keys:
        is_table = key in study.config.tables
        spec = table_spec(study, key, places) if is_table else figure_spec(study, key, places)
        file = places.table(key, "json") if is_table else places.figure(key, "json")
        found[file] = options_hash(spec.model_dump(mode="json"))
    return found
