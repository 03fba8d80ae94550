"""Write a tiny, untrained mBART-50 in place of pretrained weights, for the smoke study."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

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
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("--out", type=Path, required=True, help="folder of the weights")


def run(args: argparse.Namespace) -> None:
    """Write the weights."""
    make_toy(args.out)


def make_toy(folder: Path, seed: int = 1) -> None:
    """Write weights, configuration and pieces of a toy mBART-50 to `folder`; the same bytes for the same seed."""
    import io
    import string
    import tempfile

    import sentencepiece
    import torch
    from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

    from mdnmt.extras.mbart50.weight_files import CONFIG, PIECES
    from mdnmt.fsio import write_bytes

    # Every letter and every pair of different letters: enough for any word of the generated text.
    pairs = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase if a != b]
    pieces = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*string.ascii_letters, *string.digits, *string.punctuation, *pairs]),
        model_writer=pieces,
        vocab_size=300,
        hard_vocab_limit=False,
        character_coverage=1.0,
        num_threads=1,
        minloglevel=2,
    )
    write_bytes(folder / PIECES, pieces.getvalue())
    torch.manual_seed(seed)
    sizes: Any = MBartConfig(vocab_size=MBart50Tokenizer(str(folder / PIECES)).vocab_size, **_SIZES)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as name:
        MBartForConditionalGeneration(sizes).save_pretrained(name)
        # The configuration is written last: if it exists, everything does.
        for path in sorted(Path(name).iterdir(), key=lambda path: path.name == CONFIG):
            write_bytes(folder / path.name, path.read_bytes())
