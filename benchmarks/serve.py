"""How long the page of `mdnmt serve` waits for a sentence.

    python benchmarks/serve.py TEXT RUN... [--sentences 200] [--domain NAME] [--threads 2] [--json found.json]

Lines of TEXT, evenly spread, are sent over loopback to a server of all runs, as the page sends them: beam 5. Each
request is timed to its last byte. One client asks with heat maps and without; then four ask at once, each for its share
of the lines. Loading is not counted, nor is a first request. Beside the times of the clock stands the CPU time of the
server for a sentence, which other work on the machine hardly changes, and the load.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.provenance import cpu_model, usable_cores

CLIENTS = 4


def seconds_of(port: int, request: dict[str, Any]) -> float:
    """Return how long a request takes."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    connection.request("POST", "/api/translate", json.dumps(request), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    events: list[dict[str, Any]] = [json.loads(line) for line in answer.read().splitlines()]
    seconds = time.perf_counter() - start
    connection.close()
    if failed := [event["message"] for event in events if event["event"] == "error"]:
        sys.exit(f"{request['text'][:60]!r}: {failed[0]}")
    return seconds


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(port: int, process: int, requests: list[dict[str, Any]], clients: int) -> dict[str, float]:
    """Return times in milliseconds; `requests` are dealt out to clients that ask at the same time."""
    before = cpu_seconds(process)
    with ThreadPoolExecutor(clients) as pool:
        shares = [requests[number::clients] for number in range(clients)]
        times = list(pool.map(lambda share: [seconds_of(port, one) for one in share], shares))
    found = sorted(1000 * seconds for share in times for seconds in share)
    return {
        "p50_ms": statistics.median(found),
        "p95_ms": statistics.quantiles(found, n=20)[-1],
        "max_ms": found[-1],
        "cpu_ms_each": 1000 * (cpu_seconds(process) - before) / len(found),
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Start a server, ask it, and print the times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--domain")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    lines = [line for line in args.text.read_text(encoding="utf-8").splitlines() if line.strip()]
    lines = [lines[number * len(lines) // args.sentences] for number in range(min(args.sentences, len(lines)))]
    requests = [{"text": line, "runs": list(range(len(args.runs))), "domain": args.domain} for line in lines]
    plain = [{**request, "inspect": False} for request in requests]
    command = [sys.executable, "-m", "mdnmt.cli", "serve", *map(str, args.runs), "--port", "0", "--device", "cpu"]
    command += ["--threads", str(args.threads), "--requests-per-minute", "1000000"]
    words = statistics.mean(len(line.split()) for line in lines)
    print(f"{len(lines)} sentences of {words:.1f} words on average; {len(args.runs)} runs, {args.threads} threads")
    print(f"{cpu_model()}, {usable_cores()} cores; other work on the machine shows in the load")
    print("| clients | heat maps | p50 ms | p95 ms | longest ms | CPU ms a sentence | load |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    results = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            if not (found := re.search(r":(\d+)/", server.stdout.readline())):
                sys.exit("the server did not start")
            port = int(found[1])
            seconds_of(port, requests[0])
            for clients, heat_maps in ((1, True), (1, False), (CLIENTS, True)):
                result = measure(port, server.pid, requests if heat_maps else plain, clients)
                results.append({"clients": clients, "heat_maps": heat_maps, **result})
                cells = [f"{result[name]:,.0f}" for name in ("p50_ms", "p95_ms", "max_ms", "cpu_ms_each")]
                row = [str(clients), "yes" if heat_maps else "no", *cells, f"{result['load']:.1f}"]
                print(f"| {' | '.join(row)} |", flush=True)
        finally:
            server.terminate()
    if args.json:
        fsio.write_json(args.json, {"runs": len(args.runs), "threads": args.threads, "measured": results})


if __name__ == "__main__":
    main()
