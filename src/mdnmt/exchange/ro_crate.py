"""The metadata of a certificate: a Workflow Run RO-Crate, profile 0.5, on RO-Crate 1.1."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.errors import ConfigError
from mdnmt.escape import one_line
from mdnmt.exchange.study_facts import StudyFacts

METADATA = "ro-crate-metadata.json"
WORKFLOW, README = "Snakefile", "README.md"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
MIT = "https://spdx.org/licenses/MIT"
MEDIA_TYPES = {
    ".csv": "text/csv", ".json": "application/json", ".md": "text/markdown", ".sh": "application/x-sh",
    ".txt": "text/plain", ".yaml": "application/yaml", ".yml": "application/yaml", ".xz": "application/x-xz",
}  # fmt: skip


def require_rocrate() -> None:
    """Raise an error if the optional package rocrate is not installed.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import rocrate  # noqa: F401
    except ModuleNotFoundError:
        raise ConfigError(
            "needs the package rocrate, which is not installed; "
            "run `make setup EXTRAS=certify` (without a checkout: pip install 'mdnmt[certify]')"
        ) from None


def write_metadata(folder: Path, facts: StudyFacts, made: dict[str, Any], files: dict[str, str]) -> None:
    """Write ro-crate-metadata.json.

    Args:
        folder: folder of the certificate.
        facts: facts about the study.
        made: provenance of the certificate (`mdnmt.provenance.collect`).
        files: name -> description of each file and folder of the certificate; names of folders end with a slash.
    """
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    root = crate.root_dataset
    crate.name = f"Evidence of the study {facts.name}: {one_line(facts.title)}"
    crate.description = one_line(facts.description)
    crate.datePublished = datetime.fromisoformat(made["utc"]).astimezone(UTC)

    def context(identifier: str, **properties: object) -> Any:
        return crate.add(ContextEntity(crate, identifier, properties=properties))

    code_licence = {
        "@type": "CreativeWork",
        "name": "MIT License",
        "description": "Licence of the code and the numbers.",
    }
    context(MIT, **code_licence, url=MIT)
    root["license"] = {"@id": MIT}
    root["conformsTo"] = [
        context(address, **{"@type": "CreativeWork"}, name=name, version=version)
        for address, (name, version) in PROFILES.items()
    ]
    given = [
        context(
            f"#corpus-{name}", **{"@type": "CreativeWork"}, name=one_line(corpus["title"]),
            description=f"Licence: {one_line(corpus['licence']) or 'not stated'}",
        )
        for name, corpus in facts.corpora.items()
    ]  # fmt: skip
    given += [
        context(
            f"#external-{name}", **{"@type": "CreativeWork"}, name=f"Translations by {one_line(system['label'])}",
            description=one_line(system["provenance"]),
        )
        for name, system in facts.external.items()
    ]  # fmt: skip
    parts = _add_files(crate, folder, files)
    parts[README]["about"] = root
    version = metadata.version("snakemake")
    about = {"name": "mdnmt", "description": files[WORKFLOW], "encodingFormat": "text/plain"}
    about["version"] = made["commit"] or made["mdnmt"]
    workflow = crate.add_workflow(
        folder / WORKFLOW, dest_path=WORKFLOW, main=True, lang="snakemake", lang_version=version, properties=about
    )
    workflow["license"] = {"@id": MIT}
    used = [part for name, part in parts.items() if name.startswith(("config/", "environment/"))]
    action = crate.add_action(
        workflow,
        identifier="#run-of-the-study",
        object=[*given, *used],
        result=[parts[name] for name in ("bundle/", "numbers.csv", "verdicts.csv")],
        properties={
            "name": f"Run of the study {facts.name}",
            "description": f"{len(facts.runs)} runs were trained, translated, scored and compared with the papers.",
            "actionStatus": "http://schema.org/CompletedActionStatus",
            **({"endTime": facts.provenance("utc")[-1]} if facts.provenance("utc") else {}),
        },
    )
    root["mentions"] = action
    fsio.write_json(folder / METADATA, crate.metadata.generate())


def _add_files(crate: Any, folder: Path, files: dict[str, str]) -> dict[str, Any]:
    """Add all files and folders except the workflow; return name -> entity."""
    parts = {}
    for name, description in files.items():
        properties = {"name": name, "description": description}
        if name.endswith("/"):
            parts[name] = crate.add_dataset(dest_path=name, properties=properties)
        elif name != WORKFLOW:
            properties["encodingFormat"] = MEDIA_TYPES.get(Path(name).suffix, "text/plain")
            parts[name] = crate.add_file(folder / name, dest_path=name, properties=properties)
    return parts
