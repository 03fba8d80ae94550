"""No verb that a rule starts, but `fetch`, needs a network; each does its whole work without one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from finished import Finished, spec_of

from mdnmt.config.corpus import load_corpus
from mdnmt.config.task import load_task
from mdnmt.corpora.corpus_spec import fetch_spec
from mdnmt.corpora.fetch import fetch
from mdnmt.tasks.build import build_task
from mdnmt.tasks.task_spec import task_spec

ROOT = Path(__file__).resolve().parents[2]
GRAMMAR = {"sentences": 300, "common_words": 8, "cue_words": 2, "context_words": 2, "label_words": 2}
PLACES = ["--device", "cpu", "--threads", "1"]
# Whoever reaches out is noticed; processes of one program talk through sockets that are files.
REFUSE = """
import socket
connect = socket.socket.connect
def refuse(*a, **k): raise AssertionError('a verb reached for the network')
def within_the_machine(self, address): return connect(self, address) if self.family == socket.AF_UNIX else refuse()
socket.socket.connect = within_the_machine
socket.socket.connect_ex = socket.socket.sendto = socket.getaddrinfo = socket.create_connection = refuse
"""


def verbs_of_rules() -> set[str]:
    text = "\n".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    return set(re.findall(r"mdnmt ([a-z-]+) (?:--|\{resources)", text))


def generated_task(folder: Path) -> Path:
    """Make a task whose text is generated, so that `words` knows which words are right."""
    config = load_task(ROOT / "config", "synthetic-2")
    small = {"train": 200, "valid": 10, "test": 10}
    domains = {name: domain.model_copy(update=small) for name, domain in config.domains.items()}
    config, corpora = config.model_copy(update={"domains": domains}), {}
    for name in (corpus for domain in domains.values() for corpus in domain.corpora):
        corpus = load_corpus(ROOT / "config", name)
        corpora[name] = corpus.model_copy(update={"reader": corpus.reader.model_copy(update=GRAMMAR)})
        fetch(fetch_spec(name, corpora[name], folder / "hashes.json"), folder / "corpora" / name)
    build_task(task_spec("synthetic", config, corpora, folder / "hashes.json"), folder / "corpora", folder / "task")
    return folder / "task"


def chain(made: Finished, synthetic: Path, new: str) -> list[list[str]]:
    """Return a call of every verb, on what those before it made."""
    task, run, test = f"{new}/task", f"{new}/run", f"{new}/test"
    of_task = ["--task", task]
    scored = [*of_task, "--hypotheses", test]
    choices = json.dumps({"systems": [{"label": "Mixed", "method": "mixed", "seed": 3, "folder": test}]})
    other, other_task = f"{new}/other", ["--task", str(synthetic)]
    other_spec = spec_of(synthetic).model_dump_json()
    return [
        ["task", "--spec", f"@{made.root}/task-spec.json", "--corpora", str(made.corpora), "--out", task],
        ["train", "--spec", made.spec.model_dump_json(), *of_task, "--out", run, *PLACES],
        ["decode", "--run", run, *of_task, "--out", test, *PLACES],
        ["score", *scored, "--out", f"{test}/scores.json"],
        ["predict-labels", *of_task, "--out", f"{new}/labels.json"],
        ["ambiguity", *of_task, "--spec", choices, "--out", f"{new}/a.json"],
        ["analyse", "--run", run, *of_task, "--out", f"{new}/analysis", *PLACES],
        ["measure", "--runs", f'{{"mixed": "{run}"}}', *of_task, "--repeats", "1", "--out", f"{new}/m.json", *PLACES],
        ["exhibit", "demo", "--config-folder", str(ROOT / "config"), "--results", f"{new}/results"],
        ["audit", "--config", str(ROOT / "config"), "--json", f"{new}/audit.json"],
        ["fetch-weights", "toy/nllb", "--pretrained", f"{new}/weights"],
        ["train", "--spec", other_spec, *other_task, "--out", other, *PLACES],
        ["decode", "--run", other, *other_task, "--out", f"{other}/test", *PLACES],
        ["word-accuracy", "--run", other, *other_task, "--hypotheses", f"{other}/test", *PLACES,
         "--out", f"{new}/words.json"],
        ["schema", "--out", f"{new}/schema.json"],
    ]  # fmt: skip


# It ends with the first verb that fails.
IN_ONE_PROCESS = "import json, sys; from mdnmt.cli import main; sys.exit(any(map(main, json.loads(sys.argv[1]))))"


@pytest.mark.slow
def test_verbs_do_their_work_without_a_network(whole: Finished, tmp_path: Path) -> None:
    # In a network of its own that has nothing in it, where the system lets us; else every connection is an error.
    code = tmp_path / "startup"
    code.mkdir()
    (code / "sitecustomize.py").write_text(REFUSE)
    made, new = whole.copy(tmp_path / "copy"), tmp_path / "new"
    calls = chain(made, generated_task(tmp_path), str(new))
    # COMET has an environment of its own: tests/comet/test_comet_scores.py asks the same of it.
    assert verbs_of_rules() - {"fetch", "comet"} <= {verb for verb, *_ in calls}
    command = [sys.executable, "-c", IN_ONE_PROCESS, json.dumps(calls)]
    alone = ["unshare", "--net", "--"]
    cut_off = (
        bool(shutil.which("unshare"))
        and subprocess.run([*alone, "true"], capture_output=True, check=False).returncode == 0
    )
    print("network: " + ("a name space of its own" if cut_off else "connections patched away"))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(code), "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        wrapped = [*(alone if cut_off else []), *command]
        return subprocess.run(wrapped, env=environment, capture_output=True, text=True, check=False)

    tried = run(sys.executable, "-c", "import socket; socket.socket().connect(('127.0.0.1', 9))")
    assert "a verb reached for the network" in tried.stderr
    done = run(*command)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    assert (new / "run" / "model.safetensors").read_bytes() == (whole.run / "model.safetensors").read_bytes()
    for name in (
        "m.json",
        "words.json",
        "results/demo/partial/report.html",
    ):
        assert (new / name).stat().st_size > 0
