"""What enters the fingerprints of a study, held against every key of its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workflow.snakemake_project import Project, write_corpus

from mdnmt import fingerprint as fingerprints
from mdnmt.config.training import Training
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

STUDY, TASK, LAW = "config/studies/tiny.yaml", "config/tasks/tiny.yaml", "config/corpora/tiny-law.yaml"
METHOD = "config/methods/waldm-edc.yaml"
SLOWLY = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project.create(tmp_path / "project")
    monkeypatch.chdir(made.folder)
    return made


def look() -> Study:
    return resolve(Path("config"), "tiny", Path("resources/corpora"))


def runs(study: Study) -> dict[tuple[str, int], str]:
    return {(run.directory, run.seed): run.fingerprint for run in study.runs}


def addresses(study: Study) -> dict[str, Any]:
    def of(run: Run) -> tuple[str, str, str]:
        return run.fingerprint, study.decode_fingerprint(run), study.analysis_fingerprint

    tasks = {name: (task.fingerprint, study.copy_fingerprint(name)) for name, task in study.tasks.items()}
    return {**tasks, **{f"{run.directory}/{run.seed}": of(run) for run in study.runs}}


@pytest.mark.slow
@SLOWLY
@given(text=st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1).filter(str.strip))
def test_words_for_people_change_no_address(project: Project, text: str) -> None:
    before = addresses(look())
    for name, key in ((STUDY, "title"), (STUDY, "description"), (TASK, "title"), (LAW, "title"), (LAW, "licence")):
        project.update(name, **{key: text})
    project.update(LAW, homepage=text, citation=text)
    project.update(METHOD, **{"methods__waldm-edc__label": text})
    assert addresses(look()) == before


@pytest.mark.slow
def test_order_of_keys_comments_and_places_change_no_address(project: Project) -> None:
    before = addresses(look())
    for path in project.path("config").rglob("*.yaml"):
        value = yaml.safe_load(path.read_text())
        domains = value.get("domains") if "source_lang" in value else None
        value = dict(reversed(value.items()))
        # The order of domains is that of the labels: it counts, and so it stays.
        path.write_text(
            "# c\n" + yaml.safe_dump({**value, **({"domains": domains} if domains else {})}, sort_keys=False)
        )
    project.path("text/law").rename(project.path("elsewhere"))
    project.update(LAW, source__folder=str(project.path("elsewhere")), unpacked_bytes_max=5_000_000)
    project.update(STUDY, measure_repeats=2, comparison__num_resamples=7, copy_source=False, figures={})
    assert addresses(look()) == before


def test_other_names_for_the_same_corpus_change_no_address(project: Project) -> None:
    before = look().tasks["tiny"].fingerprint
    project.path(LAW).rename(project.path("config/corpora/renamed.yaml"))
    project.edit(TASK, "- tiny-law", "- renamed")
    assert look().tasks["tiny"].fingerprint == before


# Of keys that are not set; the first three take the place of another key, the next is of the task's domains.
UNSET = {
    "max_epochs": 2,
    "validate_every_epochs": 1,
    "batch_sentences": 8,
    "domain_sampling": {"temperature": 5},
    "decay_updates": 2,
}


def other(key: str, value: Any) -> Any:
    """Return a value of the same kind that is allowed where `value` is."""
    if value is None:
        return UNSET[key]
    if isinstance(value, str):
        choices = {"fp32": "bf16", "loss": "bleu", "inverse_sqrt": "polynomial", "average": "best"}
        choices |= {"auto": "plain", "off": "default"}
        return choices[value]
    if isinstance(value, tuple):
        return [0.8, 0.9]
    return value + 1


# The layout of batches changes rounding alone, as the device does.
@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(set(Training.model_fields) - {"layout"}))
def test_every_key_of_the_recipe_of_a_method_makes_its_runs_and_no_others(project: Project, key: str) -> None:
    own = {"schedule": "constant"} if key == "decay_updates" else {}
    project.update(STUDY, options__1={"match": {"method": "waldm-edc"}, "set": {"training": own}})
    before = look()
    spec = before.runs[0].spec
    assert spec is not None
    changed = other(key, spec.training.model_dump()[key])
    project.update(STUDY, options__1={"match": {"method": "waldm-edc"}, "set": {"training": {**own, key: changed}}})
    after = look()
    assert [run for run in runs(before) if runs(before)[run] != runs(after)[run]] == [("waldm-edc", 1)]
    assert after.tasks["tiny"].fingerprint == before.tasks["tiny"].fingerprint


def test_a_default_spelt_out_is_the_same_run(project: Project) -> None:
    before = addresses(look())
    project.update(METHOD, training={"adam_eps": Training().adam_eps}, architecture__proportion_smoothing=0.05)
    assert addresses(look()) == before


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("cleaning__max_tokens", 9),
        ("cleaning__max_copied_share", 0.5),
        ("split__seed", 2),
        ("segmentation__bpe_merge_operations", 26),
        ("vocabulary__min_count", 2),
        ("vocabulary__joint", False),
        ("domains__law__train", 50),
        ("domains__law__test", 6),
    ],
)
def test_every_option_of_a_task_makes_another_task_and_all_runs(project: Project, change: str, value: Any) -> None:
    before = addresses(look())
    project.update(TASK, **{change: value})
    after = addresses(look())
    assert all(before[name][0] != after[name][0] for name in before)


@pytest.mark.slow
def test_order_of_domains_and_content_of_text_count(project: Project) -> None:
    before = look().tasks["tiny"].fingerprint
    domains = yaml.safe_load(project.path(TASK).read_text())["domains"]
    project.update(TASK, domains=dict(reversed(domains.items())))
    turned = look().tasks["tiny"].fingerprint
    project.update(TASK, domains=domains)
    for lang in ("en", "fr"):
        project.path(f"text/law/train.{lang}").unlink()
    project.path("text/law").rmdir()
    write_corpus(project.path("text/law"), "law", seed=12)
    assert len({before, turned, look().tasks["tiny"].fingerprint}) == 3


@pytest.mark.slow
def test_beam_and_analysis_have_addresses_of_their_own(project: Project) -> None:
    before = look()
    project.update(STUDY, decoding__beam_size=3)
    wider = look()
    assert runs(wider) == runs(before)
    run = before.runs[0]
    assert wider.decode_fingerprint(run) != before.decode_fingerprint(run)
    assert wider.analysis_fingerprint == before.analysis_fingerprint
    assert wider.copy_fingerprint("tiny") == before.copy_fingerprint("tiny")
    project.update(STUDY, decoding={"beam_size": 2, "max_sentences": 3}, analysis__vector_sentences=6)
    fewer = look()
    assert fewer.analysis_fingerprint != before.analysis_fingerprint
    assert fewer.copy_fingerprint("tiny") != before.copy_fingerprint("tiny")
    assert runs(fewer) == runs(before)


@pytest.mark.slow
def test_more_seeds_keep_the_first(project: Project) -> None:
    before = runs(look())
    project.update(STUDY, seeds=3)
    after = runs(look())
    assert before.items() <= after.items() and len(set(after.values())) == 6
    assert runs(resolve(Path("config"), "tiny", Path("resources/corpora"), (1, 2, 3))) == after


@pytest.mark.slow
def test_a_method_may_have_more_seeds_than_the_others(project: Project) -> None:
    before = runs(look())
    project.update(STUDY, seeds=2, seeds_of={"mixed": 4})
    after = runs(look())
    assert before.items() <= after.items()
    assert {name: [seed for other, seed in after if other == name] for name, _ in after} == {
        "mixed": [1, 2, 3, 4],
        "waldm-edc": [1, 2],
    }
    asked = runs(resolve(Path("config"), "tiny", Path("resources/corpora"), 3))
    assert {seed for _, seed in asked} == {1, 2, 3} and len(asked) == 6, "seeds of the command line are for all"


@pytest.mark.parametrize("stage", sorted(fingerprints.STAGE_VERSIONS))
def test_the_version_of_each_stage_counts(project: Project, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    before = addresses(look())
    monkeypatch.setitem(fingerprints.STAGE_VERSIONS, stage, fingerprints.STAGE_VERSIONS[stage] + 1)
    after = addresses(look())
    (task, copied), (run, decoded, analysed) = (
        tuple(a != b for a, b in zip(before[name], after[name], strict=True)) for name in ("tiny", "mixed/1")
    )
    # Decodings and analyses stand in the run's folder, so that its address is part of theirs.
    everything = {"task": (True, True, True, False, False), "train": (False, False, True, False, False)}
    others = {"decode": (0, 0, 0, 1, 0), "score": (0, 1, 0, 0, 0), "analyse": (0, 0, 0, 0, 1)}
    others["labels"] = (0, 0, 0, 0, 0)  # of translations that are told a guess alone: test_studies_label_conditions.py
    assert (task, copied, run, decoded, analysed) == {**everything, **others}[stage]


def test_studies_share_what_they_have_in_common(project: Project) -> None:
    project.path("config/studies/other.yaml").write_text(project.path(STUDY).read_text())
    project.update("config/studies/other.yaml", methods=["mixed"], tables={}, figures={}, title="Other")
    there = resolve(Path("config"), "other", Path("resources/corpora"))
    assert runs(there).items() <= runs(look()).items()
    with pytest.raises(KeyError, match="has no run"):
        there.find("tiny", "mixed", 1, "00000000")
    assert there.find("tiny", "mixed", 1, there.runs[0].fingerprint) == there.runs[0]
