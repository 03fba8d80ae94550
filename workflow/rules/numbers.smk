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
    params:
        study=STUDY.name,
        folder=lambda w, output: Path(output.table).parent,
        spec=lambda w: spec_file(number_sources(STUDY, PLACES)),
        code=lambda w: code_of_page("numbers", STUDY, PLACES),
    message:
        f"Collecting the numbers of study {STUDY.name}"
    shell:
        "mdnmt numbers --study {params.study:q} --spec @{params.spec:q} --out {params.folder:q} > {log:q} 2>&1"
