"""`mdnmt campaign`: what is made, in which order, side by side, over interruptions; slots of a GPU; packs and parts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest
import yaml
from chosen_cases import chosen_cases

from mdnmt import gpu
from mdnmt.errors import DataError
from mdnmt.exchange import campaign_results
from mdnmt.operations.campaign.jobs import Campaign, Job, Step
from mdnmt.operations.campaign.pack import CAMPAIGN, open_pack
from mdnmt.operations.campaign.scheduler import log_of, run_jobs
from mdnmt.operations.campaign.study_jobs import campaign_of
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]


def verb(arguments: list[str]) -> int:
    """Stand in for the command line: `write FILE`, `fail`, or `sleep FILE`, which a signal ends with status 75."""
    name, *rest = arguments
    print(name, *rest, flush=True)
    if name == "write":
        Path(rest[0]).write_text("made", encoding="utf-8")
    if name == "sleep":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
        Path(rest[0]).touch()
        signal.pause()
    return 3 if name == "fail" else 0


def job(folder: Path, run: str, *, name: str = "write", after: str = "") -> Job:
    made = str(folder / run)
    return Job(run=run, task="t", steps=(Step(arguments=(name, made), makes=(made,)),), after=after)


@pytest.mark.slow
def test_jobs_run_once_and_a_start_comes_before_what_starts_from_it(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "child", after="start"), job(tmp_path, "start"), job(tmp_path, "other")]
    said: list[str] = []
    done, failed = run_jobs(jobs, verb, at_once=3, device="cpu", logs=tmp_path / "logs", say=said.append)
    assert sorted(done) == ["child", "other", "start"] and not failed and len(said) == 3
    assert done.index("start") < done.index("child")
    log_of(tmp_path / "logs", jobs[2]).unlink()
    assert run_jobs(jobs, verb, at_once=1, device="cpu", logs=tmp_path / "logs")[0] == ["child", "start", "other"]
    assert not log_of(tmp_path / "logs", jobs[2]).exists(), "a run that is done is not made again"


def test_a_failure_stops_only_what_starts_from_it(tmp_path: Path) -> None:
    jobs = [job(tmp_path, "bad", name="fail"), job(tmp_path, "child", after="bad"), job(tmp_path, "good")]
    done, failed = run_jobs(jobs, verb, at_once=2, device="cpu", logs=tmp_path / "logs", say=lambda line: None)
    assert done == ["good"] and failed.keys() == {"bad", "child"}
    assert "status 3" in failed["bad"] and "starts from failed: bad" in failed["child"]
    # Without what it needs a device for, a step gets no device.
    assert log_of(tmp_path / "logs", jobs[0]).read_text().split() == ["fail", str(tmp_path / "bad")]


@pytest.mark.parametrize("how", chosen_cases(["deadline", "ctrl-c"], "ctrl-c"))
def test_all_jobs_are_asked_to_save_when_the_time_is_up_or_somebody_stops(tmp_path: Path, how: str) -> None:
    jobs = [job(tmp_path, name, name="sleep") for name in ("a", "b")]
    # Longer than the processes need to start, so that both are at work.
    waiting = threading.Thread(target=_press_ctrl_c, args=([tmp_path / "a", tmp_path / "b"],))
    if how == "ctrl-c":
        waiting.start()
    started = time.monotonic()
    seconds = 15 if how == "deadline" else None
    done, failed = run_jobs(jobs, verb, at_once=2, device="cpu", logs=tmp_path / "logs", seconds=seconds)
    assert not done and not failed and time.monotonic() - started < 50


def _press_ctrl_c(files: list[Path]) -> None:
    while not all(path.exists() for path in files):
        threading.Event().wait(0.05)
    os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
def test_a_campaign_has_every_translation_and_what_exhibits_read() -> None:
    smoke = resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")
    places = ResultPaths(smoke, Path("results"))
    runs = {run.address: run for run in smoke.makeable()}
    last = list(runs)[-1]
    found = campaign_of(smoke, places, [last], ["--on-nan", "stop"], {next(iter(runs))})
    assert found.jobs[0].run == last and {one.run for one in found.jobs} == set(list(runs)[1:])
    made = {name for one in found.jobs for step in one.steps for name in step.makes}
    for one in found.jobs:
        assert one.steps[0].arguments[0] == "train" and one.steps[0].arguments[-1] == "stop"
        for translated in translations_of(smoke, runs[one.run]):
            assert (
                f"{places.test(translated)}/hyp/sums.json" in made and f"{places.test(translated)}/scores.json" in made
            )
    kinds = {step.arguments[0] for one in found.jobs for step in one.steps}
    assert kinds == {"train", "decode", "score", "analyse"}
    assert {step.arguments[0] for step in found.before} == {"fetch-weights", "predict-labels"}
    starts = {one.after for one in found.jobs} - {""}
    assert starts and starts <= runs.keys()


def test_words_and_further_metrics_are_steps_of_their_run(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "config", tmp_path / "config")
    tables = {
        "synthetic-words2": {"task": "synthetic-2"},
        "mdnmt-systems": {"task": "synthetic-2", "metrics": ["bleu", "ter"]},
    }
    counted = {"title": "T", "description": "D.", "tasks": ["synthetic-2"], "methods": ["mixed"], "tables": tables}
    (tmp_path / "config/studies/counted.yaml").write_text(yaml.safe_dump(counted), encoding="utf-8")
    study = resolve(tmp_path / "config", "counted", ROOT / "resources" / "corpora")
    [job] = campaign_of(study, ResultPaths(study, tmp_path), [], [], []).jobs
    assert any("ter" in step.arguments for step in job.steps)
    assert "word-accuracy" in {step.arguments[0] for step in job.steps}


@pytest.mark.slow
def test_processes_share_a_card_by_slots_and_one_that_wants_it_alone_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MDNMT_LOCKS", str(tmp_path))
    code = (
        "import sys\nfrom mdnmt import gpu\ngpu._foreign_processes = dict\n"
        "cards = [gpu.Card('GPU-a', 'GPU 0'), gpu.Card('GPU-b', 'GPU 1')]\ngpu.visible_cards = lambda: cards\n"
        "from mdnmt.errors import Interrupted\n"
        "try:\n    print(gpu.acquire(limit_minutes=0)[0].token, flush=True)\n    sys.stdin.read()\n"
        "except Interrupted:\n    print('none', flush=True)\n"
    )
    started: list[subprocess.Popen[str]] = []

    def take(slots: int) -> str:
        environment = {**os.environ, gpu.SLOTS: str(slots)}
        environment.pop("MDNMT_GPU_HELD", None)
        process = subprocess.Popen(
            [sys.executable, "-c", code], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().strip()

    try:
        # The card with more free slots is taken; both have room for two.
        assert sorted(take(2) for _ in range(4)) == ["GPU-a", "GPU-a", "GPU-b", "GPU-b"]
        assert take(2) == "none" and take(1) == "none"
        assert take(3) in {"GPU-a", "GPU-b"}
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert take(1) == "GPU-a"
    started[-1].kill()
    started[-1].communicate()


def test_a_pack_with_a_member_that_belongs_elsewhere_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("results/tiny/report.html", "config/config.yaml", "../x"):
        with zipfile.ZipFile("pack.zip", "w") as archive:
            archive.writestr(CAMPAIGN, Campaign(study="s", jobs=()).model_dump_json())
            archive.writestr(name, "text")
        with pytest.raises(DataError, match="refused"):
            open_pack(Path("pack.zip"))
    with zipfile.ZipFile("pack.zip", "w") as archive:
        archive.writestr(CAMPAIGN, '{"study": "s", "runs": []}')
    with pytest.raises(DataError, match="another version"):
        open_pack(Path("pack.zip"))


def test_parts_keep_whole_runs_below_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign_results, "PART_BYTES_MAX", 250_000)
    runs = [f"t/m/seed{number}-0123456{number}" for number in range(1, 9)]
    for number, run in enumerate(runs):
        folder = tmp_path / "runs" / run
        folder.mkdir(parents=True)
        (folder / "run.json").write_bytes(os.urandom(400_000 if number == 2 else 110_000))  # does not compress
        (folder / "model.safetensors").touch()
    monkeypatch.setattr(campaign_results, "PARTS_MAX", 3)
    written, left_out = campaign_results.write_parts(tmp_path, runs, tmp_path / "out", "x")
    assert [path.name for path in written] == ["x-1.zip", "x-2.zip", "x-3.zip"] and left_out == [runs[2], runs[7]]
    assert all(path.stat().st_size <= 250_000 for path in written)
    names = [name for path in written for name in zipfile.ZipFile(path).namelist()]
    assert sorted(names) == sorted(f"runs/{run}/run.json" for run in runs if run not in left_out)
