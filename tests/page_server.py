"""A real server of `mdnmt serve` on loopback, in a thread, and finished runs for it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import uvicorn

from mdnmt.extras.serve.app import create_app, server_config
from mdnmt.extras.serve.requests import Limits
from mdnmt.extras.serve.service import ServedRun, Service
from mdnmt.train.run import train_run

LOOPBACK = frozenset({"127.0.0.1", "localhost"})
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixed": ("transformer", {}),
    "waldm": ("waldm", {"mixed_sides": "both"}),
    "dsa": ("domain_aware_attention", {"placement": "all", "num_clusters": 3, "guidance_weight": 1.0}),
    "dmoe": ("dmoe", {"gate_input": "mix"}),
    "dmoe-domain": ("dmoe", {"gate_input": "domain"}),
    "tag": ("domain_tag", {}),
}


def finished_run(name: str, folder: Path, make_spec: Any, task: Path) -> Path:
    """Return the folder of a finished run of a form, trained the first time it is asked for."""
    if not (folder / name / "run.json").exists():
        builder, architecture = FORMS[name]
        layers = {"encoder_layers": 2, "decoder_layers": 2}
        train_run(
            make_spec(builder, architecture=layers | architecture, max_updates=20, validate_every=10),
            task, folder / name, device="cpu",
        )  # fmt: skip
    return folder / name


def service_of(*folders: Path, limits: Limits | None = None, beam_size: int = 2) -> Service:
    runs = [ServedRun.load(folder, torch.device("cpu"), folder) for folder in folders]
    return Service(runs, limits or Limits(), beam_size, 1)


@contextmanager
def serving(service: Service) -> Iterator[int]:
    """Serve and return the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(create_app(service, LOOPBACK)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        service.close()
        listener.close()


def ask(
    port: int, method: str, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def translate(port: int, **wanted: Any) -> tuple[int, Any]:
    """Return the status, and the events or the refusal's message."""
    status, _, found = ask(port, "POST", "/api/translate", json.dumps(wanted).encode(), Content_Type="application/json")
    if status != 200:
        return status, json.loads(found)["message"]
    return status, [json.loads(line) for line in found.decode().splitlines()]
