"""Where Snakemake's view and SLURM's differ, and the table."""

from __future__ import annotations

import json
from pathlib import Path

from mdnmt.extras.watch.overview import Overview, overview_text
from mdnmt.extras.watch.slurm_jobs import SlurmJob, slurm_jobs
from mdnmt.extras.watch.snakemake_log import StartState
from mdnmt.fsio import write_sealed
from mdnmt.operations.progress.run_states import RunState, run_states
from mdnmt.train.lease import RunLease

RULES = Path(__file__).resolve().parents[4] / "workflow" / "rules"
RUN = "toy-en-de/mixed/seed1-6fbf7a48"
COMMENT = "rule_train_wildcards_toy-en-de_mixed_1_6fbf7a48"


def job(number: str, state: str, comment: str = COMMENT) -> SlurmJob:
    return SlurmJob(number, state, comment)


def view(jobs: list[SlurmJob] | None, waiting: list[str], snakemake: str | None = "snakemake (process 7)") -> Overview:
    last_start = StartState(Path("log"), dict.fromkeys(waiting, "1"), 0)
    return Overview(
        [RunState(RUN, "training", 5, 10)], {one.job: one for one in jobs} if jobs else None, snakemake, last_start
    )


def test_a_job_that_trains_names_its_run() -> None:
    assert "\nrule train:" in "".join(path.read_text() for path in RULES.glob("*.smk"))
    assert job("1", "RUNNING", COMMENT).run == RUN
    assert job("1", "RUNNING", COMMENT.replace("rule_train_", "rule_decode_")).run is None


def test_lost_jobs() -> None:
    seen = view([job("1", "RUNNING"), job("2", "PREEMPTED"), job("3", "PENDING")], ["1", "2", "3", "4"])
    assert list(seen.lost) == ["2", "4"]
    assert "PREEMPTED" in seen.lost["2"] and "does not know it" in seen.lost["4"]


def test_nothing_is_lost_where_slurm_is_silent_or_no_snakemake_waits() -> None:
    assert view(None, ["1"]).lost == {}
    assert view([job("2", "RUNNING")], ["1"], snakemake=None).lost == {}


def test_orphans() -> None:
    jobs = [job("1", "RUNNING"), job("2", "PENDING"), job("3", "COMPLETED")]
    assert list(view(jobs, ["1"]).orphans) == ["2"]
    assert list(view(jobs, ["1"], snakemake=None).orphans) == ["1", "2"]


def test_two_jobs_for_one_run() -> None:
    [line] = view([job("1", "RUNNING"), job("2", "RUNNING")], ["1", "2"]).disagreements()
    assert line.startswith(f"{RUN}: 2 jobs run for it (1, 2)")


def test_tasks_of_a_job_array_are_jobs_of_their_own(tmp_path: Path) -> None:
    # All tasks carry the comment of the first, and squeue lists those that wait on one line unless it is asked not to.
    asked: list[str] = []

    def run(command: list[str]) -> str:
        asked.extend(command)
        return "".join(f"7_{task}|RUNNING|{COMMENT}|{tmp_path.resolve()}\n" for task in (1, 2))

    jobs = slurm_jobs(tmp_path, run=run)
    assert jobs is not None and list(jobs) == ["7_1", "7_2"] and "--array" in asked
    seen = view(list(jobs.values()), ["7_1", "7_2"])
    assert seen.disagreements() == [] and seen.lost == {}


def test_text() -> None:
    text = overview_text(view([job("1", "RUNNING")], ["1"]))
    assert f"{RUN}  training  5/10" in text and "1 RUNNING" in text
    assert "0 of 1 runs done; snakemake (process 7) at work, waits for 1 job; 1 job in SLURM" in text
    assert "disagreement" not in text
    assert "SLURM does not answer here" in overview_text(view(None, []))


def test_jobs_of_this_folder_alone(tmp_path: Path) -> None:
    here = f"1|RUNNING|{COMMENT}|{tmp_path.resolve()}"
    lines = [
        here,
        "2|RUNNING|rule_train|/elsewhere",
        f"3|RUNNING|(null)|{tmp_path.resolve()}",
        "noise",
    ]
    found = slurm_jobs(tmp_path, run=lambda command: "\n".join(lines))
    assert found is not None and list(found) == ["1"] and found["1"].run == RUN
    assert slurm_jobs(tmp_path, run=lambda command: None) is None


def test_run_states(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "runs" / RUN
    assert run_states(tmp_path, {RUN: 100})[0].state == "to do"
    records = [
        {"event": "start", "at_update": 0},
        {"update": 10, "split": "train", "seconds": 90.0},
        {"event": "resume", "at_update": 10},
        {"update": 20, "split": "train", "seconds": 5.0},
    ]
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in records))
    write_sealed(folder / "attempts.json", {"error": "it was killed"})
    [stopped] = run_states(tmp_path, {RUN: 100})
    assert (stopped.state, stopped.update, stopped.attempts, stopped.error) == ("stopped", 20, 2, "it was killed")
    assert stopped.seconds_left is None
    with RunLease(folder / "lease"):
        [training] = run_states(tmp_path, {RUN: 100})
    # Ten updates in five seconds since the resume; the slow first attempt counts no more.
    assert training.state == "training" and training.seconds_left == 40.0 and training.holder is not None
    assert training.error is None  # the file says how the attempt would have ended if it had been killed
    for name in ("run.json", "model.safetensors"):
        (folder / name).write_text("{}")
    assert run_states(tmp_path, {RUN: 100})[0].state == "done"
