# A whole run in one job: for runs so small that starting Python three times would take longer than they do.
ruleorder: whole > told > train > decode > score


rule whole:
    input:
        task=lambda w: ancient(task_file(w.task)),
        initial=lambda w: ancient(start_file(w)),
        weights=lambda w: ancient(weights_file(w)),
    output:
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
        hypotheses=directory(f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{WHOLE_TEST['given']}/hyp"),
        scores=f"results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{WHOLE_TEST['given']}/scores.json",
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
        decoding=lambda w: STUDY.decoding[w.task].model_dump_json(),
        data=lambda w: task_dir(w.task),
        folder=lambda w: run_dir(run_of(w)),
        initial=lambda w, input: ["--initial", input.initial] if input.initial else [],
        limit=limit,
        # Changed scoring runs all three verbs again; the first finds its last checkpoint and trains nothing.
        code=code_of("score"),
    message:
        "Training, decoding and scoring {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt train --spec {params.spec:q} --method {wildcards.method:q} --task {params.data:q}"
        " --out {params.folder:q} {params.initial:q} --threads {threads} {resources.habits} {resources.saving}"
        " --job-minutes {resources.runtime} then decode --run {params.folder:q} --task {params.data:q} --spec {params.decoding:q}"
        " --out {output.hypotheses:q} --threads {threads} {resources.habits}"
        " then score --task {params.data:q} --hypotheses {output.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " > {log:q} 2>&1"


# The same run told another domain, none, and a guess: three translations, one start of Python.
rule told:
    input:
        task=lambda w: ancient(task_file(w.task)),
        model="results/runs/{task}/{method}/seed{seed}-{fp}/model.safetensors",
        predicted=lambda w: labels_file(w.task),
    output:
        hypotheses=directory(
            expand(
                "results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{test_fp}/hyp",
                test_fp=[WHOLE_TEST[labels] for labels in LABELS[1:]],
            )
        ),
        scores=expand(
            "results/runs/{{task}}/{{method}}/seed{{seed}}-{{fp}}/test-{test_fp}/scores.json",
            test_fp=[WHOLE_TEST[labels] for labels in LABELS[1:]],
        ),
    log:
        "logs/decode/{task}-{method}-seed{seed}-{fp}-told.log",
    wildcard_constraints:
        task="|".join(told_tasks(STUDY)) or "none",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", run_of),
        habits=DEVICE,
    params:
        verbs=lambda w, output, threads: told_verbs(
            STUDY, run_of(w), PLACES, output.hypotheses, output.scores, [*DEVICE.split(), "--threads", str(threads)]
        ),
        code=code_of("score"),
    message:
        "Translating the test sets of {wildcards.task} with {wildcards.method}, told other labels"
    shell:
        "mdnmt {params.verbs:q} > {log:q} 2>&1"
