# The domain of each test sentence as a classifier guesses it: what a method that needs labels has where there are none.
rule predicted_labels:
    input:
        task=lambda w: ancient(task_file(w.task)),
    output:
        labels="results/tasks/{task}-{fp}/predicted-labels-{labels_fp}.json",
    log:
        "logs/labels/{task}-{fp}-{labels_fp}.log",
    resources:
        **JOBS.light(),
    params:
        data=lambda w: task_dir(w.task),
    message:
        "Guessing the domains of the test sentences of {wildcards.task}"
    shell:
        "mdnmt predict-labels --task {params.data:q} --out {output.labels:q} > {log:q} 2>&1"
