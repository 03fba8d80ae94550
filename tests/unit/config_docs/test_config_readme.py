"""config/README.md lists the keys of config/config.yaml with the defaults of their model."""

from __future__ import annotations

import json
import re

from pages import ROOT

from mdnmt.config.project import ProjectConfig


def test_every_key_stands_there_with_its_default() -> None:
    section = (ROOT / "config" / "README.md").read_text().partition("## config.yaml")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.M))
    defaults = {
        name: field.default if isinstance(field.default, str) else json.dumps(field.default)
        for name, field in ProjectConfig.model_fields.items()
    }
    assert rows == defaults
