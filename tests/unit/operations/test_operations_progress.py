"""The display of `mdnmt run`: stages, failures with their causes, the logger plugin's events."""

from __future__ import annotations

import io
import json
import logging
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from mdnmt.cli import main
from mdnmt.operations.progress import failures
from mdnmt.operations.progress.display import Display
from mdnmt.operations.progress.failures import explain, last_lines, likely_cause
from mdnmt.operations.progress.stages import STAGES, Progress
from snakemake_logger_plugin_mdnmt import LogHandler

ROOT = Path(__file__).resolve().parents[3]
RUN = {"task": "demo", "method": "mixed", "seed": "1", "fp": "01234567"}


def test_every_rule_of_the_workflow_belongs_to_one_stage() -> None:
    files = (ROOT / "workflow" / "rules").glob("*.smk")
    found = {name for path in files for name in re.findall(r"^ *(?:rule|checkpoint) (\w+):", path.read_text(), re.M)}
    assert found == set().union(*STAGES.values())
    assert sum(map(len, STAGES.values())) == len(found)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "mdnmt fetch: texts/news/train.de: 17 lines against 18 in texts/news/train.fr; x",
            "find the line that was lost",
        ),
        (
            "mdnmt task: domain 'news': 30 valid sentences were requested, 12 are available from 99 cleaned ones",
            "lower `valid`",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "smaller `max_tokens`"),
        ("mdnmt train: the generation loss became nan by update 312", "a lower `learning_rate`"),
        ("mdnmt train: /big/ckpt: cannot save the checkpoint: No space left on device", "make room"),
        ("everything is well", None),
        ("x: y", None),
    ],
)
def test_the_page_explains_a_line(line: str, expected: str | None) -> None:
    advice = likely_cause(["an older line", line])
    assert advice is None if expected is None else advice is not None and advice.startswith(expected)


