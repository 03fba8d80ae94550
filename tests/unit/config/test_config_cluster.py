"""config/cluster.yaml: checked, and turned into what jobs ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from mdnmt.config.cluster import ClusterConfig, load_cluster
from mdnmt.errors import ConfigError


def test_no_file_and_the_shipped_one_are_the_defaults(tmp_path: Path) -> None:
    assert load_cluster(tmp_path) == ClusterConfig()
    assert load_cluster(Path(__file__).parents[3] / "config") == ClusterConfig()


def test_a_misspelt_key(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("acount: nlp\n")
    with pytest.raises(ConfigError, match=r"cluster\.yaml: unknown key 'acount' \(did you mean 'account'\?\)"):
        load_cluster(tmp_path)


@pytest.mark.parametrize(
    "wrong",
    [
        {"account": "nlp; rm -rf ."},
        {"partitions": {"gpu": "$(id)"}},
        {"modules": ["cuda/12.4 && id"]},
        {"sbatch_options": "--wrap='id'"},
        {"sbatch_options": "--x\n--y"},
        {"gpu_model": "a100 --x"},
        {"cores": 0},
        {"sizes": {}},
    ],
)
def test_what_a_shell_would_act_on_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        ClusterConfig.model_validate(wrong)


def test_sizes() -> None:
    cluster = ClusterConfig()
    assert cluster.size_of(5000) == cluster.sizes["tiny"] and cluster.size_of(5000).gpus == 0
    assert cluster.size_of(60_000_000) == cluster.sizes["base"]
    assert cluster.size_of(10**12) == cluster.sizes["huge"]


def test_requests() -> None:
    assert ClusterConfig().request(0) == {} and ClusterConfig().request(1) == {"gpu": 1}
    cluster = ClusterConfig.model_validate(
        {"account": "nlp", "partitions": {"cpu": "c", "gpu": "g"}, "gpu_model": "a100", "longest_minutes": 60}
    )
    assert cluster.request(0) == {"slurm_account": "nlp", "slurm_partition": "c"}
    assert cluster.request(2) == {"slurm_account": "nlp", "slurm_partition": "g", "gpu": 2, "gpu_model": "a100"}
    by_gres = cluster.model_copy(update={"ask_for_gpus_by": "gres"})
    assert by_gres.request(2) == {"slurm_account": "nlp", "slurm_partition": "g", "gres": "gpu:a100:2"}
    assert (cluster.minutes(30), cluster.minutes(90)) == (30, 60)
