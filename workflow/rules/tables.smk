# Tables in the papers' shape, each in every form that somebody may want to paste.
rule table:
    input:
        parts=table_inputs,
    output:
        csv=f"results/{STUDY.name}/tables/{{key}}.csv",
        markdown=f"results/{STUDY.name}/tables/{{key}}.md",
        latex=f"results/{STUDY.name}/tables/{{key}}.tex",
        html=f"results/{STUDY.name}/tables/{{key}}.html",
        json=f"results/{STUDY.name}/tables/{{key}}.json",
    log:
        f"logs/table/{STUDY.name}-{{key}}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        spec=lambda w: show.table_spec(STUDY, w.key, PLACES).model_dump_json(),
    message:
        "Table {wildcards.key}"
    shell:
        "mdnmt table --spec {params.spec:q} --csv {output.csv:q} --markdown {output.markdown:q}"
        " --latex {output.latex:q} --html {output.html:q} --json {output.json:q} > {log:q} 2>&1"
