"""From a hub to the table: weights are downloaded, trained in full on all domains and with LoRA on each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_server import COMMIT, serving
from workflow.snakemake_project import WORDS, Project

from mdnmt.checkpoints.weights import load_model
from mdnmt.exhibits.grid import read_grid
from mdnmt.extras.pretrained.toy import make_toy
from mdnmt.fsio import read_json

pytestmark = pytest.mark.slow

METHODS = ["nllb200-zero-shot", "nllb200-finetuned", "nllb200-lora-domain"]
TRAINING = {"max_updates": 3, "max_tokens": 300, "accumulate_batches": 1, "validate_every": 3, "learning_rate": 0.01}


def test_an_nllb_model_from_the_hub_to_the_table(tmp_path: Path) -> None:
    project = Project.create(tmp_path / "project")
    make_toy("nllb", tmp_path / "model")
    study = "config/studies/tiny.yaml"
    architecture = {"weights": "tiny/model", "revision": COMMIT, "lora_rank": 2}
    tuned = {"match": {"family": "nllb200"}, "set": {"architecture": architecture, "training": TRAINING}}
    rows = [{"group": "Pretrained", "method": method} for method in METHODS]
    tables = {"mdnmt-systems": {"task": "tiny", "rows": rows}}
    project.update(study, methods=["mixed", *METHODS], options__1=tuned, figures={}, tables=tables)
    clean = project.environment
    with serving(tmp_path / "model") as hub:
        project.environment = clean | {"HF_ENDPOINT": hub.host, "HF_HOME": str(tmp_path / "hf"), "no_proxy": "*"}
        project.snakemake("--cores", "1", "--quiet", "all", "--", *project.plan().outputs["fetch_weights"])
        assert [name for name, _ in hub.sent].count("model.safetensors") == 1
    project.environment = clean  # from here on nothing is fetched
    project.snakemake("--cores", "2", "--quiet", "all")

    grid = read_grid(project.path("results/tiny/tables/mdnmt-systems.json"))
    shown = {row.method: [cell.mean is not None for cell in row.cells] for row in grid.rows}
    of_domains = [f"{METHODS[2]}-{domain}" for domain in WORDS]
    assert shown.keys() >= {*METHODS[:2], *of_domains} and all(map(all, shown.values()))
    sizes = {}
    for method in [*METHODS[:2], *of_domains]:
        [run] = project.path(f"results/runs/tiny/{method}").iterdir()
        record, weights = read_json(run / "run.json"), load_model(run / "model.safetensors")
        assert record["spec"]["architecture"]["revision"] == COMMIT and record["updates"] == 3 * ("zero" not in method)
        sizes[method] = sum(one.numel() for one in weights.values())
        assert next(run.glob("test-*/scores.json")).is_file()
    zero, full, law, economy = sizes.values()
    assert zero == 0 and 0 < 5 * law < full and economy == law
    lock = project.path("config/corpora.own.lock.yaml").read_text()
    assert "tiny-model-01234567:" in lock and "model.safetensors" in lock
    # Nothing is left to do, and other weights would be another run.
    assert not project.plan().outputs
    project.update(study, options__1__set__architecture__revision="f" * 40)
    assert {"fetch_weights", "train"} <= project.plan().rules
