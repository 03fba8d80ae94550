# All validation sets that tables show, in one job: for studies whose runs take less time than Python's start.
VALIDATION_RUNS = together.validation_runs(STUDY, PLACES)


ruleorder: validations > decode > score


rule validations:
    input:
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in VALIDATION_RUNS.values()})],
        models=[f"{run_dir(run)}/model.safetensors" for run in VALIDATION_RUNS.values()],
        records=[f"{run_dir(run)}/run.json" for run in VALIDATION_RUNS.values()],
    output:
        hypotheses=directory([f"{test_dir(run)}/hyp" for run in VALIDATION_RUNS.values()]),
        scores=list(VALIDATION_RUNS),
    log:
        f"logs/decode/{STUDY.name}-validation.log",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: next(iter(VALIDATION_RUNS.values()))),
        habits=DEVICE,
    params:
        verbs=lambda w, threads: spec_file(
            together.validation_verbs(STUDY, VALIDATION_RUNS, PLACES, [*DEVICE.split(), "--threads", str(threads)])
        ),
        code=code_of("score"),
    message:
        "Translating and scoring the validation sets that tables of the study show"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"
