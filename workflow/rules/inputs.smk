# Functions of wildcards: the inputs and params of rules. No rules here.
def task_file(name):
    return f"{task_dir(name)}/task.json"


def task_name(wildcards):
    """Return the task that a path names, or whose sentences are translated in the folder `text`."""
    return wildcards.task if "task" in wildcards.keys() else TranslationsFolder.parse(wildcards.text).task


def data_folder(wildcards):
    """Return the folder of the data of this task."""
    return task_dir(task_name(wildcards))


def data_record(wildcards):
    """Return the record of these data, which a job needs whenever they were made."""
    return ancient(task_file(task_name(wildcards)))


def of_task(value):
    """Return an input function: a value of the task that a path names."""
    return lambda wildcards: value(STUDY.tasks[wildcards.task])


def of_stage(stage, value):
    """Return an input function: a value of a task whose data have this stage at the address that a path names."""
    return lambda wildcards: value(STUDY.task_at(stage, wildcards.fp))


def stage_record(stage):
    """Return a function that finds the record of an earlier stage of a task's data."""
    return lambda task: PLACES.stage(stage, task.name)


def cores_for(task):
    """Return how many processes prepare a task's data."""
    return 1 if task.is_small else CORES


def data_spec(task):
    """Return all that decides a task's data, as JSON."""
    return task.spec.model_dump_json()


def name_of(task):
    """Return the name of a task."""
    return task.name


def is_made(name):
    return Path(task_file(name)).exists()


def run_of(wildcards):
    """Return the run that a path's wildcards name."""
    return STUDY.find(wildcards.task, wildcards.method, int(wildcards.seed), wildcards.fp)


def run_folder(wildcards):
    """Return the folder of this run."""
    return run_dir(run_of(wildcards))


def labelled_run(wildcards):
    """Return the run that a path's wildcards name, with the label condition of its translation."""
    return STUDY.translation_of(run_of(wildcards), wildcards.test_fp)


def predicted(wildcards):
    """Return the file of predicted labels of a translation; [] under other label conditions."""
    return labels_file(wildcards.task) if labelled_run(wildcards).labels == "predicted" else []


def measured_run(wildcards):
    """Return one of the measured runs of a task; its size determines the resources of the job."""
    return task_selection.measured_runs(STUDY, wildcards.task)[0]


def external_of(wildcards):
    """Return the external translations that a path's wildcards name."""
    return STUDY.find_external(wildcards.task, wildcards.system, wildcards.test_fp)


def any_run(wildcards):
    """Return one run of the study; its size determines the resources of a job on all runs."""
    return STUDY.makeable()[0]


def start_file(wildcards):
    """Return the weights that a run starts from; [] if they are random."""
    start = STUDY.start_of(run_of(wildcards))
    return ancient(f"{run_dir(start)}/model.safetensors") if start else []


def training_options(wildcards, attempt):
    """Return how a training job saves and stops; in a cluster's job, which attempt it is."""
    return f"{PROJECT.training_options} --in-job {attempt}" if IN_JOB else PROJECT.training_options


def weights_file(wildcards):
    """Return the list of the pretrained weights that a run starts from; [] if it uses none."""
    found = pretrained_weights(run_of(wildcards))
    return ancient(f"{weights_folder(*found)}/weights.json") if found else []


def weights_options(wildcards):
    """Return which weights belong into a folder: their name, and the revision to download, if there is one."""
    found = {weights_folder(*one).name: one for run in STUDY.runs if (one := pretrained_weights(run))}
    name, revision = found[wildcards.name]
    return [name, *(["--revision", revision] if revision else [])]


def cited_paper(wildcards):
    """Return the paper of a table or figure, for Snakemake's own report."""
    return report_selection.citation(STUDY, wildcards.key)


def exhibit_labels(wildcards):
    """Return the place, title and text of a table or figure, for Snakemake's own report."""
    return report_selection.labels(STUDY, wildcards.key)


def claims_of(wildcards):
    """Return the claims of a paper and the files that decide them."""
    return claims_spec(STUDY, wildcards.paper, PLACES)


def limit(wildcards):
    """Return the option for the number of sentences that a study translates."""
    return STUDY.limit_of(task_name(wildcards))


def training_priority(wildcards):
    """Return the priority of a training: long ones first."""
    return JOBS.training_priority(run_of(wildcards))


def run_spec(wildcards):
    """Return all that decides a run, as JSON."""
    return run_of(wildcards).spec.model_dump_json()


def initial_option(wildcards, input):
    """Return the option that names the weights that a run starts from."""
    return ["--initial", input.initial] if input.initial else []


def measured_records(wildcards):
    """Return the records of the runs whose time and memory are measured."""
    return [ancient(f"{run_dir(run)}/run.json") for run in task_selection.measured_runs(STUDY, wildcards.task)]


def measured_folders(wildcards):
    """Return system -> folder of the run, as JSON."""
    return json.dumps({run.directory: run_dir(run) for run in task_selection.measured_runs(STUDY, wildcards.task)})


def task_decoding(wildcards):
    """Return how the test sets of a task are translated, as JSON."""
    return STUDY.decoding[wildcards.task].model_dump_json()


def decoding_spec(wildcards):
    """Return how a run is translated, as JSON."""
    return STUDY.decoding_of(labelled_run(wildcards)).model_dump_json()


def predicted_option(wildcards, input):
    """Return the option that names predicted labels."""
    return ["--predicted", input.predicted] if input.predicted else []


