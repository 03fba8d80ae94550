# The study, resolved once, and the paths of everything it is made of. No rules here.
import json
from pathlib import Path

from mdnmt.corpora.spec import fetch_spec
from mdnmt.errors import MdnmtError
from mdnmt.studies import show
from mdnmt.studies.places import Places
from mdnmt.studies.resolve import resolve

CONFIG = Path(workflow.basedir, "config")
CORPORA = Path("resources/corpora")

try:
    STUDY = resolve(CONFIG, config["study"], CORPORA, config["seeds"])
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

TABLES = [PLACES.table(key, kind) for key in STUDY.config.tables for kind in ("csv", "md", "tex", "html", "json")]
FIGURES = [PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("png", "pdf")]
LIMIT = f"--limit {STUDY.config.decoding.max_sentences}" if STUDY.config.decoding.max_sentences else ""
STOP_AFTER = f"--stop-after-minutes {config['stop_after_minutes']}" if config["stop_after_minutes"] else ""
TENSORBOARD = "--tensorboard" if config["tensorboard"] else ""


def first_seeds(name):
    """Return the first run of each row of a task that can be made."""
    return [runs[0] for runs in show.by_row(STUDY.makeable(name)).values()]


def measured_runs(name):
    """Return the runs whose resources are measured: one a method and architecture, its first domain and seed."""
    wanted = {
        row.method
        for key in STUDY.config.tables
        for row in show.paper_table(STUDY, key)[0].rows
        if show.paper_table(STUDY, key)[0].kind == "resources"
    }
    return [run for run in first_seeds(name) if run.method in wanted]


wildcard_constraints:
    corpus="[a-z0-9-]+",
    task="[a-z0-9-]+",
    method="[a-z0-9-]+",
    seed=r"\d+",
    fp="[0-9a-f]{8}",
    test_fp="[0-9a-f]{8}",
    key="[a-z0-9-]+",
