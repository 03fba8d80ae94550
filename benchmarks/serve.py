"""How long the page of `mdnmt serve` waits for a sentence.

    python benchmarks/serve.py TEXT RUN... [--sentences 200] [--domain NAME] [--threads 2] [--json found.json]

Lines of TEXT, evenly spread, are sent one by one over loopback to a server of all runs, as the page sends them: beam 5,
with what the layers decide. Each request is timed to its last byte. Loading is not counted, nor is a first request.
"""

from __future__ import annotations

import argparse
import http.client
import json
import platform
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mdnmt import fsio


def seconds_of(port: int, text: str, runs: int, domain: str | None) -> float:
    """Return how long a text takes on all runs."""
    body = json.dumps({"text": text, "runs": list(range(runs)), "domain": domain})
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    start = time.perf_counter()
    connection.request("POST", "/api/translate", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    events: list[dict[str, Any]] = [json.loads(line) for line in answer.read().splitlines()]
    seconds = time.perf_counter() - start
    connection.close()
    if failed := [event["message"] for event in events if event["event"] == "error"]:
        sys.exit(f"{text[:60]!r}: {failed[0]}")
    return seconds


def main() -> None:
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
    command = [sys.executable, "-m", "mdnmt.cli", "serve", *map(str, args.runs), "--port", "0", "--device", "cpu"]
    command += ["--threads", str(args.threads), "--requests-per-minute", "1000000"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            if not (found := re.search(r":(\d+)/", server.stdout.readline())):
                sys.exit("the server did not start")
            port = int(found[1])
            seconds_of(port, lines[0], len(args.runs), args.domain)
            times = sorted(seconds_of(port, line, len(args.runs), args.domain) for line in lines)
        finally:
            server.terminate()
    cuts = statistics.quantiles(times, n=20)
    result = {"runs": len(args.runs), "sentences": len(times), "threads": args.threads, "machine": platform.processor()}
    result |= {"median_s": statistics.median(times), "p95_s": cuts[-1], "max_s": times[-1]}
    words = statistics.mean(len(line.split()) for line in lines)
    print(f"{len(times)} sentences of {words:.1f} words on average, {len(args.runs)} runs, {args.threads} threads")
    print(f"median {result['median_s']:.3f} s, p95 {result['p95_s']:.3f} s, longest {result['max_s']:.3f} s")
    if args.json:
        fsio.write_json(args.json, result)


if __name__ == "__main__":
    main()
