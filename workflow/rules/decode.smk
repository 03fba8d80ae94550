# Translate the test sets (and the validation sets that a table asks for), and look inside the finished models.
rule decode:
    input:
        task=lambda w: ancient(task_file(w.task)),
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        predicted=predicted,
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp"),
    log:
        "logs/decode/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    benchmark:
        "logs/benchmarks/decode-{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.jsonl"
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", run_of),
        habits=DEVICE,
    params:
        spec=lambda w: STUDY.decoding_of(told_run(w)).model_dump_json(),
        data=lambda w: task_dir(w.task),
        run=lambda w: run_dir(run_of(w)),
        predicted=lambda w, input: ["--predicted", input.predicted] if input.predicted else [],
    message:
        "Translating the {wildcards.split} sets of {wildcards.task} with {wildcards.method}, seed {wildcards.seed}"
    shell:
        "mdnmt decode --run {params.run:q} --task {params.data:q} --split {wildcards.split:q} --spec {params.spec:q}"
        " {params.predicted:q} --out {output.folder:q} --threads {threads} {resources.habits} > {log:q} 2>&1"


rule analyse:
    input:
        task=lambda w: ancient(task_file(w.task)),
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/analysis-{test_fp}"),
    log:
        "logs/analyse/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", run_of),
        habits=DEVICE,
    params:
        spec=STUDY.config.analysis.model_dump_json(),
        data=lambda w: task_dir(w.task),
        run=lambda w: run_dir(run_of(w)),
    message:
        "Looking into {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt analyse --run {params.run:q} --task {params.data:q} --spec {params.spec:q} --out {output.folder:q}"
        " --threads {threads} {resources.habits} > {log:q} 2>&1"
