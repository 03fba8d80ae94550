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
    conda:
        "../../envs/environment.yaml"
    params:
        spec=lambda w: spec_to_fetch(STUDY, w.corpus, CONFIG, CORPORA).model_dump_json(),
        folder=lambda w: f"resources/corpora/{w.corpus}",
        # Read by nobody: a manifest alone would hide from Snakemake that the files are gone.
        lost=lambda w: why_lost(spec_to_fetch(STUDY, w.corpus, CONFIG, CORPORA), CORPORA / w.corpus),
    message:
        "Fetching and verifying corpus {wildcards.corpus}"
    shell:
        # Standard error stays on the terminal: the progress bar, or the one line that says what is wrong.
        "mdnmt fetch --spec {params.spec:q} --out {params.folder:q} > {log:q}"
