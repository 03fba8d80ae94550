# All COMET scores, figures and tables in one job each: for toy models, imports take longer than the work.
COMET_RUNS = combined_jobs.comet_runs(STUDY, PLACES)


ruleorder: comets > comet
ruleorder: figures > figure
ruleorder: tables > table


rule comets:
    input:
        environment=ancient(COMET_ENVIRONMENT),
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in COMET_RUNS.values()})],
        hypotheses=[f"{test_dir(run)}/hyp" for run in COMET_RUNS.values()],
        # Made by its own rule in every study. If two rules made it, Snakemake would make it again after a change of study,
        # and then leave out all jobs behind it, because this input is ancient (DAG.update_needrun masks them).
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        scores=list(COMET_RUNS),
        segments=[segments_of(scores) for scores in COMET_RUNS],
    log:
        f"logs/comet/{STUDY.name}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(any_run),
        mem_mb=JOBS.memory(any_run, least=6000),
        runtime=JOBS.time_to_translate(any_run),
        gpu=JOBS.gpu(any_run),
    params:
        verbs=lambda w, threads: spec_file(
            combined_jobs.comet_commands(
                STUDY, COMET_RUNS, PLACES, ["--device", PROJECT.device, "--threads", str(threads)]
            )
        ),
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of all runs of the study"
    shell:
        ".venv-comet/bin/python -m mdnmt @{params.verbs:q} > {log:q} 2>&1"


rule figures:
    input:
        parts=combined_jobs.figure_parts(STUDY, PLACES),
    output:
        png=[
            report(
                PLACES.figure(key, "png"),
                caption="../report/figure.rst",
                category=report_selection.citation(STUDY, key),
                subcategory="Figures",
                labels=report_selection.labels(STUDY, key),
            )
            for key in STUDY.config.figures
        ],
        others=[PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("pdf", "json")],
    log:
        f"logs/figure/{STUDY.name}.log",
    # Runs beside the serial jobs at the end: COMET, the tests that wait for it, and tables.
    priority: -5
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
        study=STUDY_OPTIONS,
    params:
        specs=planned_all(figure_spec, STUDY.config.figures),
        code=[code_of_figure(STUDY, key) for key in STUDY.config.figures],
    message:
        "All figures of the study"
    shell:
        "mdnmt exhibit --planned {params.specs:q} {resources.study} figures > {log:q} 2>&1"


rule tables:
    input:
        parts=combined_jobs.table_parts(STUDY, PLACES),
    output:
        html=[
            report(
                PLACES.table(key, "html"),
                caption="../report/table.rst",
                category=report_selection.citation(STUDY, key),
                subcategory="Tables",
                labels=report_selection.labels(STUDY, key),
            )
            for key in STUDY.config.tables
        ],
        others=[PLACES.table(key, kind) for key in STUDY.config.tables for kind in ("csv", "md", "tex", "json")],
    log:
        f"logs/table/{STUDY.name}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        specs=planned_all(table_spec, STUDY.config.tables),
        code=[code_of_table(STUDY, key, PLACES) for key in STUDY.config.tables],
    message:
        "All tables of the study"
    shell:
        "mdnmt exhibit --planned {params.specs:q} {resources.study} tables > {log:q} 2>&1"
