# The study, resolved once, and the paths of everything in it. No rules here.
import json
import os
from pathlib import Path

from mdnmt import machine
from mdnmt.config.cluster import load_cluster
from mdnmt.config.metrics import ON_REQUEST
from mdnmt.corpora.availability import why_lost
from mdnmt.corpora.checksum_cache import defer_checksums, write_deferred_checksums
from mdnmt.errors import MdnmtError
from mdnmt.exchange.project_study import arguments, open_study
from mdnmt.exhibits import comparison, task_selection
from mdnmt.exhibits.code_hashes import code_of, code_of_figure, code_of_page, code_of_table
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.number_sources import number_sources
from mdnmt.exhibits.request import identity
from mdnmt.exhibits.shown_files import rule_inputs
from mdnmt.exhibits.table_request import table_spec
from mdnmt.fingerprint import STAGE_VERSIONS
from mdnmt.operations.plan import cluster_resources, exhibit_needs
from mdnmt.operations.plan.memory_limits import require_memory
from mdnmt.operations.plan.slurm_client import require_slurm
from mdnmt.paths import runs_without_weights, weights_folder
from mdnmt.plugins import VARIABLE as PLUGINS, folder as plugins_folder, use_folder_beside
from mdnmt.report import report_selection
from mdnmt.score.metrics import comet_environment
from mdnmt.statements.audit.printed_tables import load_inputs
from mdnmt.statements.claims.selection import claims_spec
from mdnmt.studies.external_systems import check_external, external_of_table
from mdnmt.studies.corpora_to_fetch import FirstDownloads, spec_to_fetch, to_fetch
from mdnmt.studies.result_paths import TranslationsFolder, complete_stages
from mdnmt.studies.study import NOT_TRAINED, pretrained_weights

CORPORA = Path("resources/corpora")
COMET_ENVIRONMENT = str(comet_environment.MADE)


def opened():
    """Return the study with its project and paths."""
    try:
        # A dry run shows jobs behind first downloads, under addresses that are not theirs yet.
        return open_study(CONFIG, config, CORPORA, Path("results"), provisional=workflow.output_settings.dryrun)
    except MdnmtError as error:
        raise WorkflowError(str(error))


# Commands name folders too. `path_modifier` is not documented; Snakemake offers no other way to see a module's prefix.
if any(workflow.modifier.path_modifier.replace_prefix(path) != path for path in ("results/x", "resources/x", "logs/x")):
    raise WorkflowError(
        "found a module with prefix or replace_prefix, expected neither: start snakemake with --directory to have the "
        "results in another folder"
    )

# Parsing the workflow, as `snakemake -n` does, writes nothing: checksums are written in `onstart`. Processes that run a
# single job have no `onstart` and write at once.
if workflow.is_main_process and not getattr(workflow.execution_settings, "no_hooks", False):
    defer_checksums()
    if not workflow.output_settings.dryrun:
        machine.require_room_for_logs(Path(".snakemake"), Path("logs"))
        comet_environment.forget_stale()

try:
    machine.require_plain_path(Path.cwd())
    machine.require_own_package(Path.cwd())
    use_folder_beside(CONFIG)
    os.environ[PLUGINS] = str(plugins_folder())  # for jobs, whose folder may be another one (--directory)
    FOUND = opened()
    PROJECT, STUDY, PLACES = FOUND.project, FOUND.study, FOUND.places
    AUDIT = load_inputs(CONFIG).identity()
    CLUSTER = load_cluster(CONFIG)
except MdnmtError as error:
    raise WorkflowError(str(error))

IN_JOB = workflow.remote_exec  # a cluster job starts Snakemake again, on the node
ON_CLUSTER = cluster_resources.is_on_cluster(workflow)
shell.prefix(cluster_resources.shell_prefix(CLUSTER, IN_JOB))
cluster_resources.set_defaults(workflow, PROJECT.device)


# Runs that were trained elsewhere and came without weights (`mdnmt pull`) have no rule: their files are taken as they are,
# and one that is missing is found before any job starts. Their scores are not made again, because the likelihoods, which
# perplexity needs, do not come with all of them; `mdnmt verify` makes the others again.
WITHOUT_WEIGHTS = runs_without_weights(Path("results/runs"))
WITH_WEIGHTS = f"(?!{'|'.join(name[-8:] for name in WITHOUT_WEIGHTS) or 'none'})[0-9a-f]{{8}}"

# Tasks, and stages of their data, that are complete: they have no rule.
NOT_COMPLETE = f"(?!{'|'.join(complete_stages(Path('results/tasks'))) or 'none'})[0-9a-f]{{8}}"


# Folders of tasks, runs, translations and analyses end in a hash of all options that change their contents.
task_dir, run_dir, test_dir, analysis_dir = PLACES.task, PLACES.run, PLACES.test, PLACES.analysis
copied_dir, labels_file = PLACES.copied, PLACES.labels


# How `mdnmt exhibit` opens the same study. A resource of its rules, not a param, because it names folders of this machine;
# what it changes of an exhibit is in the param `spec`.
STUDY_OPTIONS = arguments(PROJECT, CONFIG)
TABLES = [PLACES.table(key, kind) for key in STUDY.config.tables for kind in ("csv", "md", "tex", "html", "json")]
FIGURES = [PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("png", "pdf", "json")]
CLAIMS = [path for paper in STUDY.papers if (path := PLACES.claims(paper))]
# Memory (MB), time (minutes) and GPUs of jobs, for the cluster; locally only `gpu` limits anything. Runtime options are
# resources of the rules too, not params, because Snakemake runs a job again when its params change.
JOBS = cluster_resources.Jobs(CLUSTER, STUDY, PLACES, PROJECT.device)
try:
    check_external(STUDY, PLACES)
    require_memory(STUDY, PLACES, CLUSTER if ON_CLUSTER else None, PROJECT.device)
    for key in STUDY.config.figures:
        figure_spec(STUDY, key, PLACES)  # a mistake in a figure's options is found before anything runs
except MdnmtError as error:
    raise WorkflowError(str(error))
CORES = CLUSTER.cores if ON_CLUSTER or not workflow.resource_settings.cores else workflow.cores


def require_start():
    """Refuse to start where results or corpora cannot be written, or without SLURM's commands; a dry run only reads."""
    try:
        require_slurm(workflow, CLUSTER)
        for folder in ("results", CORPORA):
            machine.require_writable(Path(folder))
    except MdnmtError as error:
        raise WorkflowError(str(error))


wildcard_constraints:
    corpus="[a-z0-9-]+",
    task="[a-z0-9-]+",
    method="[a-z0-9-]+",
    system="[a-z0-9-]+",
    seed=r"\d+",
    fp="[0-9a-f]{8}",
    split="test|valid",
    test_fp="[0-9a-f]{8}",
    comet_fp="[0-9a-f]{8}",
    labels_fp="[0-9a-f]{8}",
    key="[a-z0-9-]+",
    paper="[a-z0-9]+",
