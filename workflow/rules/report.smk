# The report. `mdnmt exhibit STUDY` writes one from whatever exists, at any time.
rule runs_table:
    input:
        records=after_downloads(all_tasks, lambda w: [f"{run_dir(run)}/run.json" for run in STUDY.makeable()]),
    output:
        table=f"results/{STUDY.name}/runs.tsv",
    log:
        f"logs/runs/{STUDY.name}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=lambda w: identity(report_selection.run_rows(STUDY, PLACES)),
        code=code_of("runs"),
    message:
        f"Listing the runs of study {STUDY.name}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} runs > {log:q} 2>&1"


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
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=lambda w: identity(report_selection.report_spec(STUDY, PLACES, (PROJECT.command,))),
        code=lambda w: code_of_page("report", STUDY, PLACES),
    message:
        f"Writing results/{STUDY.name}/report.html"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} report > {log:q} 2>&1"


# All rules are known here, in the last file. Cheap stages, which have the hash of their code among their params, are
# made again after an edit of their rule's command, too.
for one in workflow.rules:
    if "code" in one.params.keys():
        one.set_params(command=lambda w, command=one.shellcmd: command)
