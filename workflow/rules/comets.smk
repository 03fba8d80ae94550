# COMET of all runs in one job: its library takes longer to import than toys take to be scored.
COMET_RUNS = comet_runs(STUDY)


ruleorder: comets > comet


rule comets:
    input:
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in COMET_RUNS})],
        hypotheses=[f"{test_dir(run)}/hyp" for run in COMET_RUNS],
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        **comet_files(COMET_RUNS, PLACES),
    log:
        f"logs/comet/{STUDY.name}.log",
    conda:
        "../../envs/environment.yaml"
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: COMET_RUNS[0], least_mem_mb=6000),
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
