# Fetch and verify. Only the manifest is declared: Snakemake deletes declared outputs before it runs a job again, and
# a verified download should not be lost to that.
rule fetch:
    output:
        manifest="resources/corpora/{corpus}/corpus.json",
    log:
        "logs/fetch/{corpus}.log",
    wildcard_constraints:
        corpus="|".join(TO_FETCH) or "none",
    localrule: True
    resources:
        lock=str(CONFIG / "corpora.lock.yaml"),
    params:
        # The second argument makes this param derived: Snakemake does not compare derived params with the last job's. It
        # contains what the lock knows; `declared` and `lost` tell whether the job must run again.
        spec=lambda w, threads: spec_to_fetch(STUDY, w.corpus, CONFIG, CORPORA).model_dump_json(),
        folder=lambda w: f"resources/corpora/{w.corpus}",
        declared=lambda w: declared_corpus(STUDY, w.corpus),
        # With only a manifest, Snakemake would not notice that the files are gone.
        lost=lambda w: why_lost(spec_to_fetch(STUDY, w.corpus, CONFIG, CORPORA), CORPORA / w.corpus),
    message:
        "Fetching and verifying corpus {wildcards.corpus}"
    shell:
        # Progress, or the line with the error, goes to the log and to the terminal.
        "mdnmt fetch --spec {params.spec:q} --out {params.folder:q} --lock {resources.lock:q} 2>&1 | tee {log:q} >&2"


# For tasks with a corpus whose checksum is not known yet. On the next call it is known, and this job disappears.
checkpoint first_downloads:
    input:
        lambda w: [f"{CORPORA}/{name}/corpus.json" for name in DOWNLOADS.pending[w.task]],
    output:
        "resources/first-downloads/{task}.txt",
    log:
        "logs/first-downloads/{task}.log",
    wildcard_constraints:
        task="|".join(DOWNLOADS.pending) or "none",
    localrule: True
    resources:
        config=str(CONFIG),
    params:
        corpora=lambda w: DOWNLOADS.pending[w.task],
    message:
        "The corpora of task {wildcards.task} are recorded; planning its runs"
    shell:
        "mdnmt fetch --recorded {output:q} --config {resources.config:q} {params.corpora:q} > {log:q} 2>&1"
