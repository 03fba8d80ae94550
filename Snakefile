# mdnmt: papers, corpora and methods are data (config/); one DAG turns them into tables, figures and a page.
#   snakemake --cores all                        the study of config/config.yaml
#   snakemake --cores all --config study=demo    another one
from pathlib import Path

from mdnmt.operations.stale_results import STARTED, list_started
from mdnmt.workspace import config_file, config_folder
from snakemake.utils import min_version

min_version("9.20")

# The user's own configuration; what it lacks is taken from the package.
CONFIG = config_folder(Path(workflow.main_snakefile))


configfile: str(config_file(CONFIG, "config.yaml"))


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/downloads.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/tasks.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/decode.smk"
include: "workflow/rules/words_and_labels.smk"
include: "workflow/rules/score.smk"
include: "workflow/rules/exhibits.smk"


# A workflow that imports this one may leave these out, or call them: `onstart: mdnmt.onstart()` (docs/workspace.md).
onstart:
    require_start()
    write_deferred_checksums()
    list_started(Path("results", STUDY.name, STARTED), report_selection.run_rows(STUDY, PLACES))
    cluster_resources.look_only_when_a_job_ends(workflow)


onerror:
    machine.name_full_disks(Path(".snakemake"), Path("logs"), Path("results"), CORPORA)


rule all:
    default_target: True
    input:
        f"results/{STUDY.name}/report.html",
        f"results/{STUDY.name}/numbers.csv",
        TABLES,
        FIGURES,
        # Named here because Snakemake does not remake a missing input (removed, or its job failed) of an existing output.
        CLAIMS,
        after_downloads(all_tasks, study_parts),
        # A run whose folder was removed is trained again even if the tables still exist.
        after_downloads(all_tasks, models),


rule data:  # this stage and those below can be requested by name
    input:
        after_downloads(all_tasks, made_tasks),


rule models:
    input:
        after_downloads(all_tasks, models),


rule translations:  # restores translations that were removed to save space
    input:
        after_downloads(all_tasks, translations),
