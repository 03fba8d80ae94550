"""CTranslate2 computes what we do with an exported model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from foreign_scores import LONGEST, Ours

from mdnmt.extras.export.export_run import export_run

ctranslate2 = pytest.importorskip("ctranslate2", reason="CTranslate2 is an optional package")

FORMS: list[tuple[str, dict[str, Any]]] = [
    ("transformer", {"norm": "pre", "share_embeddings": "all"}),
    ("transformer", {"norm": "pre", "share_embeddings": "decoder", "size": "enlarged"}),
    ("multitask", {"norm": "post"}),
    ("transformer", {"norm": "post", "share_embeddings": "none"}),
    ("domain_tag", {"tag_position": "first", "share_embeddings": "all"}),
    ("domain_tag", {"tag_position": "last"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("builder", "options"), [*FORMS[:3], *(pytest.param(*form, marks=pytest.mark.long) for form in FORMS[3:])]
)
def test_forced_scores_and_translations_are_ours(
    builder: str,
    options: dict[str, Any],
    finished: Callable[..., Path],
    configuration: Path,
    toy_task: Path,
    tmp_path: Path,
) -> None:
    run, out = finished(builder, **options), tmp_path / "out"
    export_run(run, "ctranslate2", out, configuration)
    ours = Ours.of(run, toy_task, options.get("tag_position", "first"))
    theirs = ctranslate2.Translator(str(out), compute_type="float32", inter_threads=1, intra_threads=1)
    scored = theirs.score_batch(ours.sources, ours.references)
    found = theirs.translate_batch(ours.sources, beam_size=3, max_decoding_length=LONGEST)
    ours.check([sum(one.log_probs) for one in scored], [one.hypotheses[0] for one in found])


def test_an_export_depends_on_the_run_alone(finished: Callable[..., Path], configuration: Path, tmp_path: Path) -> None:
    run = finished("transformer", norm="pre", share_embeddings="all")
    for name in "ab":
        export_run(run, "ctranslate2", tmp_path / name, configuration)
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / name).glob("*.*")} for name in "ab")
    assert first == second
