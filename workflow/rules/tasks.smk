# Clean, de-duplicate, split, segment, binarise. The folder's name says what is in it, so a newer file of a corpus with
# the same content (a moved folder, a second download) makes nothing anew.
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
    threads: lambda w: 1 if STUDY.tasks[w.task].is_small else CORES
    resources:
        **JOBS.light(minutes=720, mem_mb=16000),
        lock=str(CONFIG / "tasks.lock.yaml"),
    params:
        # A second argument makes it derived: Snakemake holds no derived params against the last time's. What counts of
        # it stands in the folder's name; a bound on the archive's size, say, does not.
        spec=lambda w, threads: STUDY.tasks[w.task].spec.model_dump_json(),
        folder=lambda w: task_dir(w.task),
    message:
        "Making the data of task {wildcards.task}"
    shell:
        "mdnmt task --spec {params.spec:q} --corpora resources/corpora --out {params.folder:q}"
        " --jobs {threads} --lock {resources.lock:q} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"
