"""The domain as one more token of the source sentence (Zhang et al. 2021, sec. 5.3, after Tars and Fishel 2018)."""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mdnmt.models.context import DomainContext
from mdnmt.models.embedding import Embedding


class DomainTag(nn.Module):
    """One vector for each domain, placed before the first source token or after the last, with its own position.

    This is equivalent to one more entry of the source vocabulary for each domain, but does not change the task's data.
    """

    def __init__(self, model_dim: int, num_domains: int, *, position: Literal["first", "last"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_domains, model_dim))
        self.position = position
        nn.init.normal_(self.weight, std=model_dim**-0.5)

    def forward(
        self, source_BS: Tensor, mask_BS: Tensor, context: DomainContext, embedding: Embedding
    ) -> tuple[Tensor, Tensor]:
        """Return the embedded source with its tag, [B, S + 1, D], and the mask of its tokens, [B, S + 1]."""
        assert context.domain_B is not None, "a sentence without a domain gets no tag"
        tag_B1D = self.weight[context.domain_B].unsqueeze(1)
        embedded_BSD = F.embedding(source_BS, embedding.weight, padding_idx=embedding.padding_id)
        mask = F.pad(mask_BS, (1, 0), value=True)  # padding is on the right, so the tag shifts it by one
        tag_first = torch.cat([tag_B1D, embedded_BSD], dim=1)
        if self.position == "first":
            return embedding.place(tag_first), mask
        # A tag at the end of the text comes before </s>, the last token of every sentence.
        ends_BS1 = (mask_BS & ~F.pad(mask_BS[:, 1:], (0, 1), value=False)).unsqueeze(-1)
        tag_last = torch.cat([torch.where(ends_BS1, tag_B1D, embedded_BSD), torch.zeros_like(tag_B1D)], dim=1)
        is_last = (mask & ~F.pad(mask_BS, (0, 1), value=False)).unsqueeze(-1)
        return embedding.place(torch.where(is_last, tag_first, tag_last)), mask
