"""What jobs ask for, by the size of a run's model."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from mdnmt.config.cluster import ClusterConfig
from mdnmt.operations.plan.cluster_resources import Jobs, look_only_when_a_job_ends, request_text, shell_prefix
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study

ROOT = Path(__file__).resolve().parents[3]
CLUSTER = ClusterConfig.model_validate(
    {
        "account": "nlp",
        "partitions": {"gpu": "g"},
        "sizes": {
            "tiny": {"up_to_parameters": 10**5, "mem_mb": 1, "train_minutes": 2, "translate_minutes": 3, "gpus": 0},
            "rest": {"up_to_parameters": 10**9, "mem_mb": 4, "train_minutes": 500, "translate_minutes": 6},
        },
        "longest_minutes": 100,
    }
)


@pytest.fixture(scope="module")
def smoke() -> Study:
    return resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")


def asked(jobs: Jobs, run: Run) -> tuple[int, int, int, int]:
    """Return memory, time to train, time to translate, and GPUs of a run's jobs."""
    resources = (jobs.memory, jobs.time_to_train, jobs.time_to_translate, jobs.gpu)
    memory, train, translate, gpu = (resource(lambda wildcards: run)(None) for resource in resources)
    return memory, train, translate, gpu


def sbatch(jobs: Jobs, run: Run, *options: str) -> dict[str, int | str]:
    found = jobs.sbatch(lambda wildcards: run, *options)
    return {name: of(SimpleNamespace()) for name, of in found.items()}


def test_a_small_model_and_a_large_one(smoke: Study) -> None:
    places, run = ResultPaths(smoke, Path("results")), smoke.makeable()[0]
    small = Jobs(CLUSTER, smoke, places)
    assert asked(small, run) == (1, 2, 3, 0)
    assert small.memory(lambda wildcards: run, least=6000)(None) == 6000
    # No GPU, so the partition for GPU jobs is empty.
    assert sbatch(small, run, "--open-mode=append") == {
        "slurm_account": "nlp",
        "slurm_extra": "--open-mode=append",
        "slurm_partition": "",
    }
    sizes = {"rest": CLUSTER.sizes["rest"]}
    large = Jobs(CLUSTER.model_copy(update={"sizes": sizes}), smoke, places)
    assert asked(large, run) == (4, 100, 6, 1)  # 100: the longest that this cluster allows
    assert sbatch(large, run) == {"slurm_account": "nlp", "slurm_partition": "g"}


def test_gpus_by_gres(smoke: Study) -> None:
    places, run = ResultPaths(smoke, Path("results")), smoke.makeable()[0]
    cluster = CLUSTER.model_copy(update={"sizes": {"rest": CLUSTER.sizes["rest"]}, "ask_for_gpus_by": "gres"})
    jobs = Jobs(cluster, smoke, places)
    assert asked(jobs, run)[3] == 0 and sbatch(jobs, run)["gres"] == "gpu:1" and jobs.device == "cuda"
    jobs = Jobs(cluster, smoke, places, "cpu")
    assert sbatch(jobs, run)["gres"] == ""


def test_what_a_job_asks_for_in_words() -> None:
    request = {"mem_mb": 16000, "runtime": 720, "gpu": 1, "gpu_model": "a100", "slurm_partition": "gpu"}
    assert request_text(request) == "1 GPU (a100), 16000 MB, 720 min, partition gpu"
    request = {"mem_mb": 4000, "runtime": 60, "gpu": 0, "gpu_model": "", "gres": "", "slurm_partition": ""}
    assert request_text(request) == "no GPU, 4000 MB, 60 min, partition by default"
    assert request_text({**request, "gres": "gpu:a100:1"}).startswith("gpu:a100:1, 4000 MB")


def test_no_gpu_where_runs_compute_on_cpus(smoke: Study) -> None:
    sizes, run = {"rest": CLUSTER.sizes["rest"]}, smoke.makeable()[0]
    jobs = Jobs(CLUSTER.model_copy(update={"sizes": sizes}), smoke, ResultPaths(smoke, Path("results")), "cpu")
    assert asked(jobs, run)[3] == 0 and sbatch(jobs, run)["slurm_partition"] == ""
    assert jobs.device == "cpu"


def test_the_longest_training_starts_first_and_after_every_other_job() -> None:
    demo = resolve(ROOT / "config", "demo", ROOT / "resources" / "corpora")
    jobs = Jobs(CLUSTER, demo, ResultPaths(demo, Path("results")))
    priority = {run.directory: jobs.training_priority(run) for run in demo.makeable() if run.task == "demo-en-fr"}
    longest_first = sorted(priority, key=priority.__getitem__, reverse=True)
    assert longest_first[:3] == ["waldm-edc", "waldm-encoder", "mixed"]
    assert {name.split("-")[0] for name in longest_first[3:]} == {"single"}
    assert all(
        -1 < value < 0 for value in priority.values()
    )  # other rules have priority 0; rules that wait have -5, -10


def test_jobs_without_a_run(smoke: Study) -> None:
    places = ResultPaths(smoke, Path("results"))
    assert Jobs(ClusterConfig(), smoke, places).sbatch() == {}
    jobs = Jobs(CLUSTER, smoke, places)
    assert jobs.sbatch() == {"slurm_account": "nlp"}
    assert jobs.minutes(7) == 7 and jobs.minutes(700) == 100


def test_one_core_is_enough_for_a_little_generated_text_alone(smoke: Study) -> None:
    assert all(task.is_small for task in smoke.tasks.values())
    for name in ("synthetic", "demo"):  # more of it, and text that has to be fetched
        larger = resolve(ROOT / "config", name, ROOT / "resources" / "corpora")
        assert not any(task.is_small for task in larger.tasks.values())


def test_a_limit_on_starts_is_kept_where_somebody_asked_for_it() -> None:
    for limiter, kept in (((100, 1), False), ((5, 1), True), ((100, 60), True)):
        max_jobs, timespan = limiter
        scheduler = SimpleNamespace(job_rate_limiter=SimpleNamespace(max_jobs=max_jobs, timespan=timespan))
        look_only_when_a_job_ends(SimpleNamespace(scheduler=scheduler))
        assert (scheduler.job_rate_limiter is not None) == kept


def test_shell() -> None:
    cluster = ClusterConfig(modules=("cuda/12.4", "gcc"))
    at_home, in_job = shell_prefix(cluster, False), shell_prefix(cluster, True)
    assert at_home.startswith("set -o pipefail; export PATH=") and "module" not in at_home
    assert subprocess.run(["bash", "-c", f"{at_home} false | cat"], check=False).returncode == 1
    assert in_job == f"trap : TERM; module load cuda/12.4; module load gcc; {at_home}"


def test_braces_in_the_environments_folder_survive_snakemakes_formatting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/a {b} c/.venv/bin/python")
    assert shell_prefix(CLUSTER, in_job=False).format().endswith("export PATH='/a {b} c/.venv/bin':$PATH; ")
