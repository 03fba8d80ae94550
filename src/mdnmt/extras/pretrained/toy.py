"""Tiny, untrained models of the real classes in place of pretrained weights, for toy studies and tests."""

from __future__ import annotations

import io
import json
import string
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mdnmt.errors import ConfigError
from mdnmt.extras.pretrained.tokenizer import language_tokens
from mdnmt.extras.pretrained.weights import CONFIG
from mdnmt.fsio import write_bytes

_SIZES = {
    "d_model": 16,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "max_position_embeddings": 256,
    "scale_embedding": True,
    # With one layer, dropping it leaves nothing for LoRA to train.
    "encoder_layerdrop": 0.0,
    "decoder_layerdrop": 0.0,
}
# Every letter and every pair of different letters: enough for any word of the generated text.
_PAIRS = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase if a != b]
_LINES = (*string.ascii_letters, *string.digits, *string.punctuation, *_PAIRS)


def make_toy(kind: str, folder: Path, *, seed: int = 1, lines: Iterable[str] = _LINES, **sizes: Any) -> None:
    """Write a model to a folder; equal arguments give equal bytes.

    Args:
        kind: `mbart50`, `nllb`, `m2m100` or `marian`.
        folder: its files are written one by one, config.json last.
        seed: of the weights.
        lines: the text from which the pieces are learned.
        sizes: options of transformers' configuration, in place of those here.

    Raises:
        ConfigError: there is no such kind.
    """
    import torch
    import transformers

    kinds = {"mbart50": "mbart", "nllb": "m2m_100", "m2m100": "m2m_100", "marian": "marian"}
    if kind not in kinds:
        raise ConfigError(f"no toy weights {kind!r}; there are: {', '.join(kinds)}")
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        tokenizer = _tokenizer(kind, made, _pieces(lines))
        ids = [*tokenizer.convert_tokens_to_ids([*language_tokens(tokenizer).values()]), *tokenizer.all_special_ids]
        special = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
        start = tokenizer.pad_token_id if kind == "marian" else tokenizer.eos_token_id
        config = transformers.AutoConfig.for_model(
            kinds[kind],
            vocab_size=max(tokenizer.vocab_size, *(number + 1 for number in ids)),
            decoder_start_token_id=start,
            **special,
            **{**_SIZES, **sizes},
        )
        torch.manual_seed(seed)
        model = transformers.AutoModelForSeq2SeqLM.from_config(config)  # type: ignore[no-untyped-call]
        if kind == "marian":
            model.final_logits_bias.normal_()
        model.save_pretrained(made)
        tokenizer.save_pretrained(made)
        for path in sorted(made.iterdir(), key=lambda path: path.name == CONFIG):
            write_bytes(folder / path.name, path.read_bytes())


def _pieces(lines: Iterable[str]) -> bytes:
    """Return a sentencepiece model of at most 300 pieces."""
    import sentencepiece

    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=pieces,
        vocab_size=300,
        hard_vocab_limit=False,
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
    )
    return pieces.getvalue()


def _tokenizer(kind: str, folder: Path, model: bytes) -> Any:
    """Return the tokenizer of a kind, made in a folder of a sentencepiece model."""
    import sentencepiece
    import transformers

    (folder / "pieces").write_bytes(model)
    if kind in ("mbart50", "nllb"):
        return getattr(transformers, "MBart50Tokenizer" if kind == "mbart50" else "NllbTokenizer")(
            str(folder / "pieces")
        )
    read = sentencepiece.SentencePieceProcessor(model_proto=model)
    words = [read.id_to_piece(number) for number in range(3, len(read))]
    first, last = (["</s>", "<unk>"], ["<pad>"]) if kind == "marian" else (["<s>", "<pad>", "</s>", "<unk>"], [])
    vocab = {word: number for number, word in enumerate(dict.fromkeys([*first, *words, *last]))}
    (folder / "vocab").write_text(json.dumps(vocab))
    if kind == "m2m100":
        return transformers.M2M100Tokenizer(str(folder / "vocab"), str(folder / "pieces"))
    pieces = str(folder / "pieces")
    return transformers.MarianTokenizer(pieces, pieces, str(folder / "vocab"))
