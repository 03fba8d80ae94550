# Figures of the papers, from analyses and curves.
rule figure:
    input:
        parts=after_downloads(
            lambda w: [STUDY.config.figures[w.key].task],
            lambda w: rule_inputs(figure_spec(STUDY, w.key, PLACES).inputs()),
        ),
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
        spec=lambda w: identity(figure_spec(STUDY, w.key, PLACES)),
        code=lambda w: code_of_figure(STUDY, w.key),
    message:
        "Figure {wildcards.key}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} figures/{wildcards.key:q} > {log:q} 2>&1"
