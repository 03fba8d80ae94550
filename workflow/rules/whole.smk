# A whole run in one job: for runs so small that starting Python three times would take longer than they do.
ruleorder: whole > train > decode > score


rule whole:
    input:
        task=lambda w: ancient(task_file(w.task)),
        initial=lambda w: ancient(start_file(w)),
        weights=lambda w: ancient(weights_file(w)),
    output:
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
        hypotheses=directory(f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{WHOLE_TEST}/hyp"),
        scores=f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{WHOLE_TEST}/scores.json",
    log:
        "logs/train/{task}-{method}-seed{seed}-{fp}.log",
    benchmark:
        "logs/benchmarks/train-{task}-{method}-seed{seed}-{fp}.jsonl"
    conda:
        "../../envs/environment.yaml"
    threads: PROJECT.threads
    resources:
        habits=DEVICE,
        saving=SAVING,
    params:
        spec=lambda w: run_of(w).spec.model_dump_json(),
        decoding=lambda w: STUDY.decoding[w.task].model_dump_json(),
        data=lambda w: task_dir(w.task),
        folder=lambda w: run_dir(run_of(w)),
        initial=lambda w, input: ["--initial", input.initial] if input.initial else [],
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "Training, decoding and scoring {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt train --spec {params.spec:q} --method {wildcards.method:q} --task {params.data:q}"
        " --out {params.folder:q} {params.initial:q} --threads {threads} {resources.habits} {resources.saving}"
        " then decode --run {params.folder:q} --task {params.data:q} --spec {params.decoding:q}"
        " --out {output.hypotheses:q} --threads {threads} {resources.habits}"
        " then score --task {params.data:q} --hypotheses {output.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " > {log:q} 2>&1"
