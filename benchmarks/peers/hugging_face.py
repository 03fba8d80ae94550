"""Hugging Face as a contestant: MarianMTModel, Seq2SeqTrainer and `generate`; see common.py.

MarianMTModel is post-norm. The Trainer counts batches in sentences alone; it is given batches by tokens through
`get_train_dataloader`, the method that its manual says to override for that.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

import torch
from common import (
    BATCH_TOKENS,
    LONGEST,
    MAX_LENGTH,
    SIZES,
    SPECIALS,
    Enough,
    Result,
    Updates,
    main,
    read_model,
    read_pieces,
    read_vocab,
    timed_translation,
)
from torch import Tensor
from transformers import (
    MarianConfig,
    MarianMTModel,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    TrainerCallback,
    logging,
)
from weights import layers_as_theirs, position_table, read_weights

PAD, BOS, EOS, UNK = range(len(SPECIALS))
IGNORED = -100  # what the toolkit puts where labels are padding
SENTENCES = 64  # of a batch that is translated
MAX_POSITIONS = 1024


def make_model(size: dict[str, int], vocab_size: int) -> MarianMTModel:
    config = MarianConfig(
        vocab_size=vocab_size,
        d_model=size["model_dim"],
        encoder_layers=size["encoder_layers"],
        decoder_layers=size["decoder_layers"],
        encoder_ffn_dim=size["ffn_dim"],
        decoder_ffn_dim=size["ffn_dim"],
        encoder_attention_heads=size["num_heads"],
        decoder_attention_heads=size["num_heads"],
        max_position_embeddings=MAX_POSITIONS,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    return MarianMTModel(config)


def read_ids(options: Namespace, name: str) -> list[list[int]]:
    """Return the sentences of a file as numbers, </s> at the end."""
    number = {piece: index for index, piece in enumerate(read_vocab(options.material))}
    sentences = read_pieces(options.material / name)
    return [[*(number.get(piece, UNK) for piece in sentence), EOS] for sentence in sentences]


def padded(sentences: list[list[int]], padding: int) -> Tensor:
    width = max(map(len, sentences))
    return torch.tensor([sentence + [padding] * (width - len(sentence)) for sentence in sentences])


def token_batches(lengths: list[tuple[int, int]]) -> list[list[int]]:
    """Return batches of at most BATCH_TOKENS target words, padding among them; pairs of like lengths together.

    Args:
        lengths: of target and source.
    """
    batches: list[list[int]] = []
    batch: list[int] = []
    for pair in sorted(range(len(lengths)), key=lengths.__getitem__):
        if (len(batch) + 1) * lengths[pair][0] > BATCH_TOKENS:
            batches.append(batch)
            batch = []
        batch.append(pair)
    batches.append(batch)
    return batches


class Batches:
    """A batch sampler: the batches of an epoch in random order."""

    def __init__(self, lengths: list[tuple[int, int]]) -> None:
        self.batches = token_batches(lengths)
        self.random = random.Random(1)

    def __iter__(self) -> Iterator[list[int]]:
        self.random.shuffle(self.batches)
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class Pairs(torch.utils.data.Dataset[tuple[list[int], list[int]]]):
    def __init__(self, options: Namespace) -> None:
        sides = (read_ids(options, "train.src"), read_ids(options, "train.tgt"))
        self.pairs = [pair for pair in zip(*sides) if max(map(len, pair)) <= MAX_LENGTH]  # noqa: B905

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> tuple[list[int], list[int]]:
        return self.pairs[index]


class Trainer(Seq2SeqTrainer):
    """The toolkit's trainer with batches by tokens; it remembers the target words of the newest one."""

    target_words = 0

    def get_train_dataloader(self) -> Any:
        sampler = Batches([(len(target), len(source)) for source, target in self.train_dataset.pairs])
        loader = torch.utils.data.DataLoader(
            self.train_dataset, batch_sampler=sampler, collate_fn=self.data_collator, pin_memory=False
        )
        return self.accelerator.prepare(loader)

    def training_step(self, model: Any, inputs: dict[str, Tensor], num_items_in_batch: Any = None) -> Tensor:
        self.target_words = int((inputs["labels"] != IGNORED).sum())
        return super().training_step(model, inputs, num_items_in_batch)


class Count(TrainerCallback):
    def __init__(self, updates: Updates) -> None:
        self.updates = updates
        self.trainer: Trainer | None = None

    def on_step_end(self, *_: Any, **__: Any) -> None:
        assert self.trainer is not None
        self.updates.add(self.trainer.target_words)


