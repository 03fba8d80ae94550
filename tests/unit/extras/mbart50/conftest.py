"""A tiny mBART-50 of the real classes on disk, and runs of it on the toy task."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.extras.mbart50.config import Mbart50Config
from mdnmt.extras.mbart50.weight_files import digest_of, folder_of
from mdnmt.tasks.task_data import TaskData

SIZES = {
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 1,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 40,
    "scale_embedding": True,
    "init_std": 0.3,  # so that outputs differ from each other
}
TRAINING = {
    "max_updates": 12,
    "max_tokens": 150,
    "learning_rate": 5e-3,
    "schedule": "polynomial",
    "warmup_updates": 3,
    "validate_every": 4,
    "validation_bleu_sentences": 0,
    "average_checkpoints": 0,
    "log_every": 5,
    "precision": "fp32",
}
MODELS = ("facebook/mbart-large-50", "facebook/mbart-large-50-many-to-many-mmt")


@pytest.fixture(scope="session")
def pretrained_root(toy_task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two tiny models, one as safetensors and one as pytorch_model.bin."""
    root, data = tmp_path_factory.mktemp("pretrained"), TaskData.load(toy_task)
    texts = [data.text("train", domain, lang) for domain in data.domains for lang in ("en", "fr")]
    corpus = root / "corpus.txt"
    corpus.write_text("".join(f"{line}\n" for text in texts for line in text) + "s </> _ XX é\n", encoding="utf-8")
    for seed, name in enumerate(MODELS):
        folder = folder_of(name, root)
        folder.mkdir()
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus),
            model_prefix=str(folder / "sentencepiece.bpe"),
            vocab_size=80,
            hard_vocab_limit=False,
            character_coverage=1.0,
            minloglevel=2,
        )
        tokenizer = MBart50Tokenizer(str(folder / "sentencepiece.bpe.model"))
        torch.manual_seed(seed)
        model = MBartForConditionalGeneration(MBartConfig(vocab_size=tokenizer.vocab_size, **SIZES))
        # What comes with released weights, and must not change a translation unseen.
        model.generation_config.update(num_beams=3, max_length=7, length_penalty=3.0)
        model.save_pretrained(folder)
        if seed:
            _teach(model, tokenizer, data)
            model.save_pretrained(folder)
            (folder / "model.safetensors").unlink()
            torch.save(model.state_dict(), folder / "pytorch_model.bin")
    return root


def _teach(model: MBartForConditionalGeneration, tokenizer: MBart50Tokenizer, data: TaskData) -> None:
    """Train a little, so that beams hold words and not one piece again and again."""
    tokenizer.src_lang, tokenizer.tgt_lang = "en_XX", "fr_XX"
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    sides = [[line for domain in data.domains for line in data.text("train", domain, lang)] for lang in ("en", "fr")]
    batch = tokenizer(sides[0][::3], text_target=sides[1][::3], padding=True, return_tensors="pt")
    batch["labels"][batch["labels"] == 1] = -100
    for _ in range(60):
        adam.zero_grad()
        model(**batch).loss.backward()
        adam.step()


@pytest.fixture
def mbart_spec(toy_task: Path, pretrained_root: Path) -> Callable[..., RunSpec]:
    """Return a function (use, architecture=..., **training) -> RunSpec, as the planning of a study makes it."""
    data = TaskData.load(toy_task)

    def make(use: str = "fine-tune", architecture: dict[str, Any] | None = None, **training: Any) -> RunSpec:
        options = {"use": use, "weights": MODELS[use == "zero-shot"], **(architecture or {})}
        config = Mbart50Config.model_validate(options)
        digest = digest_of(folder_of(config.weights, pretrained_root))
        return RunSpec(
            task_fingerprint=data.fingerprint,
            builder="mbart50",
            architecture=config.model_copy(update={"sha256": digest}).model_dump(mode="json"),
            training=Training.model_validate({**TRAINING, **training}),
            domains=data.domains,
            seed=3,
        )

    return make
