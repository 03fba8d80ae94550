# Which corpora are fetched, and what waits for the first download of one. No rules here.
DOWNLOADS = FirstDownloads(
    STUDY, allowed=PROJECT.first_downloads, resolve_again=lambda: opened().study, warn=logger.warning
)
for task in STUDY.tasks.values():
    if task.name in DOWNLOADS.pending:
        logger.info(f"task {task.name} is planned after its first downloads: {', '.join(task.first_downloads)}")
    elif task.missing:
        logger.warning(f"task {task.name} is left out: it {task.missing}")
    elif task.first_downloads:
        logger.info(
            f"task {task.name} is shown with addresses that change with its first downloads: "
            f"{', '.join(task.first_downloads)}"
        )

if workflow.is_main_process:  # before the first job, name what else is missing
    named = {NOT_TRAINED, *(task.missing for task in STUDY.tasks.values())}
    tables = [exhibit_needs.table_needs(STUDY, key, PLACES) for key in STUDY.config.tables]
    for absence in exhibit_needs.absences(STUDY, tables):
        if absence.reason not in named:
            logger.warning(f"cannot be made: {absence}")


# Everything that depends on a task with unknown checksums is planned once its corpora are downloaded.
def after_downloads(tasks, inputs):
    return DOWNLOADS.after(lambda task: checkpoints.first_downloads.get(task=task), tasks, inputs)


def all_tasks(wildcards):
    return list(STUDY.tasks)


def made_tasks(wildcards):
    return [task_file(name) for name, task in STUDY.tasks.items() if task.spec is not None]


def models(wildcards):
    records = [f"{run_dir(run)}/{name}" for run in STUDY.makeable() for name in ("run.json", "curves.tsv")]
    trained = [run for run in STUDY.makeable() if run.address not in WITHOUT_WEIGHTS]
    return records + [f"{run_dir(run)}/model.safetensors" for run in trained]


def translations(wildcards):
    external = [one for one in STUDY.external if STUDY.tasks[one.task].spec is not None]
    return [f"{test_dir(run)}/hyp" for run in STUDY.makeable()] + [f"{PLACES.external(one)}/hyp" for one in external]


def study_parts(wildcards):
    """Return the files in the study's own folder that its tables and figures read, such as significance tests."""
    tables = [table_spec(STUDY, key, PLACES).inputs() for key in STUDY.config.tables]
    figures = [figure_spec(STUDY, key, PLACES).inputs() for key in STUDY.config.figures]
    own = Path("results") / STUDY.name
    return sorted({str(path) for files in (*tables, *figures) for path in files if Path(path).is_relative_to(own)})


def corpus_files(wildcards):
    """Return the manifests of the corpora of a task, or of the text of a task."""
    task = STUDY.tasks[wildcards.task] if "task" in wildcards.keys() else STUDY.task_at("text", wildcards.fp)
    return [f"{CORPORA}/{name}/corpus.json" for name in task.corpora]


TO_FETCH = to_fetch(STUDY, CORPORA, is_made)
