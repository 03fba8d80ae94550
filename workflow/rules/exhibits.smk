# What a study shows. One verb makes it all, `mdnmt exhibit STUDY KEY`; by hand, `mdnmt exhibit STUDY` shows whatever exists.
# Is a system better than the baseline, or were its test sentences and its seeds lucky? See docs/how-we-judge.md.
rule significance:
    input:
        task=compared_task,
        scores=compared_scores,
        comet=compared_comet,
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
        spec=planned(comparison.comparison),
    message:
        "Comparing the systems of {wildcards.key} with the baseline"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} significance/{wildcards.key:q} > {log:q} 2>&1"


# Tables in the layout of the papers, each in several formats.
rule table:
    input:
        parts=after_downloads(task_of_exhibit, table_inputs),
    output:
        csv=f"results/{STUDY.name}/tables/{{key}}.csv",
        markdown=f"results/{STUDY.name}/tables/{{key}}.md",
        latex=f"results/{STUDY.name}/tables/{{key}}.tex",
        html=report(
            f"results/{STUDY.name}/tables/{{key}}.html",
            caption="../report/table.rst",
            category=cited_paper,
            subcategory="Tables",
            labels=exhibit_labels,
        ),
        json=f"results/{STUDY.name}/tables/{{key}}.json",
    log:
        f"logs/table/{STUDY.name}-{{key}}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=planned(table_spec),
        code=code_of_this_table,
    message:
        "Table {wildcards.key}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} tables/{wildcards.key:q} > {log:q} 2>&1"


# Figures of the papers, from analyses and curves.
rule figure:
    input:
        parts=after_downloads(task_of_exhibit, figure_inputs),
    output:
        png=report(
            f"results/{STUDY.name}/figures/{{key}}.png",
            caption="../report/figure.rst",
            category=cited_paper,
            subcategory="Figures",
            labels=exhibit_labels,
        ),
        pdf=f"results/{STUDY.name}/figures/{{key}}.pdf",
        json=f"results/{STUDY.name}/figures/{{key}}.json",
    log:
        f"logs/figure/{STUDY.name}-{{key}}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
        study=STUDY_OPTIONS,
    params:
        spec=planned(figure_spec),
        code=code_of_this_figure,
    message:
        "Figure {wildcards.key}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} figures/{wildcards.key:q} > {log:q} 2>&1"


# Every number of the study in one tidy table, which `mdnmt.results.load` reads (docs/notebook.md), and a table of its runs.
rule numbers:
    input:
        sources=after_downloads(all_tasks, number_files),
        records=after_downloads(all_tasks, run_records),
    output:
        table=f"results/{STUDY.name}/numbers.csv",
        seal=f"results/{STUDY.name}/numbers.json",
        runs=f"results/{STUDY.name}/runs.tsv",
    log:
        f"logs/numbers/{STUDY.name}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=planned_page(number_sources),
        runs=planned_page(report_selection.run_rows),
        code=page_code("numbers"),
        code_of_runs=code_of("runs"),
    message:
        f"Collecting the numbers of study {STUDY.name}"
    shell:
        "mdnmt exhibit --planned {params.spec:q},{params.runs:q} {resources.study} numbers runs > {log:q} 2>&1"


# Check what the papers say against our tables and figures, and their own numbers against each other.
rule claims:
    input:
        evidence=after_downloads(all_tasks, claim_files),
    output:
        json=f"results/{STUDY.name}/claims/{{paper}}.json",
        markdown=f"results/{STUDY.name}/claims/{{paper}}.md",
    log:
        f"logs/claims/{STUDY.name}-{{paper}}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=planned_claims,
        code=page_code("claims"),
    message:
        "Judging the claims of {wildcards.paper}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} claims/{wildcards.paper:q} > {log:q} 2>&1"


rule audit:
    output:
        json="results/audit/{paper}.json",
    log:
        "logs/audit/{paper}.log",
    localrule: True
    resources:
        config=str(CONFIG),
    params:
        # The result depends on the papers' numbers, their checks and the code.
        identity=AUDIT,
        code=code_of("audit"),
    message:
        "Auditing the numbers that {wildcards.paper} prints"
    shell:
        "mdnmt audit --config {resources.config:q} --paper {wildcards.paper:q} --json {output.json:q} > {log:q} 2>&1"


# The report. `mdnmt exhibit STUDY` writes one from whatever exists, at any time.
rule report:
    input:
        tables=[PLACES.table(key, "json") for key in STUDY.config.tables],
        figures=[PLACES.figure(key, "png") for key in STUDY.config.figures],
        # The job does not read these. An edited file triggers the report, which then notices the edit.
        forms=TABLES + FIGURES,
        translations=after_downloads(all_tasks, translations),
        claims=CLAIMS,
        audits=[path for paper in STUDY.papers if (path := PLACES.audit(paper))],
        runs=rules.numbers.output.runs,
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
        spec=planned_page(report_selection.report_spec, (PROJECT.command,)),
        code=page_code("report"),
    message:
        f"Writing results/{STUDY.name}/report.html"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} report > {log:q} 2>&1"


# All rules are known here, in the last file. Cheap stages, which have the hash of their code among their params, are
# made again after an edit of their rule's command, too.
for one in workflow.modifier.rules:  # not those of a workflow that imports this one
    if "code" in one.params.keys():
        one.set_params(command=lambda w, command=one.shellcmd: command)
