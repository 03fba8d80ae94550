"""Save a figure with what made it inside the file: the same input gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from mdnmt import __version__, fsio, provenance
from mdnmt.fingerprint import canonical_json, sha256_file
from mdnmt.paper import curves, gates, heatmap, histograms, sweep, tsne
from mdnmt.paper.specs import AnyFigure, CurvesSpec, GateUseSpec, HeatmapSpec, HistogramsSpec, SweepSpec, TsneSpec
from mdnmt.paper.style import DPI, style


def inputs(spec: AnyFigure) -> list[Path]:
    """Return the files that the figure is drawn from."""
    if isinstance(spec, HeatmapSpec):
        found = [(spec.run.analysis, ("meta.json", "sentences.json"))]
    elif isinstance(spec, HistogramsSpec):
        found = [(spec.run.analysis, ("meta.json", "proportions.npz"))]
    elif isinstance(spec, TsneSpec):
        found = [(system.analysis, ("meta.json", "vectors.npz")) for system in spec.systems]
    elif isinstance(spec, CurvesSpec):
        return [run.curves for system in spec.systems for run in system.runs]
    else:
        return [run.scores for system in spec.systems for run in system.runs]
    return [directory / name for directory, names in found if directory is not None for name in names]


def record(spec: AnyFigure) -> dict[str, Any]:
    """Return the figure's provenance: code, spec and inputs by their hashes; no time, no machine, no absolute path."""
    commit, dirty = provenance.git_state()
    # A folder's name and the file's: enough to find it, and the same wherever the project stands.
    files = {"/".join(path.parts[-3:]).lstrip("/"): sha256_file(path) for path in inputs(spec)}
    versions = provenance.package_versions()
    return {
        "mdnmt": __version__,
        "commit": commit,
        "dirty": dirty,
        "spec_sha256": hashlib.sha256(canonical_json(spec.model_dump(mode="json")).encode()).hexdigest(),
        "inputs_sha256": files,
        "packages": {name: versions[name] for name in ("matplotlib", "numpy", "scikit-learn") if name in versions},
    }


def draw(spec: AnyFigure) -> tuple[Figure, str]:
    """Return the figure of `spec` and what it shows in words; call it inside `style()`."""
    if isinstance(spec, HeatmapSpec):
        return heatmap.draw(spec)
    if isinstance(spec, HistogramsSpec):
        return histograms.draw(spec)
    if isinstance(spec, TsneSpec):
        return tsne.draw(spec)
    if isinstance(spec, SweepSpec):
        return sweep.draw(spec)
    if isinstance(spec, GateUseSpec):
        return gates.draw(spec)
    return curves.draw(spec)


def save(spec: AnyFigure, png: Path | None, pdf: Path | None) -> None:
    """Draw `spec` and write it as PNG and PDF, provenance in their metadata.

    PNG text chunks: Title, Description (the figure in words), Software, Provenance (JSON).
    PDF: Title, Subject (the figure in words), Creator, Keywords (JSON); no date.
    """
    made = json.dumps(record(spec), sort_keys=True)
    software = f"mdnmt {__version__}"
    with style():
        figure, words = draw(spec)
        if png is not None:
            with fsio.atomic_path(png) as temporary:
                metadata = {"Title": spec.full_title, "Description": words, "Software": software, "Provenance": made}
                figure.savefig(temporary, format="png", dpi=DPI, metadata=metadata)
        if pdf is not None:
            with fsio.atomic_path(pdf) as temporary:
                details = {"Title": spec.full_title, "Subject": words, "Creator": software, "Keywords": made}
                figure.savefig(temporary, format="pdf", metadata={**details, "CreationDate": None, "ModDate": None})
