# Train one run, or go on with it. Its checkpoints, metrics.jsonl and lease stand in the same folder and are not
# declared, so that Snakemake never deletes them. Exit status 75 means: saved, start snakemake again.
rule train:
    input:
        task=lambda w: ancient(task_file(w.task)),
        # Its address is part of the run's own, so that an older file is never another one.
        initial=lambda w: ancient(start_file(w)),
        weights=lambda w: ancient(weights_file(w)),
    output:
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
    log:
        "logs/train/{task}-{method}-seed{seed}-{fp}.log",
    benchmark:
        "logs/benchmarks/train-{task}-{method}-seed{seed}-{fp}.jsonl"
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("train", run_of, "--open-mode=append"),
        habits=DEVICE,
        saving=saving,
    params:
        spec=lambda w: run_of(w).spec.model_dump_json(),
        data=lambda w: task_dir(w.task),
        folder=lambda w: run_dir(run_of(w)),
        initial=lambda w, input: ["--initial", input.initial] if input.initial else [],
    message:
        "Training {wildcards.method} on {wildcards.task}, seed {wildcards.seed} (watch {log})"
    shell:
        "mdnmt train --spec {params.spec:q} --method {wildcards.method:q} --task {params.data:q} --out {params.folder:q}"
        " {params.initial:q} --threads {threads} {resources.habits} {resources.saving}"
        " --job-minutes {resources.runtime} > {log:q} 2>&1"


rule toy_weights:
    output:
        config="resources/pretrained/toy--{name}/config.json",
    log:
        "logs/toy-weights/{name}.log",
    wildcard_constraints:
        name="[a-z0-9-]+",
    localrule: True
    params:
        folder=subpath(output.config, parent=True),
    message:
        "Making toy weights in place of pretrained ones"
    shell:
        "mdnmt toy-weights --out {params.folder:q} > {log:q} 2>&1"


# Time and memory, one run after the other: all cores are taken, so that nothing else runs beside it.
rule measure:
    input:
        records=lambda w: [ancient(f"{run_dir(run)}/run.json") for run in measured_runs(STUDY, w.task)],
    output:
        resources=f"results/{STUDY.name}/measure/{{task}}.json",
    log:
        f"logs/measure/{STUDY.name}-{{task}}.log",
    # Behind everything else that is ready, so that waiting for all cores holds nothing up.
    priority: -10
    threads: CORES
    resources:
        **JOBS.on_run("translate", lambda w: measured_runs(STUDY, w.task)[0], "--exclusive"),
        habits=DEVICE,
    params:
        runs=lambda w: json.dumps({run.directory: run_dir(run) for run in measured_runs(STUDY, w.task)}),
        decoding=lambda w: STUDY.decoding[w.task].model_dump_json(),
        data=lambda w: task_dir(w.task),
        repeats=STUDY.config.measure_repeats,
    message:
        "Measuring time and memory of the methods on {wildcards.task}, alone on the machine"
    shell:
        "mdnmt measure --runs {params.runs:q} --task {params.data:q} --decoding {params.decoding:q}"
        " --repeats {params.repeats} --threads {threads} {resources.habits} --out {output:q} > {log:q} 2>&1"
