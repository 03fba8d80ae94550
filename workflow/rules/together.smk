# All COMET in one job, all analyses, figures and tables: what they import takes longer than toys take.
COMET_RUNS = together.comet_runs(STUDY, PLACES)
ANALYSED_RUNS = together.analysed_runs(STUDY, PLACES)


ruleorder: comets > comet > toy_comet
ruleorder: analyses > analyse
ruleorder: figures > figure
ruleorder: tables > table


rule comets:
    input:
        tasks=[ancient(task_file(name)) for name in sorted({run.task for run in COMET_RUNS.values()})],
        hypotheses=[f"{test_dir(run)}/hyp" for run in COMET_RUNS.values()],
    output:
        weights=directory([TOY_COMET] if STUDY.comet.name == "toy-comet" else []),
        scores=list(COMET_RUNS),
        segments=[segments_of(scores) for scores in COMET_RUNS],
    log:
        f"logs/comet/{STUDY.name}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: next(iter(COMET_RUNS.values())), least_mem_mb=6000),
        habits=DEVICE,
    params:
        verbs=lambda w, threads: spec_file(
            together.comet_verbs(STUDY, COMET_RUNS, PLACES, [*DEVICE.split(), "--threads", str(threads)], TOY_COMET)
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
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", lambda w: next(iter(ANALYSED_RUNS.values()))),
        habits=DEVICE,
    params:
        verbs=lambda w, threads: spec_file(
            together.analysis_verbs(STUDY, ANALYSED_RUNS, PLACES, [*DEVICE.split(), "--threads", str(threads)])
        ),
    message:
        "Looking into all runs of the study that figures show"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"


rule figures:
    input:
        parts=together.figure_parts(STUDY, PLACES),
    output:
        png=[
            report(
                PLACES.figure(key, "png"),
                caption="../report/figure.rst",
                category=report_specs.citation(STUDY, key),
                subcategory="Figures",
                labels=report_specs.labels(STUDY, key),
            )
            for key in STUDY.config.figures
        ],
        others=[PLACES.figure(key, kind) for key in STUDY.config.figures for kind in ("pdf", "json")],
    log:
        f"logs/figure/{STUDY.name}.log",
    # Beside what only one core can do at the end: COMET, the tests that wait for it, and tables.
    priority: -5
    resources:
        **JOBS.light(),
    params:
        verbs=lambda w: spec_file(together.figure_verbs(STUDY, PLACES)),
        code=[code_of_figure(STUDY, key) for key in STUDY.config.figures],
    message:
        "All figures of the study"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"


rule tables:
    input:
        parts=together.table_parts(STUDY, PLACES),
    output:
        html=[
            report(
                PLACES.table(key, "html"),
                caption="../report/table.rst",
                category=report_specs.citation(STUDY, key),
                subcategory="Tables",
                labels=report_specs.labels(STUDY, key),
            )
            for key in STUDY.config.tables
        ],
        others=[PLACES.table(key, kind) for key in STUDY.config.tables for kind in ("csv", "md", "tex", "json")],
    log:
        f"logs/table/{STUDY.name}.log",
    localrule: True
    params:
        verbs=lambda w: spec_file(together.table_verbs(STUDY, PLACES)),
        code=[code_of_table(STUDY, key) for key in STUDY.config.tables],
    message:
        "All tables of the study"
    shell:
        "mdnmt @{params.verbs:q} > {log:q} 2>&1"
