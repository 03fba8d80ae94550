# Check what the papers say against our tables and figures, and their own numbers against each other.
rule claims:
    input:
        tables=after_downloads(all_tasks, lambda w: [path for path in claims_of(w).tables.values() if path]),
        figures=lambda w: [path for path in claims_of(w).figures.values() if path],
    output:
        json=f"results/{STUDY.name}/claims/{{paper}}.json",
        markdown=f"results/{STUDY.name}/claims/{{paper}}.md",
    log:
        f"logs/claims/{STUDY.name}-{{paper}}.log",
    localrule: True
    resources:
        study=STUDY_OPTIONS,
    params:
        spec=lambda w: identity(claims_of(w)),
        code=lambda w: code_of_page("claims", STUDY, PLACES),
    message:
        "Judging the claims of {wildcards.paper}"
    shell:
        "mdnmt exhibit --planned {params.spec:q} {resources.study} claims/{wildcards.paper:q} > {log:q} 2>&1"


rule audit:
    output:
        json="results/audit/{paper}.json",
    log:
        "logs/audit/{paper}.log",
    localrule: True
    resources:
        config=str(CONFIG),
    params:
        # The result depends on the papers' numbers, their checks and the code.
        identity=AUDIT,
        code=code_of("audit"),
    message:
        "Auditing the numbers that {wildcards.paper} prints"
    shell:
        "mdnmt audit --config {resources.config:q} --paper {wildcards.paper:q} --json {output.json:q} > {log:q} 2>&1"
