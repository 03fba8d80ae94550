"""Time and memory of the exhibits of a large study, in which every run has scores. The scores are invented.

    python benchmarks/many_runs.py [--study replication] [--config-folder config]

Writes `scores.json` for each translation of each run of the study to a temporary folder, then makes all tables, the
figures that are drawn from scores, and the page in one process, as `mdnmt exhibit STUDY` does from whatever exists.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mdnmt.config.metrics import METRICS
from mdnmt.fsio import write_sealed
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

SENTENCES = 1000


def main() -> None:
    """Print how many runs there are, and what each part took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--study", default="replication")
    parser.add_argument("--config-folder", type=Path, default=Path("config"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        study = resolve(args.config_folder, args.study, Path("resources/corpora"))
        places, draw, files = ResultPaths(study, results), random.Random(1), 0
        names = [name for name, about in METRICS.items() if about.file == "scores.json"]
        for run in study.makeable():
            domains = study.tasks[run.task].config.domains
            for one in translations_of(study, run):
                entry = {name: {"score": draw.uniform(20, 30), "signature": "invented"} for name in names}
                value = {
                    "domains": {domain: {**entry, "num_sentences": SENTENCES} for domain in domains},
                    "mean": dict.fromkeys(names, 25.0),
                    "concatenated": entry,
                }
                write_sealed(Path(places.test(one), "scores.json"), value)
                files += 1
        print(f"{args.study}: {len(study.makeable())} runs, {files} files of scores, {len(study.config.tables)} tables")
        for keys in ("tables",), ("figures",), ():
            command = [sys.executable, "-m", "mdnmt", "exhibit", args.study, *keys, "--results", str(results)]
            command += ["--config-folder", str(args.config_folder)]
            start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            what = keys[0] if keys else "everything and the page"
            cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
            seconds, megabytes = time.monotonic() - start, now.ru_maxrss / 1024
            print(f"{what}: {seconds:.1f} s, CPU {cpu:.1f} s, at most {megabytes:.0f} MB so far")


if __name__ == "__main__":
    main()
