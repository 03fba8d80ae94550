# Scores of hypotheses, and of the copied source as the lowest reference.
rule score:
    input:
        task=data_record,
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp",
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/scores.json",
    log:
        "logs/score/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    wildcard_constraints:
        fp=NOT_BUNDLED,
    localrule: True
    params:
        data=data_folder,
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
        task=data_record,
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
        data=data_folder,
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
        task=data_record,
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
    output:
        words="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/words.json",
    log:
        "logs/word-accuracy/{task}-{method}-seed{seed}-{fp}-{test_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=JOBS.memory(run_of),
        runtime=JOBS.time_to_translate(run_of),
        gpu=JOBS.gpu(run_of),
        device=PROJECT.device,
    params:
        data=data_folder,
        run=run_folder,
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "Counting right words of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt word-accuracy --run {params.run:q} --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.words:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"


rule score_copy:
    input:
        task=data_record,
    output:
        scores="results/tasks/{task}-{fp}/copied-{test_fp}/scores.json",
        hypotheses=directory("results/tasks/{task}-{fp}/copied-{test_fp}/hyp"),
    log:
        "logs/score/{task}-{fp}-copied-{test_fp}.log",
    localrule: True
    params:
        data=data_folder,
        limit=limit,
        code=code_of("score"),
    message:
        "Scoring the copied source of {wildcards.task}"
    shell:
        "mdnmt score --copy-source --task {params.data:q} --hypotheses {output.hypotheses:q} {params.limit:q}"
        " --out {output.scores:q} > {log:q} 2>&1"
