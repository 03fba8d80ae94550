"""Keys and values of the words already decoded, one cache a decoder layer."""

from __future__ import annotations

from torch import Tensor


class KeyValueCache:
    """A buffer that doubles when it is full, so that a step copies only its own word."""

    def __init__(self) -> None:
        self.length = 0
        self._keys: Tensor | None = None
        self._values: Tensor | None = None

    def append(self, k_BH1E: Tensor, v_BH1E: Tensor) -> tuple[Tensor, Tensor]:
        """Add the newest words and return all keys and values, each [B, H, length, E]."""
        new_length = self.length + k_BH1E.size(2)
        self._keys = self._grown(self._keys, k_BH1E, new_length)
        self._values = self._grown(self._values, v_BH1E, new_length)
        self._keys[:, :, self.length : new_length] = k_BH1E
        self._values[:, :, self.length : new_length] = v_BH1E
        self.length = new_length
        return self._keys[:, :, :new_length], self._values[:, :, :new_length]

    def _grown(self, buffer: Tensor | None, like_BH1E: Tensor, length: int) -> Tensor:
        if buffer is not None and buffer.size(2) >= length:
            return buffer
        batch, heads, _, width = like_BH1E.shape
        grown = like_BH1E.new_empty(batch, heads, max(16, 2 * length), width)
        if buffer is not None:
            grown[:, :, : self.length] = buffer[:, :, : self.length]
        return grown

    def select(self, rows: Tensor) -> None:
        """Keep the given rows of the batch, in the given order (beams that go on, sentences not yet finished)."""
        if self._keys is not None and self._values is not None:
            # With its spare room, so that the next append need not copy once more.
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)
