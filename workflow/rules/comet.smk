# COMET of hypotheses, for the tables that have it: a large model of its own, so a job of its own.
rule comet:
    input:
        task=lambda w: ancient(task_file(w.task)),
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/comet-{comet_fp}.json",
        segments="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/comet-{comet_fp}.segments.json",
    log:
        "logs/comet/{task}-{method}-seed{seed}-{fp}-{test_fp}-{comet_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.on_run("translate", run_of, least_mem_mb=6000),
        habits=DEVICE,
    params:
        spec=STUDY.comet.model_dump_json(),
        data=lambda w: task_dir(w.task),
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt comet --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --spec {params.spec:q}"
        " --out {output.scores:q} --threads {threads} {resources.habits} > {log:q} 2>&1"


rule toy_comet:
    output:
        folder=directory(TOY_COMET),
    log:
        "logs/comet/toy.log",
    localrule: True
    message:
        "Making a toy in place of COMET's weights"
    shell:
        "mdnmt comet --make-toy {output.folder:q} > {log:q} 2>&1"
