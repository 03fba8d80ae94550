# Words whose translation depends on the domain: find them in the training text, count them in the translations.
rule ambiguous_words:
    input:
        task=data_record,
    output:
        words="results/tasks/{task}-{fp}/ambiguous-words.json",
    log:
        "logs/ambiguity/{task}-{fp}-words.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        data=data_folder,
        code=code_of("ambiguous_words"),
    message:
        "Finding ambiguous words in the training text of {wildcards.task}"
    shell:
        "mdnmt ambiguous-words --task {params.data:q} --out {output.words:q} > {log:q} 2>&1"


rule ambiguity:
    input:
        words=lambda w: f"{task_dir(w.task)}/ambiguous-words.json",
        hypotheses=lambda w: [f"{test_dir(run)}/hyp" for run in task_selection.ambiguous_systems(STUDY, w.task)],
    output:
        counts=f"results/{STUDY.name}/ambiguity/{{task}}.json",
    log:
        f"logs/ambiguity/{STUDY.name}-{{task}}.log",
    resources:
        **JOBS.sbatch(),
        mem_mb=4000,
        runtime=JOBS.minutes(120),
    params:
        spec=lambda w: spec_file(json.dumps(task_selection.choice_spec(STUDY, w.task, PLACES))),
        data=data_folder,
        limit=limit,
        code=code_of("ambiguity"),
    message:
        "Counting how ambiguous words of {wildcards.task} are translated"
    shell:
        "mdnmt ambiguity --task {params.data:q} --words {input.words:q} --spec @{params.spec:q} {params.limit:q}"
        " --out {output.counts:q} > {log:q} 2>&1"
