# Train or resume one run. Its checkpoints, metrics.jsonl and lease are in the same folder but are not declared, so that
# Snakemake never deletes them. Exit status 75 means: saved, start snakemake again.
rule train:
    input:
        task=data_record,
        # Its address is part of the run's address, so a file of an earlier run is never used by mistake.
        initial=start_file,
        weights=weights_file,
    output:
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
    log:
        "logs/train/{task}-{method}-seed{seed}-{fp}.log",
    benchmark:
        "logs/benchmarks/train-{task}-{method}-seed{seed}-{fp}.jsonl"
    wildcard_constraints:
        fp=WITH_WEIGHTS,
    priority: training_priority
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of, "--open-mode=append"),
        mem_mb=JOBS.memory(run_of),
        runtime=JOBS.time_to_train(run_of),
        gpu=JOBS.gpu(run_of),
        device=PROJECT.device,
        training_options=training_options,
    params:
        spec=run_spec,
        data=data_folder,
        folder=run_folder,
        initial=initial_option,
    message:
        "Training {wildcards.method} on {wildcards.task}, seed {wildcards.seed} (watch {log})"
    shell:
        "mdnmt train --spec {params.spec:q} --method {wildcards.method:q} --task {params.data:q} --out {params.folder:q}"
        " {params.initial:q} --threads {threads} --device {resources.device} {resources.training_options}"
        " --job-minutes {resources.runtime} > {log:q} 2>&1"


# Download pretrained weights at their revision, or write toy weights. As for corpora, only the list is declared.
rule fetch_weights:
    output:
        manifest="resources/pretrained/{name}/weights.json",
    log:
        "logs/fetch-weights/{name}.log",
    wildcard_constraints:
        name="[A-Za-z0-9._-]+",
    localrule: True
    resources:
        config=str(CONFIG),
    params:
        weights=weights_options,
    message:
        "Fetching pretrained weights {wildcards.name}"
    shell:
        "mdnmt fetch-weights {params.weights:q} --config {resources.config:q} > {log:q} 2>&1"


# Measure time and memory, one run after the other. The job takes all cores, so nothing else runs beside it.
rule measure:
    input:
        records=measured_records,
    output:
        resources=f"results/{STUDY.name}/measure/{{task}}.json",
    log:
        f"logs/measure/{STUDY.name}-{{task}}.log",
    # Last among the jobs that are ready, so that waiting for all cores delays no other job.
    priority: -10
    threads: CORES
    resources:
        **JOBS.sbatch(measured_run, "--exclusive"),
        mem_mb=JOBS.memory(measured_run),
        runtime=JOBS.time_to_translate(measured_run),
        gpu=JOBS.gpu(measured_run),
        device=PROJECT.device,
    params:
        runs=measured_folders,
        decoding=task_decoding,
        data=data_folder,
        repeats=STUDY.config.measure_repeats,
    message:
        "Measuring time and memory of the methods on {wildcards.task}, with the machine to itself"
    shell:
        "mdnmt measure --runs {params.runs:q} --task {params.data:q} --decoding {params.decoding:q}"
        " --repeats {params.repeats} --threads {threads} --device {resources.device} --out {output:q} > {log:q} 2>&1"