def test_an_explanation_has_the_end_of_the_log_its_cause_and_the_next_command(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text(
        "".join(f"line {number}\n\n" for number in range(9)) + "x.fr:701: the byte 0xff is not UTF-8; mend\n"
    )
    assert last_lines(log, 2) == ["line 8", "x.fr:701: the byte 0xff is not UTF-8; mend"]
    lines = explain("Training", [str(log)], "mdnmt run mine")
    assert lines[:2] == ["FAILED: Training", f"  log: {log}"]
    assert "`mdnmt doctor`" in lines[-2] and lines[-1] == "  to continue: mdnmt run mine"
    assert explain("Training", [str(tmp_path / "none.log")], "c")[1].endswith("none.log")


@pytest.mark.parametrize(
    ("command", "accepted"),
    [
        ("mdnmt run mine", "mdnmt run mine --config accept_code_change=true"),
        ("snakemake --config study=mine -c 2", "snakemake --config accept_code_change=true study=mine -c 2"),
    ],
)
def test_a_refused_command_is_not_advised_again(command: str, accepted: str, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("mdnmt train: run: was trained by other training code than this: ... --accept-code-change (...)\n")
    assert explain("Training", [str(log)], command)[-1] == f"  to continue with this code: {accepted}"


def test_a_job_that_is_repeated_with_success_has_not_failed() -> None:
    progress = Progress()
    progress.plan({"train": 2, "all": 1, "total": 3})
    progress.start(1, "train", None, RUN, [])
    progress.fail(1)
    assert (progress.stages["trainings"].failed, list(progress.failed)) == (1, [1])
    progress.start(1, "train", None, RUN, [])
    progress.finish(1)
    assert (progress.stages["trainings"].failed, progress.failed) == (0, {})
    assert progress.summary() == "trainings 1/2"


def handler(*, terminal: bool, dryrun: bool = False, monkeypatch: pytest.MonkeyPatch) -> tuple[LogHandler, io.StringIO]:
    monkeypatch.setenv("MDNMT_COMMAND", "mdnmt run mine")
    monkeypatch.setattr(failures, "PAGE", ROOT / "docs" / "troubleshooting.md")
    settings = SimpleNamespace(stdout=False, nocolor=True, dryrun=dryrun)
    made = LogHandler(settings, None)  # type: ignore[arg-type]
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=100, highlight=False)
    made.display = Display(console, made.display.command, Path())
    return made, out


def send(to: LogHandler, event: str | None, message: str = "", level: int = logging.INFO, **fields: Any) -> None:
    record = logging.LogRecord("snakemake", level, "", 0, message, None, None)
    record.__dict__.update(fields, **({"event": event} if event else {}))
    to.handle(record)


def test_snakemake_finds_the_plugin() -> None:
    assert LoggerPluginRegistry().get_plugin("mdnmt").log_handler is LogHandler  # type: ignore[attr-defined]


def test_events_become_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plugin, out = handler(terminal=False, monkeypatch=monkeypatch)
    log = tmp_path / "a.log"
    log.write_text("mdnmt train: the generation loss became nan by update 3\n")
    send(plugin, "run_info", stats={"train": 2, "total": 2})
    send(plugin, None, "Select jobs to execute...")
    send(plugin, None, "task x is left out", logging.WARNING)
    for number in (1, 2):
        send(plugin, "job_info", jobid=number, rule_name="train", rule_msg=f"Run {number}", wildcards=RUN, log=[log])
    send(plugin, "job_finished", job_id=1)
    send(plugin, "job_error", level=logging.ERROR, jobid=2, rule_name="train", log=[str(log)])
    lines = out.getvalue().splitlines()
    assert lines[:5] == [
        "to do: trainings 0/2",
        "task x is left out",
        "start: Run 1",
        "start: Run 2",
        "done: Run 1 (trainings 1/2)",
    ]
    assert lines[5] == "FAILED: Run 2" and lines[-1] == "  to continue: mdnmt run mine"
    assert "a lower `learning_rate`" in lines[-2]


@pytest.mark.parametrize(
    "line",
    [
        "mdnmt decode: stopped by Ctrl-C",
        "mdnmt train: SIGINT: saved at update 5 of 9; the same command goes on from there",
        "mdnmt train: time is up: saved at update 5 of 9; the same command goes on from there",
    ],
)
def test_a_job_that_was_stopped_has_not_failed(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    log.write_text(f"update 4\n{line}\n")
    monkeypatch.setenv("MDNMT_COMMAND", "mdnmt run mine")
    monkeypatch.setattr(failures, "PAGE", ROOT / "docs" / "troubleshooting.md")
    plugin, out = handler(terminal=False, monkeypatch=monkeypatch)
    send(plugin, "run_info", stats={"train": 1})
    send(plugin, "job_info", jobid=1, rule_name="train", rule_msg="Run 1", wildcards=RUN, log=[str(log)])
    send(plugin, "job_error", jobid=1, rule_name="train", log=[str(log)])
    plugin.close()
    shown = out.getvalue()
    assert f"stopped: Run 1\n    {line}\n  to continue: mdnmt run mine" in shown and "FAILED" not in shown
    assert plugin.display.progress.stages["trainings"].failed == 0


def test_the_terminal_shows_runs_with_update_and_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    metrics = tmp_path / "results/runs/demo/mixed/seed1-01234567/metrics.jsonl"
    metrics.parent.mkdir(parents=True)
    records = [
        {"event": "start", "update": 0, "max_updates": 2000},
        {"update": 1200, "split": "train", "domain": "all", "loss": 3.25, "seconds": 60.0},
    ]
    metrics.write_text("".join(json.dumps(record) + "\n" for record in records))
    plugin, out = handler(terminal=True, monkeypatch=monkeypatch)
    send(plugin, "run_info", stats={"train": 2, "table": 5})
    send(plugin, "job_info", jobid=1, rule_name="train", rule_msg="Run", wildcards=RUN, log=[])
    send(plugin, "job_info", jobid=2, rule_name="task", rule_msg="Text \x1b[2J", wildcards={}, log=[])
    plugin.close()
    shown = out.getvalue()
    assert re.search(r"demo/mixed/seed1-01234567 +1,200/2,000 +3\.250", shown), shown
    assert re.search(r"trainings .*0/2", shown) and re.search(r"exhibits .*0/5", shown)
    assert "now: Text" in shown and "\x1b[2J" not in shown


@pytest.mark.parametrize("home", ["ours", "file"])
def test_a_home_that_cannot_be_written_is_replaced(home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environments: list[dict[str, str]] = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            environments.append(env)

        def wait(self) -> int:
            return 0

    (tmp_path / "ours").mkdir()
    (tmp_path / "file").write_text("")  # nobody can make a folder in a file, root included
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("subprocess.Popen", Process)
    monkeypatch.setenv("HOME", str(tmp_path / home))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert main(["run", "demo", "-n"]) == 0
    cache = None if home == "ours" else str(ROOT / ".snakemake/cache")
    assert environments[0].get("XDG_CACHE_HOME") == cache


def test_run_calls_snakemake_on_the_study(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    commands: list[list[str]] = []

    class Process:
        def __init__(self, command: list[str], env: dict[str, str]) -> None:
            commands.append([*command[3:], env["MDNMT_COMMAND"]])

        def wait(self) -> int:
            return 0

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("subprocess.Popen", Process)
    assert main(["run", "demo"]) == 0
    assert main(["run", "demo", "-n", "--cores", "2", "--config", "seeds=3"]) == 0
    plain, dry = commands
    assert plain == ["--cores", "all", "--config", "study=demo", "--logger", "mdnmt", "mdnmt run demo"]
    assert dry[:-1] == ["-n", "--cores", "2", "--config", "study=demo", "seeds=3"]
    assert capsys.readouterr().out == "the report: results/demo/report.html\n"
    assert main(["run", "demo", "results/demo/tables/jiang2020-table2.csv"]) == 0
    assert capsys.readouterr().out == ""  # one table was made, and no report
    commands.pop()
    assert main(["run", "dmeo"]) == 2 and len(commands) == 2
    assert "did you mean 'demo'?" in capsys.readouterr().err
    assert main(["run", "demo", "-n", "--only", "jiang2020-figure6", "--config", "seeds=3"]) == 0
    assert commands.pop()[2:-1] == [
        *("results/demo/figures/jiang2020-figure6.png", "-n", "--config", "study=demo", "seeds=3")
    ]
    assert main(["run", "demo", "--only", "jiang2020-table-2"]) == 2 and len(commands) == 2
    assert "no table or figure 'jiang2020-table-2' (did you mean 'jiang2020-table2'?)" in capsys.readouterr().err
