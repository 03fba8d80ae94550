# The page. `snakemake report_partial` makes it from whatever exists, at any time.
COMMANDS = (f"snakemake --cores all --config study={STUDY.name}",)


rule runs_table:
    input:
        [f"{run_dir(run)}/run.json" for run in STUDY.makeable()],
    output:
        table=f"results/{STUDY.name}/runs.tsv",
    log:
        f"logs/runs/{STUDY.name}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        spec=json.dumps(show.run_rows(STUDY, PLACES)),
    message:
        f"Listing the runs of study {STUDY.name}"
    shell:
        "mdnmt runs --spec {params.spec:q} --out {output.table:q} > {log:q} 2>&1"


rule report:
    input:
        [PLACES.table(key, "json") for key in STUDY.config.tables],
        [PLACES.figure(key, "png") for key in STUDY.config.figures],
        [f"{test_dir(run)}/hyp" for run in STUDY.makeable()],
        rules.runs_table.output.table,
    output:
        page=f"results/{STUDY.name}/report.html",
    log:
        f"logs/report/{STUDY.name}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        spec=show.report_spec(STUDY, PLACES, COMMANDS).model_dump_json(),
    message:
        f"Writing results/{STUDY.name}/report.html"
    shell:
        "mdnmt report --spec {params.spec:q} --out {output.page:q} > {log:q} 2>&1"


rule report_partial:
    output:
        page=f"results/{STUDY.name}/report-partial.html",
    log:
        f"logs/report/{STUDY.name}-partial.log",
    conda:
        "../../envs/environment.yaml"
    params:
        runs=json.dumps(show.run_rows(STUDY, PLACES)),
        table=f"results/{STUDY.name}/runs-partial.tsv",
        spec=show.report_spec(STUDY, PLACES, COMMANDS, partial=True).model_dump_json(),
    message:
        f"Writing results/{STUDY.name}/report-partial.html from what is there"
    shell:
        "(mdnmt runs --spec {params.runs:q} --out {params.table:q}"
        " && mdnmt report --spec {params.spec:q} --out {output.page:q}) > {log:q} 2>&1"
