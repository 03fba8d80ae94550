# The study, resolved once, and the paths of everything it is made of. No rules here.
import json
from dataclasses import replace
from pathlib import Path

from mdnmt.audit.inputs import load_inputs
from mdnmt.config.cluster import load_cluster
from mdnmt.config.decoding import LABELS
from mdnmt.config.loader import validate_model
from mdnmt.config.project import ProjectConfig
from mdnmt.corpora.availability import why_lost
from mdnmt.errors import MdnmtError
from mdnmt.fingerprint import STAGE_VERSIONS
from mdnmt.planning.jobs import Jobs, look_only_when_a_job_ends, settle, shell_prefix
from mdnmt.planning.memory import require_memory
from mdnmt.score.comet_files import segments_of
from mdnmt.studies import figure_specs, report_specs, table_specs, together
from mdnmt.studies.claim_specs import claims_spec
from mdnmt.studies.code import code_of, code_of_figure, code_of_table
from mdnmt.studies.downloads import FirstDownloads
from mdnmt.studies.fetching import declared_corpus, spec_to_fetch, to_fetch
from mdnmt.studies.inputs import figure_files, measured_runs, spec_file, table_files, toy_weights
from mdnmt.studies.number_sources import number_sources
from mdnmt.studies.places import Places
from mdnmt.studies.resolve import resolve
from mdnmt.studies.told import told_tasks, told_verbs, whole_tests

CONFIG = Path(workflow.basedir, "config")
CORPORA = Path("resources/corpora")
TOY_COMET = "resources/comet/toy-comet"


def resolve_study():
    try:
        return resolve(CONFIG, PROJECT.study, CORPORA, PROJECT.seeds)
    except MdnmtError as error:
        raise WorkflowError(str(error))


try:
    PROJECT = validate_model(dict(config), ProjectConfig, "config/config.yaml or --config")
    STUDY = resolve_study()
    AUDIT = load_inputs(CONFIG).identity()
    CLUSTER = load_cluster(CONFIG)
except MdnmtError as error:
    raise WorkflowError(str(error))

IN_JOB = workflow.remote_exec  # a job of a cluster starts Snakemake once more, on the node
shell.prefix(shell_prefix(CLUSTER, IN_JOB))
settle(workflow, PROJECT.device)


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
    return f"{run_dir(run)}/{run.translation(STUDY.decode_fingerprint(run))}"


def analysis_dir(run):
    return f"{run_dir(run)}/analysis-{STUDY.analysis_fingerprint(run)}"


def copied_dir(name):
    return f"{task_dir(name)}/copied-{STUDY.copy_fingerprint(name)}"


def labels_file(name):
    return f"{task_dir(name)}/predicted-labels-{STUDY.labels_fingerprint}.json"


def run_of(wildcards):
    """Return the run that a path's wildcards name."""
    return STUDY.find(wildcards.task, wildcards.method, int(wildcards.seed), wildcards.fp)


def told_run(wildcards):
    """Return the run that a path's wildcards name, with what it is told of the domain where it translates."""
    return STUDY.told(run_of(wildcards), wildcards.test_fp)


def predicted(wildcards):
    """Return the labels that a translation is told; [] where these are not a classifier's."""
    return labels_file(wildcards.task) if told_run(wildcards).labels == "predicted" else []


def start_file(wildcards):
    """Return the weights that a run starts from; [] where they are random."""
    start = STUDY.start_of(run_of(wildcards))
    return f"{run_dir(start)}/model.safetensors" if start else []


PLACES = Places(
    task=task_dir,
    run=run_dir,
    test=test_dir,
    comet=lambda run: f"{test_dir(run)}/comet-{STUDY.comet_fingerprint}.json",
    labels=labels_file,
    copied=copied_dir,
    analysis=analysis_dir,
    ambiguity=lambda name: f"results/{STUDY.name}/ambiguity/{name}.json",
    significance=lambda key: f"results/{STUDY.name}/significance/{key}.json",
    measure=lambda name: f"results/{STUDY.name}/measure/{name}.json",
    table=lambda key, kind: f"results/{STUDY.name}/tables/{key}.{kind}",
    figure=lambda key, kind: f"results/{STUDY.name}/figures/{key}.{kind}",
    claims=lambda paper: f"results/{STUDY.name}/claims/{paper}.json" if STUDY.claims[paper] else None,
    audit=lambda paper: f"results/audit/{paper}.json" if (CONFIG / "audit" / f"{paper}.yaml").exists() else None,
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
FIGURES = [PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("png", "pdf", "json")]
CLAIMS = [path for paper in STUDY.papers if (path := PLACES.claims(paper))]
JOBS = Jobs(CLUSTER, STUDY, PLACES, PROJECT.device)  # what jobs ask a cluster for; at home nobody asks
try:
    require_memory(STUDY, PLACES, None if workflow.local_exec else CLUSTER, PROJECT.device)
except MdnmtError as error:
    raise WorkflowError(str(error))
CORES = CLUSTER.cores if IN_JOB or not workflow.resource_settings.cores else workflow.cores
# Habits of this machine change no result. They travel as resources, not as params: Snakemake makes a job anew when its
# params change, and a changed habit must not.
DEVICE = f"--device {PROJECT.device}"


def saving(wildcards, attempt):
    """Return how a training job saves and stops; in a cluster's job, which attempt it is."""
    return f"{PROJECT.training_options} --in-job {attempt}" if IN_JOB else PROJECT.training_options


WHOLE_TEST = whole_tests(STUDY)


def weights_file(wildcards):
    """Return the toy weights that a run starts from; [] where it starts from none. Real ones stand there or do not."""
    name = toy_weights(run_of(wildcards))
    return f"resources/pretrained/toy--{name}/config.json" if name else []


def claims_of(wildcards):
    """Return the claims of a paper and what decides them."""
    return claims_spec(STUDY, wildcards.paper, PLACES)


def limit(wildcards):
    return STUDY.limit_of(wildcards.task)


wildcard_constraints:
    corpus="[a-z0-9-]+",
    task="[a-z0-9-]+",
    method="[a-z0-9-]+",
    seed=r"\d+",
    fp="[0-9a-f]{8}",
    split="test|valid",
    test_fp="[0-9a-f]{8}",
    comet_fp="[0-9a-f]{8}",
    labels_fp="[0-9a-f]{8}",
    key="[a-z0-9-]+",
    paper="[a-z0-9]+",
