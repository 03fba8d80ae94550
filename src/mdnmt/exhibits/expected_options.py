"""The options that tables and figures must have been made with, for those who read them: claims and the page."""

from __future__ import annotations

from collections.abc import Iterable

from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.table_selection import table_spec
from mdnmt.fsio import options_hash
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Study


def of_exhibits(study: Study, keys: Iterable[str], places: ResultPaths) -> dict[str, str]:
    """Return the JSON file of each table and figure of these keys -> the hash of its spec (`fsio.require_options`)."""
    found = {}
    for key in keys:
        is_table = key in study.config.tables
        spec = table_spec(study, key, places) if is_table else figure_spec(study, key, places)
        file = places.table(key, "json") if is_table else places.figure(key, "json")
        found[file] = options_hash(spec.model_dump(mode="json"))
    return found
