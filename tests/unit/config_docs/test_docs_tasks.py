"""The page on tasks names every key of a task with its default, every recipe with its values, and tasks that load."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from pages import ROOT, blocks, prose
from pydantic import BaseModel

from mdnmt.config.cleaning import RECIPES, CleaningConfig
from mdnmt.config.task import (
    DomainConfig,
    LeakageConfig,
    SegmentationConfig,
    SplitConfig,
    TaskConfig,
    VocabularyConfig,
)

PAGE = ROOT / "docs" / "tasks.md"


def rows(header: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with `header`."""
    table = prose(PAGE).partition(f"| {header} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def written(value: Any) -> str:
    """Return a value as the page's tables have it."""
    if value is None or isinstance(value, bool):
        return {None: "`null`", True: "`true`", False: "`false`"}[value]
    return f"`{value}`" if isinstance(value, str | dict) else str(value)


@pytest.mark.parametrize(
    ("header", "model"),
    [
        ("key of `split`", SplitConfig),
        ("key of `leakage`", LeakageConfig),
        ("key of `segmentation`", SegmentationConfig),
        ("key of `vocabulary`", VocabularyConfig),
    ],
)
def test_every_key_stands_there_with_its_default(header: str, model: type[BaseModel]) -> None:
    expected = {f"`{name}`": written(field.default) for name, field in model.model_fields.items()}
    assert {row[0]: row[1] for row in rows(header)} == expected


def test_the_keys_of_tasks_and_domains_are_all_named() -> None:
    named = set(re.findall(r"`(\w+)`", prose(PAGE)))
    assert named >= {*TaskConfig.model_fields, *DomainConfig.model_fields, *CleaningConfig.model_fields}


def test_the_table_of_recipes_is_what_they_set() -> None:
    header = prose(PAGE).partition("| key | `ours` |")[2].partition("\n")[0]
    columns = [re.findall(r"`([\w-]+)`", cell) for cell in ["`ours`", *header.strip("|").split("|")]]
    found = rows("key | `ours` | `none`, `zhang` | `song` | `jiang` | `jiang-ted`")
    assert {name for names in columns for name in names} == set(RECIPES)
    assert {row[0].strip("`") for row in found} == {*CleaningConfig.model_fields} - {"recipe"}
    for row in found:
        for names, value in zip(columns, row[1:], strict=True):
            for name in names:
                assert value == written(getattr(CleaningConfig(recipe=name), row[0].strip("`")))


@pytest.mark.parametrize("block", blocks(PAGE, "yaml"), ids=lambda block: yaml.safe_load(block.text)["title"])
def test_every_task_on_the_page_is_one(block: Any) -> None:
    assert TaskConfig.model_validate(yaml.safe_load(block.text)).domains
