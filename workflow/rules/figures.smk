# Figures of the papers, from analyses and curves.
rule figure:
    input:
        parts=figure_inputs,
    output:
        png=report(
            f"results/{STUDY.name}/figures/{{key}}.png",
            category="Figures",
            labels={"figure": "{key}"},
        ),
        pdf=f"results/{STUDY.name}/figures/{{key}}.pdf",
    log:
        f"logs/figure/{STUDY.name}-{{key}}.log",
    conda:
        "../../envs/environment.yaml"
    params:
        spec=lambda w: show.figure_spec(STUDY, w.key, PLACES).model_dump_json(),
    message:
        "Figure {wildcards.key}"
    shell:
        "mdnmt figure --spec {params.spec:q} --png {output.png:q} --pdf {output.pdf:q} > {log:q} 2>&1"
