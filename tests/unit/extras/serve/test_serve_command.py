"""`mdnmt serve` says what is wrong before it loads a model, and runs until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from page_server import ask

from mdnmt.cli import main


def test_without_the_extra_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["serve", "nowhere"]) == 2
    assert capsys.readouterr().err.strip() == (
        "mdnmt serve: needs the package uvicorn, which is not installed; "
        "run `make setup EXTRAS=serve`, or `pip install '.[serve]'`, in a clone of the repository"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--max-characters", "0"], "found --max-characters 0, expected 1 or more"),
        (["--beam-size", "0"], "beam_size"),
        (["--port", "99999"], "found --port 99999, expected 0 to 65535"),
        (["--host", "no.such.host.invalid"], "cannot listen on port 8765 of no.such.host.invalid"),
        (["--port", "0"], "nowhere/run.json: missing"),
    ],
)
def test_mistakes_are_one_line(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "nowhere", *options]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_a_port_in_use_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert main(["serve", "nowhere", "--port", str(port)]) == 2
    assert f"cannot listen on port {port} of 127.0.0.1" in capsys.readouterr().err


@pytest.mark.slow
def test_it_serves_until_ctrl_c_and_writes_nothing(finished: Callable[[str], Path]) -> None:
    folder = finished("mixed")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    command = [sys.executable, "-m", "mdnmt.cli", "serve", str(folder), "--port", "0", "--threads", "1"]
    # A shell starts background jobs with Ctrl-C ignored, and children inherit that; a handler here is not inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(
        [*command, "--device", "cpu"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = int(re.findall(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())[0])
            assert json.loads(ask(port, "GET", "/api/runs")[2])["runs"][0]["folder"] == str(folder)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130 and "stopped by Ctrl-C" in err and "Traceback" not in err
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
