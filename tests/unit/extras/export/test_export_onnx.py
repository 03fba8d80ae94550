"""onnxruntime computes what we do with an exported model of each family."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from foreign_scores import LONGEST, Ours

from mdnmt.errors import ConfigError
from mdnmt.extras.export.export_run import export_run

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package, reason=f"{package} is an optional package")

SMALL = {"encoder_layers": 1, "decoder_layers": 1}
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("waldm", {"mixed_sides": "both"}),
    ("dmoe", {"gate_input": "mix"}),
    ("domain_aware_attention", {"placement": "all", "num_clusters": 3}),
]


def script_of(folder: Path) -> ModuleType:
    """Return the exported translate.py as a module."""
    spec = importlib.util.spec_from_file_location("exported_translate", folder / "translate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(("builder", "options"), [*FORMS[:2], pytest.param(*FORMS[2], marks=pytest.mark.long)])
def test_logits_and_translations_are_ours(
    builder: str,
    options: dict[str, Any],
    finished: Callable[..., Path],
    configuration: Path,
    toy_task: Path,
    tmp_path: Path,
) -> None:
    run, out = finished(builder, **SMALL, **options), tmp_path / "out"
    export_run(run, "onnx", out, configuration)
    ours, theirs = Ours.of(run, toy_task), script_of(out).Translator(threads=1)
    for ids, source, reference in zip(ours.ids, ours.sources, ours.references, strict=True):
        np.testing.assert_allclose(
            theirs.logits(source, reference, ours.domain), _logits(ours, ids, reference), atol=1e-4
        )
    forced = [theirs.score(*pair, ours.domain) for pair in zip(ours.sources, ours.references, strict=True)]
    found = [theirs.translate(one, ours.domain, 3, LONGEST)[0] for one in ours.sources]
    ours.check(forced, [pieces for pieces, _ in found])
    assert [score for _, score in found] == pytest.approx([best.score for best in ours.translations], abs=1e-4)


def _logits(ours: Ours, source: Any, reference: list[str]) -> Any:
    vocab, translator = ours.translator.target_vocab, ours.translator
    words = [vocab.bos, *vocab.encode(reference)]
    label = torch.tensor([translator.label(ours.domain)]) if ours.domain is not None else None
    with torch.inference_mode():
        state = translator.model.start(
            torch.tensor(source[None], dtype=torch.long), torch.ones(1, len(source), dtype=torch.bool), label
        )
        return torch.cat([translator.model.step(torch.tensor([word]), state) for word in words]).numpy()


@pytest.mark.slow
def test_latent_depth_is_refused(finished: Callable[..., Path], configuration: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="skips blocks depending on the domain"):
        export_run(finished("latent_depth"), "onnx", tmp_path / "out", configuration)
    assert not (tmp_path / "out").exists()
