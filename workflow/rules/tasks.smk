# Clean, de-duplicate, split, segment, binarise. The folder's name depends on the content only, so a newer corpus file with
# the same content (a moved folder, a second download) triggers nothing.
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
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
        lock=str(CONFIG / "tasks.lock.yaml"),
    params:
        # The second argument makes this param derived: Snakemake does not compare derived params with the last job's. The
        # parts that matter are in the folder's name; a limit on the archive's size, for example, is not.
        spec=lambda w, threads: STUDY.tasks[w.task].spec.model_dump_json(),
        folder=lambda w: task_dir(w.task),
    message:
        "Building the data of task {wildcards.task}"
    shell:
        "mdnmt task --spec {params.spec:q} --corpora resources/corpora --out {params.folder:q}"
        " --jobs {threads} --lock {resources.lock:q} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"
