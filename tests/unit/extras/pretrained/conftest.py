"""Tiny models of the real classes on disk, and runs of them on the toy task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.hub import list_files
from mdnmt.extras.pretrained.tokenizer import load_tokenizer
from mdnmt.extras.pretrained.toy import make_toy
from mdnmt.extras.pretrained.weights import folder_of
from mdnmt.tasks.task_data import TaskData

KINDS = ("mbart50", "nllb", "m2m100", "marian")
CODES = {"mbart50": ("en_XX", "fr_XX"), "nllb": ("eng_Latn", "fra_Latn"), "m2m100": ("en", "fr"), "marian": ("", "")}
SIZES = {"encoder_layers": 2, "max_position_embeddings": 40, "init_std": 0.3}  # so that outputs differ from each other
TRAINING = {
    "max_updates": 12,
    "max_tokens": 150,
    "learning_rate": 1e-2,
    "schedule": "polynomial",
    "warmup_updates": 3,
    "validate_every": 4,
    "validation_bleu_sentences": 0,
    "average_checkpoints": 0,
    "log_every": 5,
    "precision": "fp32",
}


@pytest.fixture(scope="session")
def pretrained_root(toy_task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a tiny model of each kind, two of them with pytorch_model.bin."""
    root, data = tmp_path_factory.mktemp("pretrained"), TaskData.load(toy_task)
    sides = [[line for domain in data.domains for line in data.text("train", domain, lang)] for lang in ("en", "fr")]
    for kind in KINDS:
        folder = folder_of(PretrainedConfig(weights=f"tiny/{kind}"), root)
        make_toy(kind, folder, lines=[*sides[0], *sides[1], "s </> _ XX é"], **SIZES)
        model = AutoModelForSeq2SeqLM.from_pretrained(folder)
        _teach(model, with_languages(folder, kind), sides)
        # What comes with released weights, and must not change a translation unseen.
        model.generation_config.update(num_beams=3, max_length=7, length_penalty=3.0)
        model.save_pretrained(folder)
        if kind in ("nllb", "marian"):
            (folder / "model.safetensors").unlink()
            torch.save(model.state_dict(), folder / "pytorch_model.bin")
        list_files(folder)
    return root


def with_languages(folder: Path, kind: str, target: str = "fr") -> Any:
    """Return transformers' own tokenizer for English and French."""
    tokenizer = load_tokenizer(folder)
    source, own = CODES[kind]
    if source:
        tokenizer.src_lang, tokenizer.tgt_lang = source, own if target == "fr" else {"mbart50": "de_DE"}[kind]
    return tokenizer


def _teach(model: Any, tokenizer: Any, sides: list[list[str]]) -> None:
    """Train a little, so that beams hold words and not one piece again and again."""
    adam = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=1e-2)
    batch = tokenizer(sides[0][::3], text_target=sides[1][::3], padding=True, return_tensors="pt")
    batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
    if model.config.model_type == "mbart":  # it finds the place of </s> by its padding
        batch["labels"][batch["labels"] == -100] = tokenizer.pad_token_id
        batch["decoder_input_ids"] = batch["labels"].roll(1, 1)
        batch["decoder_input_ids"][:, 0] = tokenizer.eos_token_id
        batch["labels"][batch["labels"] == tokenizer.pad_token_id] = -100
    for _ in range(60):
        adam.zero_grad()
        model(**batch).loss.backward()
        adam.step()


@pytest.fixture
def pretrained_spec(toy_task: Path) -> Callable[..., RunSpec]:
    """Return a function (use, kind, architecture=..., domains=..., **training) -> RunSpec."""
    data = TaskData.load(toy_task)

    def make(
        use: str = "fine-tune", kind: str = "mbart50", *, domains: Any = None, architecture: Any = None, **training: Any
    ) -> RunSpec:
        options = {"use": use, "weights": f"tiny/{kind}", **(architecture or {})}
        return RunSpec(
            task_fingerprint=data.fingerprint,
            builder="pretrained",
            architecture=PretrainedConfig.model_validate(options).model_dump(mode="json"),
            training=Training.model_validate({**TRAINING, **training}),
            domains=domains or data.domains,
            seed=3,
        )

    return make
