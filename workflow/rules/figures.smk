# Figures of the papers, from analyses and curves.
rule figure:
    input:
        parts=after_downloads(
            lambda w: [STUDY.config.figures[w.key].task],
            lambda w: figure_files(figure_specs.figure_spec(STUDY, w.key, PLACES)),
        ),
    output:
        png=report(
            f"results/{STUDY.name}/figures/{{key}}.png",
            caption="../report/figure.rst",
            category=lambda w: report_specs.citation(STUDY, w.key),
            subcategory="Figures",
            labels=lambda w: report_specs.labels(STUDY, w.key),
        ),
        pdf=f"results/{STUDY.name}/figures/{{key}}.pdf",
        json=f"results/{STUDY.name}/figures/{{key}}.json",
    log:
        f"logs/figure/{STUDY.name}-{{key}}.log",
    resources:
        **JOBS.light(),
    params:
        spec=lambda w: spec_file(figure_specs.figure_spec(STUDY, w.key, PLACES)),
        code=lambda w: code_of_figure(STUDY, w.key),
    message:
        "Figure {wildcards.key}"
    shell:
        "mdnmt figure --spec @{params.spec:q} --png {output.png:q} --pdf {output.pdf:q} --json {output.json:q}"
        " > {log:q} 2>&1"
