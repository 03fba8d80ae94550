# Is a system better than the baseline, or were its test sentences lucky? Paired bootstrap over sentences.
rule significance:
    input:
        task=lambda w: ancient(task_file(w.task)),
        scores=lambda w: [f"{test_dir(run)}/scores.json" for run in STUDY.makeable(w.task)],
    output:
        comparisons=f"results/{STUDY.name}/significance/{{task}}.json",
    log:
        f"logs/significance/{STUDY.name}-{{task}}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        version=STAGE_VERSIONS["score"],
        spec=lambda w: json.dumps(
            {
                "task": task_dir(w.task),
                "baseline": STUDY.config.comparison.baseline,
                "limit": STUDY.config.decoding.max_sentences,
                "num_resamples": STUDY.config.comparison.num_resamples,
                "systems": {
                    row: {str(run.seed): f"{test_dir(run)}/hyp" for run in runs}
                    for row, runs in show.by_row(STUDY.makeable(w.task)).items()
                },
            }
        ),
    message:
        "Comparing all systems on {wildcards.task} with the baseline"
    shell:
        "mdnmt significance --spec {params.spec:q} --out {output.comparisons:q} > {log:q} 2>&1"
