# All COMET in one job, and all analyses: what they import takes longer than toys take to be scored and looked into.
COMET_RUNS = comet_runs(STUDY, PLACES)
ANALYSED_RUNS = analysed_runs(STUDY, PLACES)


ruleorder: comets > comet
ruleorder: analyses > analyse


rule comets:
    input:
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in COMET_RUNS.values()})],
        hypotheses=[f"{test_dir(run)}/hyp" for run in COMET_RUNS.values()],
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        scores=list(COMET_RUNS),
        segments=[segments_of(scores) for scores in COMET_RUNS],
    log:
        f"logs/comet/{STUDY.name}.log",
    conda:
        "../../envs/environment.yaml"
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: next(iter(COMET_RUNS.values())), least_mem_mb=6000),
        habits=DEVICE,
    params:
        verbs=lambda w, threads: spec_file(
            comet_verbs(STUDY, COMET_RUNS, PLACES, [*DEVICE.split(), "--threads", str(threads)])
        ),
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of all runs of the study"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"


rule analyses:
    input:
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in ANALYSED_RUNS.values()})],
        models=[f"{run_dir(run)}/model.safetensors" for run in ANALYSED_RUNS.values()],
        records=[f"{run_dir(run)}/run.json" for run in ANALYSED_RUNS.values()],
    output:
        folders=directory(list(ANALYSED_RUNS)),
    log:
        f"logs/analyse/{STUDY.name}.log",
    conda:
        "../../envs/environment.yaml"
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: next(iter(ANALYSED_RUNS.values()))),
        habits=DEVICE,
    params:
        verbs=lambda w, threads: spec_file(
            analysis_verbs(STUDY, ANALYSED_RUNS, PLACES, [*DEVICE.split(), "--threads", str(threads)])
        ),
    message:
        "Looking into all runs of the study that figures show"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"
