"""The runs of a study as command lines: what each run still needs, in the order in which runs should be made."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from mdnmt.config.metrics import ON_REQUEST
from mdnmt.exhibits.shown_files import shown_files
from mdnmt.methods import pretrained
from mdnmt.operations.campaign.jobs import Campaign, Job, Step
from mdnmt.paths import weights_folder
from mdnmt.studies.label_conditions import translations_of
from mdnmt.studies.result_paths import ResultPaths
from mdnmt.studies.study import Run, Study, pretrained_weights


def campaign_of(
    study: Study, places: ResultPaths, order: Sequence[str], options: Sequence[str], left_out: Collection[str]
) -> Campaign:
    """Return the campaign of a study: exactly what its tables and figures read of each run, except COMET.

    Args:
        study: the study.
        places: the paths.
        order: addresses of the runs to make first; the others follow in the study's order.
        options: runtime options of `mdnmt train`.
        left_out: addresses of runs that are not made here, such as those that came without weights.
    """
    runs = {run.address: run for run in study.makeable() if run.address not in left_out}
    shown = set(map(str, shown_files(study, places)))
    chosen = [runs[name] for name in dict.fromkeys((*order, *runs)) if name in runs]
    jobs = tuple(_job(study, run, places, options, shown) for run in chosen)
    before = []
    for weights, revision in dict.fromkeys(found for run in chosen if (found := pretrained_weights(run))):
        command = ("fetch-weights", weights, *(("--revision", revision) if revision else ()))
        before.append(Step(arguments=command, makes=(f"{weights_folder(weights, revision)}/weights.json",)))
    for task in dict.fromkeys(run.task for run in chosen):
        labels = places.labels(task)
        if any(labels in step.arguments for job in jobs for step in job.steps):
            command = ("predict-labels", "--task", places.task(task), "--out", labels)
            before.append(Step(arguments=command, makes=(labels,)))
    return Campaign(study=study.name, jobs=jobs, before=tuple(before))


def _job(study: Study, run: Run, places: ResultPaths, options: Sequence[str], shown: Collection[str]) -> Job:
    start = study.start_of(run)
    assert run.spec is not None, run.address
    return Job(
        run=run.address,
        task=places.task(run.task),
        steps=tuple(_steps(study, run, places, options, shown)),
        after=start.address if start is not None else "",
        is_pretrained=pretrained(run.spec.builder) is not None,
    )


def _steps(
    study: Study, run: Run, places: ResultPaths, options: Sequence[str], shown: Collection[str]
) -> Iterator[Step]:
    """Yield the commands of a run, as the rules of the workflow write them."""
    assert run.spec is not None, run.address
    folder, task, limit = places.run(run), places.task(run.task), study.limit_of(run.task)
    start = study.start_of(run)
    initial = ["--initial", f"{places.run(start)}/model.safetensors"] if start is not None else []
    spec = run.spec.model_dump_json()
    train = ["train", "--spec", spec, "--method", run.directory, "--task", task, "--out", folder, *initial, *options]
    yield Step(arguments=tuple(train), makes=tuple(f"{folder}/{name}" for name in ("run.json", "model.safetensors")))
    for one in translations_of(study, run):
        test, data = places.test(one), ["--task", task, "--split", one.split]
        spec = study.decoding_of(one).model_dump_json()
        predicted = ["--predicted", places.labels(run.task)] if one.labels == "predicted" else []
        out = ["--spec", spec, *predicted, "--out", f"{test}/hyp"]
        yield Step(arguments=("decode", "--run", folder, *data, *out), makes=(f"{test}/hyp/sums.json",))
        score = ["score", *data, "--hypotheses", f"{test}/hyp", *limit, "--out"]
        yield Step(arguments=(*score, f"{test}/scores.json"), makes=(f"{test}/scores.json",))
        for metric in ON_REQUEST:
            if (scores := f"{test}/{metric}.json") in shown:
                yield Step(arguments=(*score, scores, "--metrics", metric), makes=(scores,))
        if (words := f"{test}/words.json") in shown:
            read = ["--run", folder, "--task", task, "--hypotheses", f"{test}/hyp", *limit]
            yield Step(arguments=("word-accuracy", *read, "--out", words), makes=(words,))
    if (out_folder := places.analysis(run)) in shown:
        spec = study.config.analysis.model_dump_json()
        command = ("analyse", "--run", folder, "--task", task, "--spec", spec, "--out", out_folder)
        yield Step(arguments=command, makes=(f"{out_folder}/sums.json",))
