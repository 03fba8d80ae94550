"""Save a figure with its provenance inside the file; the same input gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from mdnmt import __version__, fsio, provenance
from mdnmt.exhibits import figure_numbers
from mdnmt.exhibits.figure_style import DPI, style
from mdnmt.exhibits.registry import FigureSpec, figure_code
from mdnmt.fingerprint import canonical_json, sha256_file


def record(spec: FigureSpec) -> dict[str, Any]:
    """Return the figure's provenance: code, spec and inputs by their hashes; no time, no machine, no absolute path."""
    # The last three parts of a path are enough to find the file, and the same wherever the project is.
    files = {"/".join(path.parts[-3:]).lstrip("/"): sha256_file(path) for path in spec.inputs()}
    versions = provenance.package_versions()
    return {
        **provenance.made_by(figure_code(spec.kind)),
        "spec_sha256": hashlib.sha256(canonical_json(spec.model_dump(mode="json")).encode()).hexdigest(),
        "inputs_sha256": files,
        "packages": {name: versions[name] for name in ("matplotlib", "numpy", "scikit-learn") if name in versions},
    }


def save(spec: FigureSpec, png: Path | None, pdf: Path | None, numbers: Path | None = None) -> None:
    """Draw `spec` and write it as PNG and PDF, provenance in their metadata, and its measures as JSON to `numbers`.

    PNG text chunks: Title, Description (the figure in words), Software, Provenance (JSON).
    PDF: Title, Subject (the figure in words), Creator, Keywords (JSON); no date.
    """
    fsio.require_options(spec.made_with)
    if png is not None or pdf is not None:
        _save_pictures(spec, png, pdf)
    if numbers is not None:
        found = spec.measures()
        made, pictures = provenance.made_by(figure_code(spec.kind)), [path for path in (png, pdf) if path is not None]
        made_from = [*pictures, *fsio.sealed(spec.inputs())]
        options = spec.model_dump(mode="json")
        figure_numbers.write(numbers, spec.kind, spec.full_title, found, made, made_from, options)


def _save_pictures(spec: FigureSpec, png: Path | None, pdf: Path | None) -> None:
    made = json.dumps(record(spec), sort_keys=True)
    software = f"mdnmt {__version__}"
    with style():
        figure, words = spec.draw()
        if png is not None:
            with fsio.atomic_path(png) as temporary:
                metadata = {"Title": spec.full_title, "Description": words, "Software": software, "Provenance": made}
                figure.savefig(temporary, format="png", dpi=DPI, metadata=metadata)
        if pdf is not None:
            with fsio.atomic_path(pdf) as temporary:
                details = {"Title": spec.full_title, "Subject": words, "Creator": software, "Keywords": made}
                figure.savefig(temporary, format="pdf", metadata={**details, "CreationDate": None, "ModDate": None})
