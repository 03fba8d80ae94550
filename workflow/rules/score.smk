# Scores of hypotheses, and of the copied source: the floor that every system must leave behind.
rule score:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp",
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/scores.json",
    log:
        "logs/score/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    localrule: True
    params:
        data=lambda w: task_dir(w.task),
        limit=limit,
        # Scores stand beside the hypotheses: changed code scores again, in their place.
        code=code_of("score"),
    message:
        "Scoring {wildcards.method} on the {wildcards.split} sets of {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt score --task {params.data:q} --split {wildcards.split:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.scores:q} > {log:q} 2>&1"


# A table that names it asks for it: tercom's search is slow.
rule ter:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/ter.json",
    log:
        "logs/ter/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    resources:
        **JOBS.light(),
    params:
        data=lambda w: task_dir(w.task),
        limit=limit,
        code=code_of("score"),
    message:
        "TER of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt score --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " --metrics ter > {log:q} 2>&1"


# On generated text: which words are right, and what the model decided on them.
rule words:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
    output:
        words="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/words.json",
    log:
        "logs/words/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", run_of),
        habits=DEVICE,
    params:
        data=lambda w: task_dir(w.task),
        run=lambda w: run_dir(run_of(w)),
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "Counting right words of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt words --run {params.run:q} --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.words:q} --threads {threads} {resources.habits} > {log:q} 2>&1"


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
