"""The plain Transformer (Vaswani et al. 2017): the single-domain and the mixed rows of every table."""

from __future__ import annotations

from mdnmt.methods.assembly import Projections, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Architecture, Method, VocabSizes
from mdnmt.models.losses import LabelSmoothedCrossEntropy

config_type = Architecture


def build(config: Architecture, vocab: VocabSizes, num_domains: int) -> Method:
    """Build a Transformer that knows nothing of domains."""
    plain = Projections()
    model = assemble(config, vocab, encoder=make_encoder(config, plain), decoder=make_decoder(config, plain))
    return Method(model, [LabelSmoothedCrossEntropy(config.label_smoothing)])
