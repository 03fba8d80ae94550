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
