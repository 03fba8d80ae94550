# Translate the test sets (and the validation sets that a table asks for), and analyse the finished models.
rule decode:
    input:
        task=data_record,
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        predicted=predicted,
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp"),
    log:
        "logs/decode/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    benchmark:
        "logs/benchmarks/decode-{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.jsonl"
    wildcard_constraints:
        fp=WITH_WEIGHTS,
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=JOBS.memory(run_of),
        runtime=JOBS.time_to_translate(run_of),
        gpu=JOBS.gpu(run_of),
        device=PROJECT.device,
    params:
        spec=decoding_spec,
        data=data_folder,
        run=run_folder,
        predicted=predicted_option,
    message:
        "Translating the {wildcards.split} sets of {wildcards.task} with {wildcards.method}, seed {wildcards.seed}"
    shell:
        "mdnmt decode --run {params.run:q} --task {params.data:q} --split {wildcards.split:q} --spec {params.spec:q}"
        " {params.predicted:q} --out {output.folder:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"


rule analyse:
    input:
        task=data_record,
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/analysis-{test_fp}"),
    log:
        "logs/analyse/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    wildcard_constraints:
        fp=WITH_WEIGHTS,
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=JOBS.memory(run_of),
        runtime=JOBS.time_to_translate(run_of),
        gpu=JOBS.gpu(run_of),
        device=PROJECT.device,
    params:
        spec=STUDY.config.analysis.model_dump_json(),
        data=data_folder,
        run=run_folder,
    message:
        "Analysing {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt analyse --run {params.run:q} --task {params.data:q} --spec {params.spec:q} --out {output.folder:q}"
        " --threads {threads} --device {resources.device} > {log:q} 2>&1"