def ambiguous_hypotheses(wildcards):
    """Return the translations in which ambiguous words are counted."""
    return [f"{test_dir(run)}/hyp" for run in task_selection.ambiguous_systems(STUDY, wildcards.task)]


def ambiguous_systems(wildcards):
    """Return these systems, as JSON."""
    return json.dumps(task_selection.choice_spec(STUDY, wildcards.task, PLACES))


# A folder below results/ with translations in `hyp`: of a run, or of an external system.
TRANSLATED = r"(runs/[^/]+/[^/]+/seed[^/]+/test|tasks/[^/]+/external-[a-z0-9-]+)-[0-9a-f]{8}"
SCORED = rf"(runs/[^/]+/[^/]+/seed\d+-{WITH_WEIGHTS}/(test|valid)|tasks/[^/]+/external-[a-z0-9-]+)-[0-9a-f]{{8}}"


def run_of_text(wildcards):
    """Return the run that translated them; for an external system, one run of the study."""
    found = TranslationsFolder.parse(wildcards.text)
    return STUDY.find(found.task, *found.run) if found.run else any_run(wildcards)


def split_of_text(wildcards):
    """Return the held-out text that is translated."""
    return TranslationsFolder.parse(wildcards.text).split


def external_folder(wildcards):
    """Return the folder that a user put external translations in."""
    return external_of(wildcards).folder


def external_sums(wildcards):
    """Return the checksums of these files, as JSON."""
    return json.dumps(external_of(wildcards).sums)


def corpus_spec(wildcards, threads):
    """Return how a corpus is fetched, as JSON.

    The second argument makes this a derived param, which Snakemake does not compare with that of the last job. It
    contains what the lock knows; `declared` and `lost` tell whether the job must run again.
    """
    return spec_to_fetch(STUDY, wildcards.corpus, CONFIG, CORPORA).model_dump_json()


def corpus_declared(wildcards):
    """Return what the configuration says of a corpus, as JSON.

    It decides whether a corpus is fetched again; the checksum that the first download recorded must not change it.
    """
    return STUDY.corpus(wildcards.corpus).model_dump_json()


def corpus_lost(wildcards):
    """Return why a fetched corpus is not complete. With only a manifest, Snakemake would not notice that files are gone."""
    return why_lost(spec_to_fetch(STUDY, wildcards.corpus, CONFIG, CORPORA), CORPORA / wildcards.corpus)


def pending_manifests(wildcards):
    """Return the manifests of the corpora whose first download a task waits for."""
    return [f"{CORPORA}/{name}/corpus.json" for name in pending_corpora(wildcards)]


def pending_corpora(wildcards):
    """Return these corpora."""
    return DOWNLOADS.pending[wildcards.task]


def task_of_exhibit(wildcards):
    """Return the task of a table or figure."""
    shown = STUDY.config.tables if wildcards.key in STUDY.config.tables else STUDY.config.figures
    return [shown[wildcards.key].task]


def table_inputs(wildcards):
    """Return the files that a table is made from."""
    return table_spec(STUDY, wildcards.key, PLACES).inputs()


def figure_inputs(wildcards):
    """Return the files that a figure is made from."""
    return rule_inputs(figure_spec(STUDY, wildcards.key, PLACES).inputs())


def compared_task(wildcards):
    """Return the record of the task whose translations a table compares."""
    return ancient(task_file(STUDY.config.tables[wildcards.key].task))


def compared_scores(wildcards):
    """Return the scores of all systems that a table compares with its baseline; they are made from the translations."""
    runs = comparison.compared_runs(STUDY, wildcards.key).values()
    external = external_of_table(STUDY, wildcards.key).values()
    folders = [test_dir(run) for of_row in runs for run in of_row]
    folders += [PLACES.external(output) for of_system in external for output in of_system]
    return [f"{folder}/scores.json" for folder in folders]


def compared_comet(wildcards):
    """Return COMET's scores of each sentence of these systems."""
    found = comparison.comparison(STUDY, wildcards.key, PLACES)["comet"]
    return [path for of_system in found.values() for path in of_system.values()]


def number_files(wildcards):
    """Return the files with numbers of the study."""
    return [source.path for source in number_sources(STUDY, PLACES).sources]


def claim_files(wildcards):
    """Return the tables and figures that decide a paper's claims."""
    spec = claims_of(wildcards)
    return [path for path in (*spec.tables.values(), *spec.figures.values()) if path]


def run_records(wildcards):
    """Return the records of all runs of the study."""
    return [f"{run_dir(run)}/run.json" for run in STUDY.makeable()]


def planned(select):
    """Return a param: the hash of all that a table, a figure or a significance test is made of."""
    return lambda wildcards: identity(select(STUDY, wildcards.key, PLACES))


def planned_claims(wildcards):
    """Return the hash of all that the verdicts on a paper's claims are made of."""
    return identity(claims_of(wildcards))


def planned_page(select, *more):
    """Return a param: the hash of all that something about the whole study is made of."""
    return lambda wildcards: identity(select(STUDY, PLACES, *more))


def code_of_this_table(wildcards):
    """Return the hash of the code that makes a table."""
    return code_of_table(STUDY, wildcards.key, PLACES)


def code_of_this_figure(wildcards):
    """Return the hash of the code that makes a figure."""
    return code_of_figure(STUDY, wildcards.key)


def page_code(what):
    """Return a param: the hash of the code that makes something about the whole study."""
    return lambda wildcards: code_of_page(what, STUDY, PLACES)
