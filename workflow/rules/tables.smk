# Tables in the layout of the papers, each in several formats.
rule table:
    input:
        parts=after_downloads(
            lambda w: [STUDY.config.tables[w.key].task],
            lambda w: table_spec(STUDY, w.key, PLACES).inputs(),
        ),
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
        spec=lambda w: identity(table_spec(STUDY, w.key, PLACES)),
        code=lambda w: code_of_table(STUDY, w.key, PLACES),
    message:
        "Table {wildcards.key}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} tables/{wildcards.key:q} > {log:q} 2>&1"
