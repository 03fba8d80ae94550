# The data of a task in one job, and a whole run in one job: for runs so small that starting Python three times would take longer than they do.
ruleorder: task > arrays
ruleorder: train_decode_score > other_labels > train > decode > score


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
    threads: lambda w: 1 if STUDY.tasks[w.task].is_small else CORES
    resources:
        **JOBS.sbatch(),
        mem_mb=16000,
        runtime=JOBS.minutes(720),
        lock=str(CONFIG / "tasks.lock.yaml"),
    params:
        spec=lambda w: STUDY.tasks[w.task].spec.model_dump_json(),
        folder=subpath(output.manifest, parent=True),
    message:
        "Building the data of task {wildcards.task}"
    shell:
        "mdnmt task --spec {params.spec:q} --corpora resources/corpora --out {params.folder:q} --jobs {threads}"
        " --lock {resources.lock:q} > {log:q} 2>&1 && {{ grep '^warning:' {log:q} >&2 || true; }}"


rule train_decode_score:
    input:
        task=lambda w: ancient(task_file(w.task)),
        initial=lambda w: ancient(start_file(w)),
        weights=lambda w: ancient(weights_file(w)),
    output:
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
        hypotheses=directory(f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{TEST_FP['given']}/hyp"),
        scores=f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{TEST_FP['given']}/scores.json",
    log:
        "logs/train/{task}-{method}-seed{seed}-{fp}.log",
    benchmark:
        "logs/benchmarks/train-{task}-{method}-seed{seed}-{fp}.jsonl"
    priority: lambda w: JOBS.training_priority(run_of(w))
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of, "--open-mode=append"),
        mem_mb=lambda w: JOBS.mem_mb(run_of(w)),
        runtime=lambda w: JOBS.train_minutes(run_of(w)),
        gpu=lambda w: JOBS.gpus(run_of(w)),
        device=PROJECT.device,
        training_options=training_options,
    params:
        spec=lambda w: run_of(w).spec.model_dump_json(),
        decoding=lambda w: STUDY.decoding[w.task].model_dump_json(),
        data=lambda w: task_dir(w.task),
        folder=lambda w: run_dir(run_of(w)),
        initial=lambda w, input: ["--initial", input.initial] if input.initial else [],
        limit=limit,
        # Changed scoring runs all three verbs again; the first resumes from its last checkpoint and trains nothing.
        code=code_of("score"),
    message:
        "Training, decoding and scoring {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt train --spec {params.spec:q} --method {wildcards.method:q} --task {params.data:q}"
        " --out {params.folder:q} {params.initial:q} --threads {threads} --device {resources.device} {resources.training_options}"
        " --job-minutes {resources.runtime} then decode --run {params.folder:q} --task {params.data:q} --spec {params.decoding:q}"
        " --out {output.hypotheses:q} --threads {threads} --device {resources.device}"
        " then score --task {params.data:q} --hypotheses {output.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " > {log:q} 2>&1"


# The same run with wrong, missing and predicted labels: three translations, one start of Python.
rule other_labels:
    input:
        task=lambda w: ancient(task_file(w.task)),
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        predicted=lambda w: labels_file(w.task),
    output:
        hypotheses=directory(
            expand(
                "results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{test_fp}/hyp",
                test_fp=[TEST_FP[labels] for labels in LABELS[1:]],
            )
        ),
        scores=expand(
            "results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{test_fp}/scores.json",
            test_fp=[TEST_FP[labels] for labels in LABELS[1:]],
        ),
    log:
        "logs/decode/{task}-{method}-seed{seed}-{fp}-other-labels.log",
    wildcard_constraints:
        task="|".join(tasks_with_all_labels(STUDY)) or "none",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=lambda w: JOBS.mem_mb(run_of(w)),
        runtime=lambda w: JOBS.translate_minutes(run_of(w)),
        gpu=lambda w: JOBS.gpus(run_of(w)),
    params:
        verbs=lambda w, output, threads: label_condition_verbs(
            STUDY,
            run_of(w),
            PLACES,
            output.hypotheses,
            output.scores,
            ["--device", PROJECT.device, "--threads", str(threads)],
        ),
        code=code_of("score"),
    message:
        "Translating the test sets of {wildcards.task} with {wildcards.method}, under other label conditions"
    shell:
        "mdnmt {params.verbs:q} > {log:q} 2>&1"
