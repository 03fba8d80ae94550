"""Record that two states of the training code compute the same bits, in src/mdnmt/equivalent_code.yaml.

    make equivalent                     # the working tree and the commit that is checked out
    make equivalent COMMITS="abc def"   # the working tree and each of these

Each tiny run of `golden_runs.py` is trained and decoded by both states on the same data, in float64 and in float32
(the CPU's kernels). All losses, the weights, translations, scores and likelihoods must have the same bits; then the
hashes of the family's training code are recorded as equivalent, and runs that one of them trained get no note under
the other. Nothing else writes the file. What it does not cover: GPUs, bfloat16, several processes, pretrained models.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "src/mdnmt/equivalent_code.yaml"
HEAD = """\
# Hashes of training code (`code` in run.json), by family of methods, that compute the same bits. Written by
# `make equivalent` after it has trained and decoded the tiny runs of tests/golden with both states of the code.
"""


def measure(config: Path, task: Path, like: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the installed code computes for each method, and the hashes of its training code.

    Args:
        config: its configuration folder.
        task: the task's data.
        like: what other code found; its runs are computed again, with the options that they had.
    """
    from golden import golden_runs

    from mdnmt.config.decoding import Decoding
    from mdnmt.config.training import Training
    from mdnmt.tasks.task_data import TaskData
    from mdnmt.train.conditions import training_code

    decode, float64, weights = golden_runs._decode, golden_runs.float64, []

    def decode_and_hash(model: Any, *arguments: Any) -> dict[str, Any]:
        state = b"".join(name.encode() + part.numpy().tobytes() for name, part in sorted(model.state_dict().items()))
        weights.append(hashlib.sha256(state).hexdigest()[:16])
        found: dict[str, Any] = decode(model, *arguments)
        return found

    golden_runs._decode = decode_and_hash
    data, golden_runs.ROOT = TaskData.load(task), config.parent
    if like is None:
        recipe = Training.model_validate(golden_runs.RECIPE).model_dump(mode="json")
        like = {"training": recipe, "decoding": Decoding.model_validate(golden_runs.BEAM).model_dump(mode="json")}
    found: dict[str, Any] = {key: like[key] for key in ("training", "decoding")} | {
        "runs": {},
        "code": {},
        "failed": {},
    }
    runs = like.get("runs") or dict.fromkeys(golden_runs.METHODS)
    for method, other in runs.items():
        try:
            given = other["options"] if other else golden_runs.options(method)
            run = {"options": given}
            for name, precision in (("double", float64), ("single", nullcontext)):
                golden_runs.float64 = precision
                run[name] = golden_runs.train(given, found["training"], found["decoding"], data)
                run[name]["weights"] = weights[-1]
        except Exception as error:  # any failure: the two states cannot be compared
            found["failed"][method] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            continue
        found["runs"][method] = run
        found["code"].setdefault(given["builder"], training_code(given["builder"]))
    return found


def measured(tree: Path, task: Path, like: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return `measure` of the code in a folder with `src`, `config` and `tests`, from a process of its own."""
    path = os.pathsep.join([str(tree / "src"), str(tree / "tests")])
    # -O: the runs assert that they are in float64.
    words = [sys.executable, "-O", __file__, "--measure", str(tree / "config"), str(task)]
    done = subprocess.run(
        words,
        input=json.dumps(like),
        env={**os.environ, "PYTHONPATH": path},
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        return {"runs": {}, "code": {}, "failed": {"all": (done.stderr.strip().splitlines() or ["no message"])[-1]}}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def differing(before: dict[str, Any], now: dict[str, Any]) -> dict[str, str]:
    """Return family of methods -> why two states of the code are not shown to be equivalent; "": they are."""
    found: dict[str, str] = {}
    for method, run in before["runs"].items():
        builder = run["options"]["builder"]
        if method not in now["runs"]:
            why = f"{method}: {now['failed'].get(method) or now['failed'].get('all', 'was not computed')}"
        else:
            other = now["runs"][method]
            kinds = [kind for kind in ("double", "single") if run[kind] != other[kind]]
            differ = [key for key in run[kinds[0]] if run[kinds[0]][key] != other[kinds[0]][key]] if kinds else []
            why = f"{method}: other {', '.join(differ)} ({kinds[0]} precision)" if kinds else ""
        found[builder] = found.get(builder) or why
    return found


def merged(sets: dict[str, list[list[str]]], builder: str, *hashes: str) -> None:
    """Join the sets of a family that contain one of these hashes, and add the hashes."""
    same = [one for one in sets.get(builder, []) if not set(hashes).isdisjoint(one)]
    others = [one for one in sets.get(builder, []) if one not in same]
    sets[builder] = sorted([*others, sorted({*hashes, *(code for one in same for code in one)})])


def unpack(commit: str, folder: Path) -> Path:
    """Unpack the source, the configuration and the tests of a commit."""
    words = ["git", "-C", str(ROOT), "archive", commit, "src", "config", "tests"]
    with tarfile.open(fileobj=BytesIO(subprocess.run(words, capture_output=True, check=True).stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def main(commits: list[str]) -> int:
    """Compare the working tree with commits, and record what is equivalent; return 1 if anything is not."""
    import yaml
    from conftest import TOY_WORDS, build_toy_task

    sets: dict[str, list[list[str]]] = yaml.safe_load(FILE.read_text(encoding="utf-8")) if FILE.is_file() else None
    sets, status = sets or {}, 0
    with tempfile.TemporaryDirectory() as name:
        task = build_toy_task(Path(name), TOY_WORDS)
        for commit in commits:
            before = measured(unpack(commit, Path(name, "trees", commit)), task)
            now = measured(ROOT, task, before) if before["runs"] else before
            for method, why in before["failed"].items():
                print(f"{commit}: {method} cannot be computed: {why}")
            for builder, why in differing(before, now).items():
                hashes = before["code"][builder], now["code"].get(builder, "")
                if why:
                    status = 1
                elif hashes[0] != hashes[1]:
                    merged(sets, builder, *hashes)
                said = why or ("equivalent" if hashes[0] != hashes[1] else "the same code")
                print(f"{commit}: {builder} {' '.join(dict.fromkeys(hashes))}: {said}", flush=True)
            status = status or int(not before["runs"])
            FILE.write_text(HEAD + yaml.safe_dump(sets, sort_keys=True, width=120), encoding="utf-8")
    return status


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(Path(sys.argv[2]), Path(sys.argv[3]), json.load(sys.stdin))))
    else:
        sys.exit(main(sys.argv[1:] or ["HEAD"]))
