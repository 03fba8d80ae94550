# Scores of translations: those of a run, those of an external system, and the copied source as the lowest reference.
rule score:
    input:
        task=data_record,
        hypotheses="results/{text}/hyp",
    output:
        scores="results/{text}/scores.json",
    log:
        "logs/score/{text}.log",
    wildcard_constraints:
        text=SCORED,
    localrule: True
    params:
        data=data_folder,
        split=split_of_text,
        limit=limit,
        # Scores are beside the hypotheses; changed code replaces them.
        code=code_of("score"),
    message:
        "Scoring results/{wildcards.text}"
    shell:
        "mdnmt score --task {params.data:q} --split {params.split:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --out {output.scores:q} > {log:q} 2>&1"


# Metrics that are computed only for tables that name them: TER is slow, and the length ratio is no score.
rule requested_metric:
    input:
        task=data_record,
        hypotheses="results/{text}/hyp",
    output:
        scores="results/{text}/{metric}.json",
    log:
        "logs/{metric}/{text}.log",
    wildcard_constraints:
        text=TRANSLATED,
        metric="|".join(ON_REQUEST),
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        data=data_folder,
        limit=limit,
        code=code_of("score"),
    message:
        "{wildcards.metric} of results/{wildcards.text}"
    shell:
        "mdnmt score --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " --metrics {wildcards.metric:q} > {log:q} 2>&1"


# Made when the first score by COMET is missing; a later lock makes no score again.
rule comet_environment:
    output:
        made=COMET_ENVIRONMENT,
    log:
        "logs/comet/environment.log",
    localrule: True  # on the host that submits, which has a network
    message:
        "Installing COMET into an environment of its own, {output.made}"
    shell:
        "mdnmt comet --make-environment > {log:q} 2>&1"


# Only for tables that show COMET. It needs a large model.
rule comet:
    input:
        environment=ancient(COMET_ENVIRONMENT),
        task=data_record,
        hypotheses="results/{text}/hyp",
    output:
        scores="results/{text}/comet-{comet_fp}.json",
        segments="results/{text}/comet-{comet_fp}.segments.json",
    log:
        "logs/comet/{text}-{comet_fp}.log",
    wildcard_constraints:
        text=TRANSLATED,
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of_text),
        mem_mb=JOBS.memory(run_of_text, least=6000),
        runtime=JOBS.time_to_translate(run_of_text),
        gpu=JOBS.gpu(run_of_text),
        device=PROJECT.device,
    params:
        spec=STUDY.comet.model_dump_json(),
        data=data_folder,
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of results/{wildcards.text}"
    shell:
        ".venv-comet/bin/python -m mdnmt comet --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q}"
        " --spec {params.spec:q} --out {output.scores:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"


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


# Translations of external systems, checked against the test sets (docs/external.md).
rule external:
    input:
        task=data_record,
    output:
        hypotheses=directory("results/tasks/{task}-{fp}/external-{system}-{test_fp}/hyp"),
    log:
        "logs/external/{task}-{fp}-{system}-{test_fp}.log",
    localrule: True
    params:
        folder=external_folder,
        # The folder's name contains a hash of the files, which must not have changed since.
        sums=external_sums,
        data=data_folder,
        limit=limit,
        code=code_of("external"),
    message:
        "Checking the translations of {wildcards.task} by {wildcards.system}, which is not trained here"
    shell:
        "mdnmt external {params.folder:q} --task {params.data:q} --sums {params.sums:q} {params.limit:q}"
        " --out {output.hypotheses:q} > {log:q} 2>&1"
