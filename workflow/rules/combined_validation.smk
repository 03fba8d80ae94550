# All validation sets that tables show, in one job: for studies whose runs take less time than starting Python.
VALIDATION_RUNS = combined_jobs.validation_runs(STUDY, PLACES)


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
        **JOBS.sbatch(any_run),
        mem_mb=lambda w: JOBS.mem_mb(any_run(w)),
        runtime=lambda w: JOBS.translate_minutes(any_run(w)),
        gpu=lambda w: JOBS.gpus(any_run(w)),
    params:
        verbs=lambda w, threads: spec_file(
            combined_jobs.validation_commands(
                STUDY, VALIDATION_RUNS, PLACES, ["--device", PROJECT.device, "--threads", str(threads)]
            )
        ),
        code=code_of("score"),
    message:
        "Translating and scoring the validation sets that tables of the study show"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"
