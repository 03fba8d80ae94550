"""A folder of plug-ins that a test writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mdnmt import methods, plugins
from mdnmt.cli import main
from mdnmt.methods import build, validate
from mdnmt.methods.method import VocabSizes

OWN = """
import itertools, torch
from mdnmt.methods import transformer
COUNT = itertools.count()


class Config(transformer.config_type):
    scale: float = 0.1

config_type = Config

def build(config, vocab, num_domains):
    return transformer.build(config, vocab, num_domains)
"""

LOSS = """
class Shrink:
    name, reduction = "shrink", "sum"

    def __call__(self, output, batch):
        return output.hidden_ND.float().square().sum() * 1e-3

def loss(config):
    return Shrink()
"""
Write = Callable[..., Path]


def make(builder: str) -> methods.Method:
    sizes = {"model_dim": 8, "ffn_dim": 8, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    return build(builder, validate(builder, sizes, where="x"), VocabSizes(9, 9, True), 2)


def check_plugin(path: Path) -> int:
    """Return the status of `mdnmt check-plugin`, which names the folder of the file to all that come after it."""
    try:
        return main(["check-plugin", str(path)])
    finally:
        os.environ.pop(plugins.VARIABLE, None)
