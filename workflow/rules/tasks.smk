# The data of a task, in four stages. Each has a folder that is named by a hash of what it depends on, so another number of
# merges repeats codes and arrays only, and tasks with the same text share it. A stage that is complete has no rule any
# more: it is never made again, and what it was made from (earlier stages, corpora) may be removed.
rule text:  # clean, de-duplicate, split, find leakage
    input:
        corpus_files,
    output:
        manifest="results/tasks/text/{fp}/text.json",
    log:
        "logs/task/text-{fp}.log",
    benchmark:
        "logs/benchmarks/text-{fp}.jsonl"
    wildcard_constraints:
        fp=NOT_COMPLETE,
    threads: of_stage("text", cores_for)
    resources:
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
    params:
        spec=of_stage("text", data_spec),
        folder=subpath(output.manifest, parent=True),
        task=of_stage("text", name_of),
    message:
        "Cleaning and splitting the text of task {params.task}"
    shell:
        "mdnmt task --stage text --spec {params.spec:q} --corpora resources/corpora --out {params.folder:q}"
        " --jobs {threads} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"


rule tokens:  # tokenise, count words
    input:
        text=of_stage("tokens", stage_record("text")),
    output:
        manifest="results/tasks/tokens/{fp}/tokens.json",
    log:
        "logs/task/tokens-{fp}.log",
    benchmark:
        "logs/benchmarks/tokens-{fp}.jsonl"
    wildcard_constraints:
        fp=NOT_COMPLETE,
    threads: of_stage("tokens", cores_for)
    resources:
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
    params:
        spec=of_stage("tokens", data_spec),
        folder=subpath(output.manifest, parent=True),
        task=of_stage("tokens", name_of),
    message:
        "Tokenising the text of task {params.task}"
    shell:
        "mdnmt task --stage tokens --spec {params.spec:q} --out {params.folder:q} --jobs {threads} > {log:q} 2>&1"


rule codes:  # learn BPE merges and vocabularies on the training text
    input:
        tokens=of_stage("codes", stage_record("tokens")),
    output:
        manifest="results/tasks/codes/{fp}/codes.json",
    log:
        "logs/task/codes-{fp}.log",
    benchmark:
        "logs/benchmarks/codes-{fp}.jsonl"
    wildcard_constraints:
        fp=NOT_COMPLETE,
    threads: of_stage("codes", cores_for)
    resources:
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
    params:
        spec=of_stage("codes", data_spec),
        folder=subpath(output.manifest, parent=True),
        task=of_stage("codes", name_of),
    message:
        "Learning BPE and vocabularies of task {params.task}"
    shell:
        "mdnmt task --stage codes --spec {params.spec:q} --out {params.folder:q} --jobs {threads} > {log:q} 2>&1"


rule arrays:  # the task's own folder, whose hash covers its whole configuration
    input:
        text=of_task(stage_record("text")),
        tokens=of_task(stage_record("tokens")),
        codes=of_task(stage_record("codes")),
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
        "Writing the arrays of task {wildcards.task}"
    shell:
        "mdnmt task --stage arrays --spec {params.spec:q} --out {params.folder:q} --jobs {threads}"
        " --lock {resources.lock:q} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"
