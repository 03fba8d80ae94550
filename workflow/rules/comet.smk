# COMET, for the tables that show it. It needs a large model, so it is a separate job.
rule comet:
    input:
        task=data_record,
        hypotheses="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/hyp",
        weights=ancient(TOY_COMET) if STUDY.comet.name == "toy-comet" else [],
    output:
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/comet-{comet_fp}.json",
        segments="results/runs/{task}/{method}/seed{seed}-{fp}/test-{test_fp}/comet-{comet_fp}.segments.json",
    log:
        "logs/comet/{task}-{method}-seed{seed}-{fp}-{test_fp}-{comet_fp}.log",
    threads: PROJECT.threads
    resources:
        **JOBS.sbatch(run_of),
        mem_mb=JOBS.memory(run_of, least=6000),
        runtime=JOBS.time_to_translate(run_of),
        gpu=JOBS.gpu(run_of),
        device=PROJECT.device,
    params:
        spec=STUDY.comet.model_dump_json(),
        data=data_folder,
        limit=limit,
        version=STAGE_VERSIONS["score"],
    message:
        "COMET of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}"
    shell:
        "mdnmt comet --task {params.data:q} --hypotheses {input.hypotheses:q} {params.limit:q} --spec {params.spec:q}"
        " --out {output.scores:q} --threads {threads} --device {resources.device} > {log:q} 2>&1"


rule toy_comet:
    output:
        folder=directory(TOY_COMET),
    log:
        "logs/comet/toy.log",
    localrule: True
    message:
        "Writing a toy model in place of COMET's weights"
    shell:
        "mdnmt comet --make-toy {output.folder:q} > {log:q} 2>&1"
