# Words whose translation depends on the domain: find them in the training text, count them in the translations.
rule ambiguity:
    input:
        task=data_record,
        hypotheses=ambiguous_hypotheses,
    output:
        counts=f"results/{STUDY.name}/ambiguity/{{task}}.json",
    log:
        f"logs/ambiguity/{STUDY.name}-{{task}}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        spec=ambiguous_systems,
        data=data_folder,
        limit=limit,
        code=code_of("ambiguity"),
    message:
        "Counting how ambiguous words of {wildcards.task} are translated"
    shell:
        "mdnmt ambiguity --task {params.data:q} --spec {params.spec:q} {params.limit:q}"
        " --out {output.counts:q} > {log:q} 2>&1"


# Predict the domain of each test sentence, for methods that need a label where none is known.
rule predicted_labels:
    input:
        task=data_record,
    output:
        labels="results/tasks/{task}-{fp}/predicted-labels-{labels_fp}.json",
    log:
        "logs/labels/{task}-{fp}-{labels_fp}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        data=data_folder,
    message:
        "Predicting the domains of the test sentences of {wildcards.task}"
    shell:
        "mdnmt predict-labels --task {params.data:q} --out {output.labels:q} > {log:q} 2>&1"
