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
        spec=corpus_spec,
        folder=subpath(output.manifest, parent=True),
        declared=corpus_declared,
        lost=corpus_lost,
    message:
        "Fetching and verifying corpus {wildcards.corpus}"
    shell:
        # Progress, or the line with the error, goes to the log and to the terminal.
        "mdnmt fetch --spec {params.spec:q} --out {params.folder:q} --lock {resources.lock:q} 2>&1 | tee {log:q} >&2"


# For tasks with a corpus whose checksum is not known yet. On the next call it is known, and this job disappears.
checkpoint first_downloads:
    input:
        pending_manifests,
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
        corpora=pending_corpora,
    message:
        "The corpora of task {wildcards.task} are recorded; planning its runs"
    shell:
        "mdnmt fetch --recorded {output:q} --config {resources.config:q} {params.corpora:q} > {log:q} 2>&1"
