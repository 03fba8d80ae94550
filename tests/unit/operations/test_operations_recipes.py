"""Every row of `paper` has the sizes and the recipe that its paper prints, and docs/recipes.md says so."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.deviations import Deviation, load_deviations
from mdnmt.operations.recipes_page import recipes_page, values_of
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Run, Study

ROOT = Path(__file__).resolve().parents[3]

# Typed from the papers: Jiang et al. sec. 4.2 and Fig. 6, Zhang et al. sec. 5.2, Song et al. sec. 5.1; Phan's from the
# public code. Peak rates of Noam's rule: factor x (width x warm-up) ^ -0.5.
LAYERS = {"encoder_layers": 6, "decoder_layers": 6}
JIANG: dict[str, Any] = {
    **LAYERS,
    "model_dim": 512,
    "ffn_dim": 1024,
    "num_heads": 4,
    "label_smoothing": 0.1,
    "max_epochs": 50,
    "learning_rate": 5e-4,
    "schedule": "inverse_sqrt",
    "warmup_updates": 4000,
    "warmup_init_learning_rate": 1e-7,
    "adam_betas": (0.9, 0.98),
    "weight_decay": 1e-4,
    "batch": "4000 tokens",
}
ZHANG: dict[str, Any] = {
    **LAYERS,
    "model_dim": 512,
    "ffn_dim": 1024,
    "num_heads": 8,
    "dropout": 0.1,
    "attention_dropout": 0.1,  # pre-norm has both in tensor2tensor's transformer_base_v2
    "activation_dropout": 0.1,
    "norm": "pre",
    "warmup_updates": 8000,
    "learning_rate": pytest.approx((512 * 8000) ** -0.5, rel=1e-3),
    "batch": "4096 tokens",
}
SONG: dict[str, Any] = {
    **LAYERS,
    "model_dim": 512,
    "ffn_dim": 2048,
    "batch": "64 sentences",
    "warmup_updates": 8000,
    "learning_rate": pytest.approx(2 * (512 * 8000) ** -0.5, rel=1e-3),
}
PHAN: dict[str, Any] = {**LAYERS, "model_dim": 512, "dropout": 0.2, "batch": "64 sentences", "warmup_updates": 4000}
OF_TASK = {"jiang2020": JIANG, "zhang2021": ZHANG, "song2026": SONG, "phan2022": PHAN}
# Systems that Song et al. compare with, "strictly" as in their own papers.
IN_SONG = {
    "waldm-edc": {**JIANG, "norm": "pre"},
    "waldm-encoder": {**JIANG, "norm": "pre"},
    "dsa": {**ZHANG, "guidance_weight": 0.0},
    "big": {**SONG, "size": "big", "learning_rate": pytest.approx(2 * (1024 * 8000) ** -0.5, rel=1e-3)},
}
SCORED = {"jiang2020": "average", "zhang2021": "average", "song2026": "best", "phan2022": "best"}


@pytest.fixture(scope="module")
def paper() -> Study:
    return resolve(ROOT / "config", "paper", ROOT / "resources/corpora")


def rows_of_papers(paper: Study) -> list[Run]:
    """Return the runs without those of our own row, Mixed fine-tuned on each domain, which has a recipe of its own."""
    return [run for run in paper.runs if run.method != "finetuned"]


def test_every_row_is_built_and_trained_as_its_paper_prints(paper: Study) -> None:
    checked = 0
    for run in rows_of_papers(paper):
        assert run.planned is not None
        of = str(paper.tasks[run.task].config.of)
        if run.planned.builder == "pretrained":
            continue
        printed = IN_SONG.get(run.method, SONG) if of == "song2026" else OF_TASK[of]
        values = values_of(run.planned)
        assert {key: values[key] for key in printed} == printed, f"{run.task}/{run.directory}"
        checked += 1
    assert checked > 400


def test_one_rule_says_which_weights_are_scored_in_all_rows_of_a_table(paper: Study) -> None:
    for run in rows_of_papers(paper):
        assert run.planned is not None
        if run.planned.architecture.get("use") != "zero-shot":  # which is not trained
            of = str(paper.tasks[run.task].config.of)
            assert run.planned.training.final_weights == SCORED[of], f"{run.task}/{run.directory}"


def test_the_other_weights_are_scored_without_training_again(paper: Study) -> None:
    other = resolve(ROOT / "config", "paper-alternative-weights", ROOT / "resources/corpora")
    assert [run.planned for run in other.runs] == [run.planned for run in paper.runs]
    assert {one.weights for one in other.decoding.values()} == {"alternative"}
    assert other.decode_fingerprint(other.runs[0]) != paper.decode_fingerprint(paper.runs[0])


def test_decoding_is_as_printed(paper: Study) -> None:
    for task, search in paper.decoding.items():
        form = (search.beam_size, search.length_penalty, search.length_penalty_form)
        expected = {"zhang2021": (6, 0.6, "gnmt"), "phan2022": (1, 1.0, "power")}
        assert form == expected.get(str(paper.tasks[task].config.of), (5, 1.0, "power"))


NUMBERS_AS_WORDS = ("no", "one", "two", "three", "four", "five")


def values_in_paper(paper: Study, row: Deviation, key: str) -> list[Any]:
    """Return each value that a key has on the tasks of a row's paper, in the rows that this paper's recipe trains."""
    tasks = {name: task for name, task in paper.tasks.items() if row.paper in ("all", str(task.config.of))}
    found: list[Any] = []
    if row.file == "tasks":
        found = [task.config.model_dump(mode="json") for task in tasks.values()]
    elif row.file == "studies":
        own = paper.config.model_dump(mode="json")
        found = [{**own, "decoding": paper.decoding[name].model_dump(mode="json")} for name in tasks]
    else:
        for run in rows_of_papers(paper):
            if run.task not in tasks or run.method in paper.papers[str(tasks[run.task].config.of)].compared:
                continue
            assert run.planned is not None
            builder = row.builder if key == row.key else None
            of_builder = builder in (None, "transformer", run.planned.builder)
            if of_builder and (run.planned.builder != "pretrained" or row.builder == "pretrained"):
                found.append(run.planned.model_dump(mode="json"))
    values: list[Any] = []
    for options in found:
        value: Any = options
        for part in key.split("."):
            value = value.get(part, row.default)  # an option that is left out at its default
        values += [] if value in values else [value]
    return values


@pytest.mark.parametrize("row", load_deviations(ROOT / "config"), ids=lambda row: row.id)
def test_a_deviation_says_what_the_resolved_recipe_has(paper: Study, row: Deviation) -> None:
    for key, expected in row.in_paper.items():
        found = values_in_paper(paper, row, key)
        assert found == list(expected), f"config/deviations.yaml: {row.id}: in_paper.{key}: write {found}"
        if len(found) == 1 and isinstance(found[0], int | float) and not isinstance(found[0], bool):
            [number] = found
            spelt = {f"{number:g}", f"{number:,}", str(number)}
            spelt |= {NUMBERS_AS_WORDS[int(number)]} if number in range(len(NUMBERS_AS_WORDS)) else set()
            said = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?|\w+", row.choice.lower())
            assert spelt & set(said), f"config/deviations.yaml: {row.id}: choice does not say {key}: {number}"


def test_what_a_paper_prints_for_one_language_pair_stands_on_its_tasks_alone(paper: Study) -> None:
    jiang = paper.papers["jiang2020"]
    norms = {pair: jiang.printed(pair).architecture.get("norm") for pair in ("EN-DE", "EN-FR", "ZH-EN", "EN-ZH")}
    assert norms == {"EN-DE": None, "EN-FR": None, "ZH-EN": "pre", "EN-ZH": None}
    # What is printed, the models have.
    for task in paper.tasks.values():
        said = paper.papers[str(task.config.of)].printed(task.config.pair)
        search = paper.decoding[task.name].model_dump()
        assert {key: search[key] for key in said.decoding} == said.decoding
        run = paper.runs_of(task.name, "mixed")[0]
        assert run.planned is not None
        values = values_of(run.planned)
        printed = {**said.architecture, **said.training}
        assert {key: values[key] for key in printed} == {
            key: tuple(value) if isinstance(value, list) else value for key, value in printed.items()
        }


def test_the_page_is_what_the_configuration_says(paper: Study) -> None:
    page = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    assert page == recipes_page(paper), "docs/recipes.md is behind the configuration: run `mdnmt recipes`"
