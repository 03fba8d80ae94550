"""All rows of Table 2 of Jiang et al. (2020), in toy size, each by a job of its own on a real SLURM.

A job's programs are forks of one process (tests/preforked.py), so limits of SLURM do not reach them; those, signals and
lost nodes are tested with real processes in the other modules.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slurm.cluster_project import PROFILE, ClusterProject
from slurm.real_slurm import RealSlurm
from workflow.snakemake_project import Project

pytestmark = pytest.mark.slow

SIZES = {"model_dim": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TRAINING = {
    "max_updates": 12,
    "max_tokens": 300,
    "learning_rate": 0.01,
    "warmup_updates": 4,
    "validate_every": 6,
    "validation_bleu_sentences": 4,
    "average_checkpoints": 2,
    "log_every": 2,
    "precision": "fp32",
}
STUDY: dict[str, object] = {
    "title": "Table 2",
    "description": "Generated text and toy sizes.",
    "tables": {"jiang2020-table2": {"task": "toy-jiang-en-de"}},
    "options": [{"set": {"architecture": SIZES, "training": TRAINING}}],
    "decoding": {"beam_size": 2, "max_length_ratio": 1.0, "max_length_extra": 5, "batch_tokens": 2000},
    "comparison": {"num_resamples": 20},
}
TABLE = "results/table2/tables/jiang2020-table2.json"


def make_table(project: Project, *options: str) -> None:
    done = project.run_forked("snakemake", *options, "--", TABLE, timeout=3600)  # many minutes on a busy machine
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


def test_every_row_of_table2(slurm: RealSlurm, tmp_path: Path) -> None:
    home = Project.create(tmp_path / "home")
    home.write("config/studies/table2.yaml", STUDY)
    home.edit("config/config.yaml", "study: tiny", "study: table2")
    home.write("config/cluster.yaml", {"cores": 2})
    away = ClusterProject(home.copy(tmp_path / "away"), slurm).project
    make_table(home, "--cores", "2")
    make_table(away, *PROFILE)

    rows = json.loads(home.path(TABLE).read_text())
    assert json.loads(away.path(TABLE).read_text()) == rows
    models = sorted(path.relative_to(home.folder) for path in home.folder.glob("results/runs/*/*/*/model.safetensors"))
    assert len(models) == 28
    for model in models:
        assert away.path(str(model)).read_bytes() == home.path(str(model)).read_bytes(), model
        assert not away.path(str(model)).with_name("lease").exists()
    trained = [comment for state, comment in slurm.jobs().values() if comment.startswith("rule_train_wildcards")]
    assert len(trained) == len(models), "a row was sent twice, or not through SLURM"
