# Runs whose evidence is in the bundle: their records, translations, scores and analyses come from there. No rule trains
# them, so a file that the bundle lacks is a missing input, found before any job starts. Scores are not made again, because
# the bundle has the likelihoods, which perplexity needs, only of some studies; `mdnmt verify` makes the others again.
rule bundled_record:
    input:
        archive=bundled("run.json", "curves.tsv"),
    output:
        record="results/runs/{task}/{method}/seed{seed}-{fp}/run.json",
        curves="results/runs/{task}/{method}/seed{seed}-{fp}/curves.tsv",
    log:
        "logs/bundled/{task}-{method}-seed{seed}-{fp}.log",
    wildcard_constraints:
        fp=BUNDLED,
    localrule: True
    params:
        bundle=str(BUNDLE.folder),
    message:
        "Taking the record of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}, from the bundle"
    shell:
        "mdnmt bundle --bundle {params.bundle:q}"
        " --restore {wildcards.task:q}/{wildcards.method:q}/seed{wildcards.seed:q}-{wildcards.fp:q}"
        " --parts run.json curves.tsv > {log:q} 2>&1"


rule bundled_translations:
    input:
        archive=bundled("{w.split}-{w.test_fp}/hyp", "{w.split}-{w.test_fp}/scores.json"),
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/hyp"),
        scores="results/runs/{task}/{method}/seed{seed}-{fp}/{split}-{test_fp}/scores.json",
    log:
        "logs/bundled/{task}-{method}-seed{seed}-{fp}-{split}-{test_fp}.log",
    wildcard_constraints:
        fp=BUNDLED,
    localrule: True
    params:
        bundle=str(BUNDLE.folder),
    message:
        "Taking translations and scores of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}, from the bundle"
    shell:
        "mdnmt bundle --bundle {params.bundle:q}"
        " --restore {wildcards.task:q}/{wildcards.method:q}/seed{wildcards.seed:q}-{wildcards.fp:q}"
        " --parts {wildcards.split:q}-{wildcards.test_fp:q}/hyp {wildcards.split:q}-{wildcards.test_fp:q}/scores.json"
        " > {log:q} 2>&1"


rule bundled_analysis:
    input:
        archive=bundled("analysis-{w.test_fp}"),
    output:
        folder=directory("results/runs/{task}/{method}/seed{seed}-{fp}/analysis-{test_fp}"),
    log:
        "logs/bundled/{task}-{method}-seed{seed}-{fp}-analysis-{test_fp}.log",
    wildcard_constraints:
        fp=BUNDLED,
    localrule: True
    params:
        bundle=str(BUNDLE.folder),
    message:
        "Taking analyses of {wildcards.method} on {wildcards.task}, seed {wildcards.seed}, from the bundle"
    shell:
        "mdnmt bundle --bundle {params.bundle:q}"
        " --restore {wildcards.task:q}/{wildcards.method:q}/seed{wildcards.seed:q}-{wildcards.fp:q}"
        " --parts analysis-{wildcards.test_fp:q} > {log:q} 2>&1"
