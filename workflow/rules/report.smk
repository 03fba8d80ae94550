# The report. `make report-partial` writes it from whatever exists, at any time.
COMMANDS = (PROJECT.command,)


rule runs_table:
    input:
        records=after_downloads(all_tasks, lambda w: [f"{run_dir(run)}/run.json" for run in STUDY.makeable()]),
    output:
        table=f"results/{STUDY.name}/runs.tsv",
    log:
        f"logs/runs/{STUDY.name}.log",
    localrule: True
    params:
        spec=lambda w: spec_file(json.dumps(report_selection.run_rows(STUDY, PLACES))),
        code=code_of("list_runs"),
    message:
        f"Listing the runs of study {STUDY.name}"
    shell:
        "mdnmt list-runs --spec @{params.spec:q} --out {output.table:q} > {log:q} 2>&1"


rule report:
    input:
        tables=[PLACES.table(key, "json") for key in STUDY.config.tables],
        figures=[PLACES.figure(key, "png") for key in STUDY.config.figures],
        # The job does not read these. An edited file triggers the report, which then notices the edit.
        forms=TABLES + FIGURES,
        translations=after_downloads(all_tasks, translations),
        claims=CLAIMS,
        audits=[path for paper in STUDY.papers if (path := PLACES.audit(paper))],
        runs=rules.runs_table.output.table,
    output:
        page=report(
            f"results/{STUDY.name}/report.html",
            caption="../report/page.rst",
            category="The page",
            labels={"study": STUDY.name},
        ),
    log:
        f"logs/report/{STUDY.name}.log",
    localrule: True
    params:
        spec=lambda w: spec_file(report_selection.report_spec(STUDY, PLACES, COMMANDS)),
        code=lambda w: code_of_page("report", STUDY, PLACES),
    message:
        f"Writing results/{STUDY.name}/report.html"
    shell:
        "mdnmt report --spec @{params.spec:q} --out {output.page:q} > {log:q} 2>&1"


# The same from the files that exist now. Their list is a param, so a new file triggers these rules again.
rule table_partial:
    output:
        json=f"results/{STUDY.name}/partial/tables/{{key}}.json",
    log:
        f"logs/table/{STUDY.name}-{{key}}-partial.log",
    localrule: True
    params:
        spec=lambda w: spec_file(table_selection.table_spec(STUDY, w.key, PARTIAL, partial=True)),
        code=lambda w: code_of_table(STUDY, w.key, PLACES),
    message:
        "Table {wildcards.key}, from what exists"
    shell:
        "mdnmt table --spec @{params.spec:q} --json {output.json:q} > {log:q} 2>&1"


rule figure_partial:
    output:
        png=f"results/{STUDY.name}/partial/figures/{{key}}.png",
    log:
        f"logs/figure/{STUDY.name}-{{key}}-partial.log",
    localrule: True
    params:
        spec=lambda w: spec_file(figure_spec(STUDY, w.key, PARTIAL, partial=True)),
        code=lambda w: code_of_figure(STUDY, w.key),
    message:
        "Figure {wildcards.key}, from what exists"
    shell:
        "mdnmt figure --spec @{params.spec:q} --png {output.png:q} > {log:q} 2>&1"


rule report_partial:
    input:
        tables=[PARTIAL.table(key, "json") for key in STUDY.config.tables],
        figures=[PARTIAL.figure(key, "png") for key in STUDY.config.figures],
    output:
        page=f"results/{STUDY.name}/partial/report.html",
        runs=PARTIAL.runs_table,
    log:
        f"logs/report/{STUDY.name}-partial.log",
    localrule: True
    params:
        runs=spec_file(json.dumps(report_selection.run_rows(STUDY, PARTIAL))),
        spec=spec_file(report_selection.report_spec(STUDY, PARTIAL, COMMANDS, partial=True)),
        code=lambda w: [code_of("list_runs"), code_of_page("report", STUDY, PLACES)],
    message:
        f"Writing results/{STUDY.name}/partial/report.html from what exists"
    shell:
        "(mdnmt list-runs --spec @{params.runs:q} --out {output.runs:q}"
        " && mdnmt report --spec @{params.spec:q} --out {output.page:q}) > {log:q} 2>&1"


# All rules are known here, in the last file. Cheap stages, which have the hash of their code among their params, are
# made again after an edit of their rule's command, too.
for one in workflow.rules:
    if "code" in one.params.keys():
        one.set_params(command=lambda w, command=one.shellcmd: command)
