"""JSON schemas of the YAML files in config/, for editors, generated from the pydantic models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from mdnmt.config.audit import AuditConfig
from mdnmt.config.cards import Cards
from mdnmt.config.claims import ClaimsConfig
from mdnmt.config.cluster import ClusterConfig
from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.deviations import Deviations
from mdnmt.config.learning_rates import LearningRates
from mdnmt.config.method import MethodFile
from mdnmt.config.paper import PaperConfig
from mdnmt.config.project import ProjectConfig
from mdnmt.config.study import StudyConfig
from mdnmt.config.task import TaskConfig
from mdnmt.config.training import Training

# kind -> its model, and its files in config/.
KINDS: dict[str, tuple[type[BaseModel], str]] = {
    "project": (ProjectConfig, "config.yaml"),
    "cluster": (ClusterConfig, "cluster.yaml"),
    "cards": (Cards, "cards.yaml"),
    "study": (StudyConfig, "studies/*.yaml"),
    "task": (TaskConfig, "tasks/*.yaml"),
    "corpus": (CorpusConfig, "corpora/*.yaml"),
    "learning-rates": (LearningRates, "learning-rates/*.yaml"),
    "method": (MethodFile, "methods/*.yaml"),
    "paper": (PaperConfig, "papers/*.yaml"),
    "deviations": (Deviations, "deviations.yaml"),
    "audit": (AuditConfig, "audit/*.yaml"),
    "claims": (ClaimsConfig, "claims/*.yaml"),
}
# Models whose key `training` takes any of the options of `Training`, all of which have defaults.
_WITH_TRAINING = ("MethodFile", "FamilyMember", "SetOptions", "Variant")


def json_schema() -> dict[str, Any]:
    """Return one schema with a property for each kind of file; its `$defs` hold every model."""
    models = [(model, "validation") for model, _ in KINDS.values()]
    _, definitions = models_json_schema(
        [*models, (Training, "validation")],  # type: ignore[list-item]
        ref_template="#/$defs/{model}",
    )
    for name in _WITH_TRAINING:
        options = definitions["$defs"][name]["properties"]["training"]
        described = {key: options[key] for key in ("description", "title") if key in options}
        definitions["$defs"][name]["properties"]["training"] = {"$ref": "#/$defs/Training", **described}
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "title": "Files of config/",
        "description": "A property a kind of file. Made by `mdnmt schema`; do not edit.",
        "type": "object",
        "additionalProperties": False,
        "properties": {kind: _reference("", model) for kind, (model, _) in KINDS.items()},
        **definitions,
    }


def editor_schema(kind: str) -> dict[str, Any]:
    """Return the schema of one kind of file, as an editor wants it: `schema/<kind>.json`, beside `schema.json`."""
    model, _ = KINDS[kind]
    return {"$schema": GenerateJsonSchema.schema_dialect, **_reference("../schema.json", model)}


def files_of(config_folder: Path, kind: str) -> list[Path]:
    """Return the files of a kind."""
    return sorted(config_folder.glob(KINDS[kind][1]))


def _reference(file: str, model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"{file}#/$defs/{model.__name__}"}
