"""Proportions, domain attention and gates for each token of a sentence and its translation, as in `mdnmt analyse`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mdnmt.analysis.word_records import shares
from mdnmt.decode.translator import Translator
from mdnmt.models.context import DomainContext, Side

PLACES = 7  # decimals
# kind of record -> name of one of its components
KINDS = {"proportion": "domain", "domain_attention": "slot", "gate": "expert"}
# Text -> the sides whose layers read it. `memory` is the encoder's output as the decoder reads it.
SIDES: dict[str, tuple[Side, ...]] = {"source": ("encoder", "memory"), "target": ("decoder",)}


def decisions(
    translator: Translator,
    source: NDArray[np.int32],
    target: Sequence[int],
    domain: str | None,
    slots: Sequence[str] = (),
) -> dict[str, Any] | None:
    """Return the shares that the layers compute for a sentence and its translation; None if the method has none.

    `kind` is a key of `KINDS`. `components` names the domains, domain vectors or experts. `source` and `target` have
    the tokens, the names of the rows, and for each row and token one share per component; these sum to 1.

    Args:
        translator: a finished run.
        source: ids, with </s> at the end.
        target: ids, without <s> and </s>.
        domain: the sentence's domain, for methods that read it.
        slots: names of the domain vectors of DSA, if training ties them to domains.
    """
    model, device = translator.model, translator.device
    source_BS = torch.from_numpy(source.astype(np.int64))[None].to(device)
    target_BT = torch.tensor([[translator.target_vocab.bos, *target]], device=device)
    context = DomainContext(
        domain_B=None if domain is None else torch.tensor([translator.label(domain)], device=device)
    )
    with torch.inference_mode():
        memory = model.encode(source_BS, torch.ones_like(source_BS, dtype=torch.bool), context)
        model.decoder(model.target_embedding(target_BT), memory, context)
    kind = next((kind for kind in KINDS if any(recorded == kind for recorded, _ in context.records)), None)
    if kind is None:
        return None
    tokens = {
        "source": [*translator.source_vocab.decode(source[:-1].tolist()), "</s>"],
        "target": ["<s>", *translator.target_vocab.decode(list(target))],
    }
    texts = {text: _rows(context, kind, text, len(tokens[text])) for text in SIDES}
    count = next(values.shape[-1] for rows in texts.values() for _, values in rows)
    names = translator.domains if kind == "proportion" else slots
    components = [names[number] if number < len(names) else f"{KINDS[kind]} {number + 1}" for number in range(count)]
    found: dict[str, Any] = {"kind": kind, "components": components}
    for text, rows in texts.items():
        values = [values.astype(np.float64).round(PLACES).tolist() for _, values in rows]
        found[text] = {"tokens": tokens[text], "rows": [name for name, _ in rows], "values": values}
    return found


def _rows(context: DomainContext, kind: str, text: str, length: int) -> list[tuple[str, NDArray[np.float32]]]:
    """Return the name and the shares [T, K] of each row of a text's heat map."""
    rows: list[tuple[str, NDArray[np.float32]]] = []
    for side in SIDES[text]:
        layers = context.recorded(kind, side)
        if not layers:
            continue
        if kind == "gate":  # already shares; a gate that reads only the domain has one value for all tokens
            found = torch.stack([layer.float() for layer in layers]).cpu().numpy()
        else:
            found = shares(layers)
        name = "encoder output" if side == "memory" else f"{side} layer"
        for number, values_TK in enumerate(found[:, 0], 1):
            title = name if side == "memory" and len(found) == 1 else f"{name} {number}"
            rows.append((title, np.broadcast_to(values_TK, (length, values_TK.shape[-1]))))
    return rows
