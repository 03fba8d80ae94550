# Is a system better than the baseline, or were its test sentences and its seeds lucky? See docs/how-we-judge.md.
rule significance:
    input:
        task=lambda w: ancient(task_file(STUDY.config.tables[w.key].task)),
        scores=lambda w: [
            f"{test_dir(run)}/scores.json" for runs in comparison.compared_runs(STUDY, w.key).values() for run in runs
        ],
        external=lambda w: [
            f"{PLACES.external(output)}/scores.json"
            for outputs in external_of_table(STUDY, w.key).values()
            for output in outputs
        ],
        comet=lambda w: [
            path for row in comparison.comparison(STUDY, w.key, PLACES)["comet"].values() for path in row.values()
        ],
    output:
        comparisons=f"results/{STUDY.name}/significance/{{key}}.json",
    log:
        f"logs/significance/{STUDY.name}-{{key}}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
        study=STUDY_OPTIONS,
    params:
        code=code_of("significance"),
        spec=lambda w: identity(comparison.comparison(STUDY, w.key, PLACES)),
    message:
        "Comparing the systems of {wildcards.key} with the baseline"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} significance/{wildcards.key:q} > {log:q} 2>&1"
