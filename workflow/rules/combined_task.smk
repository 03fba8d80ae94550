# The data of a task in one job: for tasks so small that starting Python three times takes longer than they do.
ruleorder: task > arrays


# The earlier stages are in their own folders here too, but not declared.
rule task:
    input:
        corpus_files,
    output:
        manifest="results/tasks/{task}-{fp}/task.json",
        stats="results/tasks/{task}-{fp}/stats.json",
        leakage="results/tasks/{task}-{fp}/leakage.json",
    log:
        "logs/task/{task}-{fp}.log",
    benchmark:
        "logs/benchmarks/task-{task}-{fp}.jsonl"
    wildcard_constraints:
        fp=NOT_COMPLETE,
    threads: of_task(cores_for)
    resources:
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
        lock=str(CONFIG / "tasks.lock.yaml"),
    params:
        spec=of_task(data_spec),
        folder=subpath(output.manifest, parent=True),
    message:
        "Building the data of task {wildcards.task}"
    shell:
        "mdnmt task --spec {params.spec:q} --corpora resources/corpora --out {params.folder:q} --jobs {threads}"
        " --lock {resources.lock:q} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"
