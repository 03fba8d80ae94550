# Every number of the study in one tidy table, which `mdnmt.results.load` reads (docs/notebook.md).
rule numbers:
    input:
        sources=after_downloads(all_tasks, lambda w: [source.path for source in number_sources(STUDY, PLACES).sources]),
    output:
        table=f"results/{STUDY.name}/numbers.csv",
        seal=f"results/{STUDY.name}/numbers.json",
    log:
        f"logs/numbers/{STUDY.name}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=lambda w: identity(number_sources(STUDY, PLACES)),
        code=lambda w: code_of_page("numbers", STUDY, PLACES),
    message:
        f"Collecting the numbers of study {STUDY.name}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} numbers > {log:q} 2>&1"
