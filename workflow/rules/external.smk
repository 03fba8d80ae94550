# Translations of external systems: checked against the test sets and scored like those of a run (docs/external.md).
rule score_external:
    input:
        task=data_record,
    output:
        scores="results/tasks/{task}-{fp}/external-{system}-{test_fp}/scores.json",
        hypotheses=directory("results/tasks/{task}-{fp}/external-{system}-{test_fp}/hyp"),
    log:
        "logs/score/{task}-{fp}-external-{system}-{test_fp}.log",
    localrule: True
    params:
        folder=lambda w: external_of(w).folder,
        # The folder's name contains a hash of the files, which must not have changed since.
        sums=lambda w: json.dumps(external_of(w).sums),
        data=data_folder,
        limit=limit,
        code=[code_of("external"), code_of("score")],
    message:
        "Scoring the translations of {wildcards.task} by {wildcards.system}, which is not trained here"
    shell:
        "mdnmt external {params.folder:q} --task {params.data:q} --sums {params.sums:q} {params.limit:q}"
        " --out {output.hypotheses:q} then score --task {params.data:q} --hypotheses {output.hypotheses:q}"
        " {params.limit:q} --out {output.scores:q} > {log:q} 2>&1"


rule ter_external:
    input:
        task=data_record,
        hypotheses="results/tasks/{task}-{fp}/external-{system}-{test_fp}/hyp",
    output:
        scores="results/tasks/{task}-{fp}/external-{system}-{test_fp}/ter.json",
    log:
        "logs/ter/{task}-{fp}-external-{system}-{test_fp}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        data=data_folder,
        limit=limit,
        code=code_of("score"),
    message:
        "TER of {wildcards.system} on {wildcards.task}"
    shell:
        "mdnmt score --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --out {output.scores:q}"
        " --metrics ter > {log:q} 2>&1"


rule comet_external:
    input:
        task=data_record,
        hypotheses="results/tasks/{task}-{fp}/external-{system}-{test_fp}/hyp",
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        scores="results/tasks/{task}-{fp}/external-{system}-{test_fp}/comet-{comet_fp}.json",
        segments="results/tasks/{task}-{fp}/external-{system}-{test_fp}/comet-{comet_fp}.segments.json",
    log:
        "logs/comet/{task}-{fp}-external-{system}-{test_fp}-{comet_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(any_run),
        mem_mb=JOBS.memory(any_run, least=6000),
        runtime=JOBS.time_to_translate(any_run),
        gpu=JOBS.gpu(any_run),
        device=PROJECT.device,
    params:
        spec=STUDY.comet.model_dump_json(),
        data=data_folder,
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of {wildcards.system} on {wildcards.task}"
    shell:
        "mdnmt comet --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --spec {params.spec:q}"
        " --out {output.scores:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"
