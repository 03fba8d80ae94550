"""Finished runs to export, trained once for all tests of the room, and a configuration that names their corpora."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from export_configuration import DOMAINS, set_corpus

from mdnmt.train.run import train_run

Finished = Callable[..., Path]


@pytest.fixture(scope="session")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exported")


@pytest.fixture
def finished(_folder: Path, make_spec: Any, toy_task: Path) -> Finished:
    """Return the folder of a finished run of a builder and options."""

    def make(builder: str, **architecture: Any) -> Path:
        name = "-".join([builder, *(f"{key}-{value}" for key, value in sorted(architecture.items()))])
        if not (_folder / name / "run.json").exists():
            layers = {"encoder_layers": 2, "decoder_layers": 2}
            spec = make_spec(builder, architecture=layers | architecture, max_updates=20, validate_every=10)
            train_run(spec, toy_task, _folder / name, device="cpu")
        return _folder / name

    return make


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """Return a configuration folder with the toy task, whose corpora may be redistributed."""
    folder = tmp_path / "config"
    (folder / "tasks").mkdir(parents=True)
    (folder / "corpora").mkdir()
    domains = "".join(f"  {name}: {{corpora: [{name}-text], valid: 6, test: 5}}\n" for name in DOMAINS)
    (folder / "tasks" / "toy.yaml").write_text(
        f"title: Toy\nsource_lang: en\ntarget_lang: fr\ndomains:\n{domains}", encoding="utf-8"
    )
    for name in DOMAINS:
        set_corpus(folder, f"{name}-text", redistributable=True)
    return folder
