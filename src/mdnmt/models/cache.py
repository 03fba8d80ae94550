"""Caches of the keys and values of decoded tokens, one for each decoder layer, and which beam sees which token.

The beams of a sentence share prefixes, so their tokens form a tree. Each token is stored once per sentence, in a cell
that does not move when beams are reordered: a prefix is a row of a mask over the cells of its sentence. Every few
steps, the cells that no prefix sees any more are dropped.

Shapes: B sentences, W beams of each, N cells, H heads, E width of a head.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

STEPS_BETWEEN_DROPS = 8


class PrefixTree:
    """Records which cells make up each prefix of a sentence; the caches of all layers share one tree."""

    def __init__(self) -> None:
        self._steps = 0
        self._sees_BWN: Tensor | None = None

    @property
    def sees_B1WN(self) -> Tensor:
        """Return the mask for attention, True where a prefix sees a cell."""
        assert self._sees_BWN is not None, "a step comes first"
        return self._sees_BWN.unsqueeze(1)

    @property
    def width(self) -> int:
        """Return the number of prefixes of a sentence."""
        return self.sees_B1WN.size(2)

    def grow(self, num_sentences: int, width: int, device: torch.device) -> None:
        """Add one cell to every prefix: its newest token, which only this prefix sees."""
        own_BWW = torch.eye(width, dtype=torch.bool, device=device).expand(num_sentences, -1, -1)
        self._sees_BWN = own_BWW if self._sees_BWN is None else torch.cat([self._sees_BWN, own_BWW], dim=2)
        self._steps += 1

    def select(self, prefixes: Tensor, num_sentences: int) -> Tensor | None:
        """Keep the given prefixes of `num_sentences` sentences; return the cells to keep [B, N], or None to keep all.

        All sentences keep as many cells as the one that needs most; in the others, some of them are unseen.
        """
        assert self._sees_BWN is not None, "a step comes first"
        sees_PN = self._sees_BWN.flatten(0, 1).index_select(0, prefixes)
        sees_BWN = sees_PN.view(num_sentences, -1, sees_PN.size(1))
        cells_BN = None
        if self._steps % STEPS_BETWEEN_DROPS == 0 and sees_BWN.size(1) > 1:
            seen_BN = sees_BWN.any(1)
            most = int(seen_BN.sum(1).max())
            if most < seen_BN.size(1):
                cells_BN = seen_BN.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]
                sees_BWN = sees_BWN.gather(2, cells_BN.unsqueeze(1).expand(-1, sees_BWN.size(1), -1))
        self._sees_BWN = sees_BWN
        return cells_BN


class KeyValueCache:
    """Keys and values of a layer's cells, side by side in a buffer with room for further steps."""

    def __init__(self, tree: PrefixTree) -> None:
        self.tree = tree
        self.length = 0
        self._buffer_BHNX: Tensor | None = None  # X = 2 E: the key, then the value

    def append(self, k_BHWE: Tensor, v_BHWE: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest tokens and return all keys and values, each [B, H, N, E]."""
        width, size = k_BHWE.shape[2:]
        length = self.length + width
        buffer = self._buffer_BHNX
        if buffer is None:
            buffer = k_BHWE.new_empty(*k_BHWE.shape[:2], STEPS_BETWEEN_DROPS * width, 2 * size)
        if buffer.size(2) < length:
            room = self.length + max(length, STEPS_BETWEEN_DROPS * width)
            grown = buffer.new_empty(*buffer.shape[:2], room, 2 * size)
            grown[:, :, : self.length] = buffer[:, :, : self.length]
            buffer = grown
        buffer[:, :, self.length : length, :size] = k_BHWE
        buffer[:, :, self.length : length, size:] = v_BHWE
        self.length, self._buffer_BHNX = length, buffer
        return buffer[:, :, :length, :size], buffer[:, :, :length, size:]

    def select(self, sentences: Tensor | None, cells_BN: Tensor | None) -> None:
        """Keep some sentences (all, if None), and of those some cells (all, if None), in the given order."""
        buffer = self._buffer_BHNX
        if buffer is None:
            return
        if cells_BN is None:
            self._buffer_BHNX = buffer if sentences is None else buffer.index_select(0, sentences)
            return
        num_heads, room, width = buffer.shape[1:]
        rows_B = torch.arange(buffer.size(0), device=buffer.device) if sentences is None else sentences
        heads_H = torch.arange(num_heads, device=buffer.device)
        # Leave room behind the kept cells for the steps until the next drop; its content does not matter.
        kept_BN = F.pad(cells_BN, (0, STEPS_BETWEEN_DROPS * self.tree.width))
        place_BHN = ((rows_B[:, None] * num_heads + heads_H) * room)[:, :, None] + kept_BN[:, None]
        kept = buffer.view(-1, width).index_select(0, place_BHN.flatten())
        self._buffer_BHNX = kept.view(*place_BHN.shape, width)
        self.length = cells_BN.size(1)
