"""LDSPSLV, reconstructed: each domain learns which sub-layers of a deep model it uses (after Huang et al. 2024).

The paper's text was not available; docs/methods/ldspslv.md names the source of each part.
"""

from __future__ import annotations

from itertools import count

from torch import nn

from mdnmt.config.architectures.latent_depth import LatentDepthConfig
from mdnmt.methods.assembly import LayerParts, assemble, make_decoder, make_encoder
from mdnmt.methods.method import Method, VocabSizes
from mdnmt.models.latent_depth import BlockChoice, LatentResidual, SharedOrPrivateLinear
from mdnmt.models.latent_depth_losses import BlockCountLoss, BlockPriorLoss, BlockSharingLoss
from mdnmt.models.losses import LabelSmoothedCrossEntropy, Loss
from mdnmt.models.scheduled import Scheduled

# Sub-layers of a layer: attention and feed-forward block; in the decoder also cross-attention.
ENCODER_BLOCKS, DECODER_BLOCKS = 2, 3
# The sub-layer of each linear map of a layer, in the order in which the maps are made.
ENCODER_MAPS, DECODER_MAPS = (0, 0, 1, 1), (0, 0, 1, 1, 1, 2, 2)


config_type = LatentDepthConfig


def build(config: LatentDepthConfig, vocab: VocabSizes, num_domains: int) -> Method:
    """Build the deeper Transformer; in mode `depth`, its domains aim to use as many sub-layers as the plain one has."""
    deep = config.model_copy(
        update={
            "encoder_layers": config.encoder_layers * config.encoder_depth_factor,
            "decoder_layers": config.decoder_layers * config.decoder_depth_factor,
        }
    )
    in_encoder, in_decoder = ENCODER_BLOCKS * deep.encoder_layers, DECODER_BLOCKS * deep.decoder_layers
    temperature, hardness = _temperature(config), Scheduled(lambda now, end: float(now / end > config.soft_share))
    choice = BlockChoice(
        num_domains,
        in_encoder + in_decoder,
        initial_logit=config.initial_logit,
        temperature=temperature,
        hardness=hardness,
        may_skip=config.mode == "depth",
    )
    model = assemble(
        deep,
        vocab,
        encoder=make_encoder(deep, _parts(deep, num_domains, 0, ENCODER_MAPS)),
        decoder=make_decoder(deep, _parts(deep, num_domains, in_encoder, DECODER_MAPS)),
        block_choice=choice,
    )
    weights = [_weight(config, config.prior_weight, config.soft_share)]
    losses: list[Loss] = [LabelSmoothedCrossEntropy(config.label_smoothing), BlockPriorLoss(weights[0])]
    if config.mode == "depth":
        later = config.soft_share + config.anneal_share
        weights += [_weight(config, weight, later) for weight in (config.sharing_weight, config.count_weight)]
        target = ENCODER_BLOCKS * config.encoder_layers + DECODER_BLOCKS * config.decoder_layers
        losses += [BlockSharingLoss(weights[1]), BlockCountLoss(weights[2], target)]
    return Method(
        model,
        losses,
        # Under a common norm, a large gradient of the logits would shrink the Transformer's update.
        clip_apart=[choice.logits],
        schedules=[temperature, hardness, *weights],
        needs_domain=True,
        packs=True,
    )


def _parts(config: LatentDepthConfig, num_domains: int, first: int, maps: tuple[int, ...]) -> LayerParts:
    """Return the parts of a stack whose sub-layers are numbered from `first`, layer by layer."""
    if config.mode == "depth":
        numbers = count(first)

        def residual() -> nn.Module:
            return LatentResidual(
                config.model_dim, number=next(numbers), norm_order=config.norm, dropout=config.dropout
            )

        return LayerParts(residual=residual)
    places = (number + block for number in count(first, maps[-1] + 1) for block in maps)

    def linear(in_dim: int, out_dim: int) -> nn.Module:
        return SharedOrPrivateLinear(in_dim, out_dim, num_domains=num_domains, number=next(places))

    return LayerParts(self_attention=linear, cross_query=linear, cross_key_value=linear, out=linear, ffn=linear)


def _temperature(config: LatentDepthConfig) -> Scheduled:
    start, end = config.temperature_start, config.temperature_end
    return Scheduled(lambda update, max_updates: start + (end - start) * update / max_updates)


def _weight(config: LatentDepthConfig, weight: float, begin: float) -> Scheduled:
    """Return a weight that grows linearly from 0, beginning after the share `begin` of all updates."""
    return Scheduled(
        lambda update, max_updates: weight * min(1.0, max(0.0, update / max_updates - begin) / config.anneal_share)
    )
