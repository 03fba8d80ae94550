# Tables in the layout of the papers, each in several formats.
rule table:
    input:
        parts=after_downloads(
            lambda w: [STUDY.config.tables[w.key].task],
            lambda w: table_files(table_selection.table_spec(STUDY, w.key, PLACES)),
        ),
    output:
        csv=f"results/{STUDY.name}/tables/{{key}}.csv",
        markdown=f"results/{STUDY.name}/tables/{{key}}.md",
        latex=f"results/{STUDY.name}/tables/{{key}}.tex",
        html=report(
            f"results/{STUDY.name}/tables/{{key}}.html",
            caption="../report/table.rst",
            category=lambda w: report_selection.citation(STUDY, w.key),
            subcategory="Tables",
            labels=lambda w: report_selection.labels(STUDY, w.key),
        ),
        json=f"results/{STUDY.name}/tables/{{key}}.json",
    log:
        f"logs/table/{STUDY.name}-{{key}}.log",
    localrule: True
    params:
        spec=lambda w: spec_file(table_selection.table_spec(STUDY, w.key, PLACES)),
        code=lambda w: code_of_table(STUDY, w.key, PLACES),
    message:
        "Table {wildcards.key}"
    shell:
        "mdnmt table --spec @{params.spec:q} --csv {output.csv:q} --markdown {output.markdown:q}"
        " --latex {output.latex:q} --html {output.html:q} --json {output.json:q} > {log:q} 2>&1"
