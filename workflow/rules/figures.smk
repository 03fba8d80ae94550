# Figures of the papers, from analyses and curves.
def figure_inputs(wildcards):
    spec = show.figure_spec(STUDY, wildcards.key, PLACES)
    if spec.kind == "curves":
        return [run.curves for system in spec.systems for run in system.runs]
    analysed = spec.systems if spec.kind == "tsne" else (spec.run,)
    return [run.analysis for run in analysed if run.analysis]


rule figure:
    input:
        figure_inputs,
    output:
        png=report(f"results/{STUDY.name}/figures/{{key}}.png", category="Figures", labels={"figure": "{key}"}),
        pdf=f"results/{STUDY.name}/figures/{{key}}.pdf",
    log:
        f"logs/figure/{STUDY.name}-{{key}}.log",
    params:
        spec=lambda w: show.figure_spec(STUDY, w.key, PLACES).model_dump_json(),
    message:
        "Figure {wildcards.key}"
    shell:
        "mdnmt figure --spec {params.spec:q} --png {output.png:q} --pdf {output.pdf:q} > {log:q} 2>&1"
