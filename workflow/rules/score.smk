# Scores of hypotheses, and of the copied source as the lowest reference.
rule score:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp",
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/scores.json",
    log:
        "logs/score/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    wildcard_constraints:
        fp=NOT_BUNDLED,
    localrule: True
    params:
        data=lambda w: task_dir(w.task),
        limit=limit,
        # Scores are beside the hypotheses; changed code replaces them.
        code=code_of("score"),
    message:
        "Scoring {wildcards.method} on the {wildcards.split} sets of {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt score --task {params.data:q} --split {wildcards.split:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.scores:q} > {log:q} 2>&1"


# Only for tables that name TER, because tercom's search is slow.
rule ter:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/ter.json",
    log:
        "logs/ter/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        data=lambda w: task_dir(w.task),
        limit=limit,
        code=code_of("score"),
    message:
        "TER of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt score --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " --metrics ter > {log:q} 2>&1"


# On generated text: which words are right, and how the model's layers treat them.
rule word_accuracy:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
    output:
        words="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/words.json",
    log:
        "logs/word-accuracy/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=lambda w: JOBS.mem_mb(run_of(w)),
        runtime=lambda w: JOBS.translate_minutes(run_of(w)),
        gpu=lambda w: JOBS.gpus(run_of(w)),
        device=PROJECT.device,
    params:
        data=lambda w: task_dir(w.task),
        run=lambda w: run_dir(run_of(w)),
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "Counting right words of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt word-accuracy --run {params.run:q} --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.words:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"


rule score_copy:
    input:
        task=lambda w: ancient(task_file(w.task)),
    output:
        scores="results/tasks/{task}-{fp}/copied-{test_fp}/scores.json",
        hypotheses=directory("results/tasks/{task}-{fp}/copied-{test_fp}/hyp"),
    log:
        "logs/score/{task}-{fp}-copied-{test_fp}.log",
    localrule: True
    params:
        data=lambda w: task_dir(w.task),
        limit=limit,
        code=code_of("score"),
    message:
        "Scoring the copied source of {wildcards.task}"
    shell:
        "mdnmt score --copy-source --task {params.data:q} --hypotheses {output.hypotheses:q} {params.limit:q}"
        " --out {output.scores:q} > {log:q} 2>&1"