def train(options: Namespace) -> Result:
    """Train by Seq2SeqTrainer; --precision: auto (fp32) or bf16."""
    torch.set_num_threads(options.threads)
    logging.set_verbosity_error()
    model = make_model(SIZES[options.size], len(read_vocab(options.material)))

    def collate(pairs: list[tuple[list[int], list[int]]]) -> dict[str, Tensor]:
        sources, targets = (list(side) for side in zip(*pairs))  # noqa: B905
        source_ids, labels = padded(sources, PAD), padded(targets, IGNORED)
        return {
            "input_ids": source_ids,
            "attention_mask": (source_ids != PAD).long(),
            "labels": labels,
            "decoder_input_ids": model.prepare_decoder_input_ids_from_labels(labels),
        }

    updates = Updates(options)
    count = Count(updates)
    with tempfile.TemporaryDirectory() as folder:
        arguments = Seq2SeqTrainingArguments(
            output_dir=folder,
            use_cpu=True,
            bf16=options.precision == "bf16",
            max_steps=options.skip + options.updates + 1,
            label_smoothing_factor=0.1,
            learning_rate=1e-3,
            warmup_steps=4000,
            adam_beta2=0.98,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
        )
        trainer = Trainer(model=model, args=arguments, train_dataset=Pairs(options), data_collator=collate)
        count.trainer = trainer
        trainer.add_callback(count)
        with contextlib.suppress(Enough):
            trainer.train()
    parameters = sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
    return {**updates.result, "parameters": parameters, "precision": options.precision}


def convert(weights: dict[str, Tensor], size: dict[str, int]) -> MarianMTModel:
    """Return a model with our weights (post-norm)."""
    embedding = weights["output_weight"]
    model = make_model(size, embedding.size(0))
    state = {
        "model.shared.weight": embedding,
        "model.encoder.embed_tokens.weight": embedding,
        "model.decoder.embed_tokens.weight": embedding,
        "lm_head.weight": embedding,
        "final_logits_bias": torch.zeros(1, embedding.size(0)),
        "model.encoder.embed_positions.weight": position_table(MAX_POSITIONS, size["model_dim"]),
        "model.decoder.embed_positions.weight": position_table(MAX_POSITIONS, size["model_dim"]),
    }
    for side, self_attention in (("encoder", "attention"), ("decoder", "self_attention")):
        modules = {
            f"{self_attention}.out": "self_attn.out_proj",
            f"{self_attention}_residual.norm": "self_attn_layer_norm",
            "ffn.first": "fc1",
            "ffn.second": "fc2",
            "ffn_residual.norm": "final_layer_norm",
        }
        fused = {f"{self_attention}.qkv": ("self_attn", ("q_proj", "k_proj", "v_proj"))}
        if side == "decoder":
            modules |= {
                "cross_attention.query": "encoder_attn.q_proj",
                "cross_attention.out": "encoder_attn.out_proj",
                "cross_attention_residual.norm": "encoder_attn_layer_norm",
            }
            fused["cross_attention.key_value"] = ("encoder_attn", ("k_proj", "v_proj"))
        state |= layers_as_theirs(weights, side, f"model.{side}.layers", modules, fused)
    model.load_state_dict(state)
    return model.eval()


def decode(options: Namespace) -> Result:
    """Translate by `generate`, sentences of like length together."""
    torch.set_num_threads(options.threads)
    architecture = read_model(options.model)["architecture"]
    if architecture["norm"] != "post":
        raise SystemExit(f"{options.model}: norm: {architecture['norm']}; MarianMTModel takes norm: post alone")
    model = convert(read_weights(options.model), architecture)
    vocab = read_vocab(options.material)
    number = {piece: index for index, piece in enumerate(vocab)}

    def translate(sentences: list[list[str]]) -> list[list[str]]:
        found: list[list[str]] = [[] for _ in sentences]
        order = sorted(range(len(sentences)), key=lambda index: len(sentences[index]), reverse=True)
        for start in range(0, len(order), SENTENCES):
            chosen = order[start : start + SENTENCES]
            ids = [[*(number.get(piece, UNK) for piece in sentences[index]), EOS] for index in chosen]
            source_ids = padded(ids, PAD)
            output = model.generate(
                input_ids=source_ids,
                attention_mask=(source_ids != PAD).long(),
                num_beams=options.beam,
                length_penalty=1.0,
                early_stopping=True,
                max_new_tokens=LONGEST,
                suppress_tokens=[PAD, BOS],
                do_sample=False,
            )
            for index, row in zip(chosen, output.tolist()):  # noqa: B905
                found[index] = [vocab[word] for word in row if word not in (PAD, BOS, EOS)]
        return found

    return timed_translation(translate, options)


if __name__ == "__main__":
    main("transformers", train=train, decode=decode)
