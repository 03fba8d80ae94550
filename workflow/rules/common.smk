# The study, resolved once, and the paths of everything it is made of. No rules here.
import json
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote

from mdnmt.config.loader import validate_model
from mdnmt.config.project import ProjectConfig
from mdnmt.corpora.availability import why_lost
from mdnmt.corpora.lock import read_lock
from mdnmt.corpora.spec import fetch_spec
from mdnmt.errors import MdnmtError
from mdnmt.fingerprint import STAGE_VERSIONS
from mdnmt.studies import show
from mdnmt.studies.places import Places
from mdnmt.studies.resolve import resolve

# The verbs of this environment, whether or not it is activated.
shell.prefix(f"export PATH={quote(str(Path(sys.executable).parent))}:$PATH; ")

CONFIG = Path(workflow.basedir, "config")
CORPORA = Path("resources/corpora")

try:
    PROJECT = validate_model(dict(config), ProjectConfig, "config/config.yaml or --config")
    STUDY = resolve(CONFIG, PROJECT.study, CORPORA, PROJECT.seeds)
except MdnmtError as error:
    raise WorkflowError(str(error))

MADE_TASKS = [name for name, task in STUDY.tasks.items() if task.spec is not None]
for task in STUDY.tasks.values():
    if task.missing:
        logger.warning(f"task {task.name} is left out: it {task.missing}")


# Content-addressed folders: what they hold is named by the eight digits in their names.
def task_dir(name):
    return f"results/tasks/{name}-{STUDY.tasks[name].fingerprint}"


def task_file(name):
    return f"{task_dir(name)}/task.json"


def is_made(name):
    return Path(task_file(name)).exists()


def run_dir(run):
    return f"results/runs/{run.task}/{run.directory}/seed{run.seed}-{run.fingerprint}"


def test_dir(run):
    return f"{run_dir(run)}/test-{STUDY.decode_fingerprint(run)}"


def analysis_dir(run):
    return f"{run_dir(run)}/analysis-{STUDY.analysis_fingerprint(run)}"


def copied_dir(name):
    return f"{task_dir(name)}/copied-{STUDY.copy_fingerprint(name)}"


def run_of(wildcards):
    """Return the run that a path's wildcards name."""
    return STUDY.find(wildcards.task, wildcards.method, int(wildcards.seed), wildcards.fp)


def start_file(wildcards):
    """Return the weights that a run starts from; [] where they are random."""
    start = STUDY.start_of(run_of(wildcards))
    return f"{run_dir(start)}/model.safetensors" if start else []


PLACES = Places(
    task=task_dir,
    run=run_dir,
    test=test_dir,
    copied=copied_dir,
    analysis=analysis_dir,
    significance=lambda name: f"results/{STUDY.name}/significance/{name}.json",
    measure=lambda name: f"results/{STUDY.name}/measure/{name}.json",
    table=lambda key, kind: f"results/{STUDY.name}/tables/{key}.{kind}",
    figure=lambda key, kind: f"results/{STUDY.name}/figures/{key}.{kind}",
    runs_table=f"results/{STUDY.name}/runs.tsv",
)

# The same for a page made from whatever is there.
PARTIAL = replace(
    PLACES,
    table=lambda key, kind: f"results/{STUDY.name}/partial/tables/{key}.{kind}",
    figure=lambda key, kind: f"results/{STUDY.name}/partial/figures/{key}.{kind}",
    runs_table=f"results/{STUDY.name}/partial/runs.tsv",
)

TABLES = [PLACES.table(key, kind) for key in STUDY.config.tables for kind in ("csv", "md", "tex", "html", "json")]
FIGURES = [PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("png", "pdf")]
MODELS = [f"{run_dir(run)}/model.safetensors" for run in STUDY.makeable()]
LIMIT = f"--limit {STUDY.config.decoding.max_sentences}" if STUDY.config.decoding.max_sentences else ""
# Habits of this machine change no result. They travel as resources, not as params: Snakemake makes a job anew when its
# params change, and a changed habit must not.
DEVICE = f"--device {PROJECT.device}"
SAVING = f"--save-every-minutes {PROJECT.save_every_minutes:g}"
if PROJECT.stop_after_minutes:
    SAVING += f" --stop-after-minutes {PROJECT.stop_after_minutes:g}"
if PROJECT.tensorboard:
    SAVING += " --tensorboard"


def first_seeds(name):
    """Return the first run of each row of a task that can be made."""
    return [runs[0] for runs in show.by_row(STUDY.makeable(name)).values()]


def measured_runs(name):
    """Return the runs whose resources are measured: one a method and architecture, its first domain and seed."""
    wanted = {
        method
        for key in STUDY.config.tables
        for row in show.paper_table(STUDY, key)[0].rows
        for method in row.methods
        if show.paper_table(STUDY, key)[0].kind == "resources"
    }
    return [run for run in first_seeds(name) if run.method in wanted]


def corpus_files(wildcards):
    """Return the manifests of a task's corpora: of no interest any more, however new, to a task that is made."""
    files = [f"{CORPORA}/{name}/corpus.json" for name in STUDY.tasks[wildcards.task].corpora]
    return ancient(files) if is_made(wildcards.task) else files


# Corpora with something to fetch. `fetch` must not be there for the others: a moved folder would start it, and what lies
# behind a job that starts is not looked at by Snakemake unless a file without ancient() leads there.
TO_FETCH = {
    corpus
    for name, task in STUDY.tasks.items()
    for corpus in task.corpora
    if not (is_made(name) and Path(CORPORA, corpus, "corpus.json").exists())
}


def spec_to_fetch(name):
    """Return what `mdnmt fetch` needs to know of a corpus of the study."""
    corpus = next(task.corpora[name] for task in STUDY.tasks.values() if name in task.corpora)
    return fetch_spec(name, corpus, CORPORA / "sha256.json", read_lock(CONFIG))


def table_inputs(wildcards):
    """Return the files that a table is made of."""
    spec = show.table_spec(STUDY, wildcards.key, PLACES)
    records = [path for row in spec.rows for path in row.records]
    if spec.kind == "resources":
        return records + ([spec.measure] if spec.measure else [])
    scores = records + [run.scores for row in spec.rows for run in row.runs]
    return scores + ([spec.significance] if spec.kind == "scores" and spec.significance else [])


def figure_inputs(wildcards):
    """Return the files that a figure is made of."""
    spec = show.figure_spec(STUDY, wildcards.key, PLACES)
    if spec.kind == "curves":
        return [run.curves for system in spec.systems for run in system.runs]
    if spec.kind in ("word_sweep", "gate_use"):
        return [run.scores for system in spec.systems for run in system.runs]
    analysed = spec.systems if spec.kind == "tsne" else (spec.run,)
    return [run.analysis for run in analysed if run.analysis]


wildcard_constraints:
    corpus="[a-z0-9-]+",
    task="[a-z0-9-]+",
    method="[a-z0-9-]+",
    seed=r"\d+",
    fp="[0-9a-f]{8}",
    test_fp="[0-9a-f]{8}",
    key="[a-z0-9-]+",
