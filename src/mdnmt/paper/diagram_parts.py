"""What a diagram of an architecture shows: blocks, layers, stacks, losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["plain", "exchanged", "added"]


@dataclass(frozen=True)
class Block:
    """A part of a model.

    Attributes:
        title: its name.
        lines: what it is.
        status: as in the plain Transformer, another in its place, or one that it does not have.
        module: its name in the model.
        parameters: its own, those left out that other parts share.
        beside: it reads the words, which pass it by: what it finds goes to other blocks or to a loss.
    """

    title: str
    lines: tuple[str, ...]
    status: Status
    module: str
    parameters: int = 0
    beside: bool = False


@dataclass(frozen=True)
class Layers:
    """Layers that are alike: how many, their blocks from below, how each block is wrapped."""

    count: int
    blocks: tuple[Block, ...]
    residual: str
    residual_status: Status


@dataclass(frozen=True)
class Stack:
    """Encoder or decoder from below: blocks and groups of layers."""

    name: str
    items: tuple[Block | Layers, ...]


@dataclass(frozen=True)
class Read:
    """A module whose records a loss reads, and whether their gradient goes on into what stands before the module."""

    module: str
    goes_on: bool


@dataclass(frozen=True)
class Link:
    """A loss of a method.

    Attributes:
        name: as it stands in metrics.jsonl.
        says: the first sentence of its class's docstring.
        reads: what it reads, in the order of the records.
        trains: names of the parameters that its gradient reaches.
    """

    name: str
    says: str
    reads: tuple[Read, ...]
    trains: frozenset[str]


@dataclass(frozen=True)
class Structure:
    """A method.

    Attributes:
        sizes: layers and widths in words.
        before: what is settled before anything else, for both stacks.
        encoder: with what reads its output.
        decoder: with the output layer.
        losses: the generation loss first.
        parameters: of everything but embeddings and output layer.
        plain: the same of the plain Transformer of these sizes.
        needs_domain: also when it translates.
    """

    sizes: str
    before: tuple[Block, ...]
    encoder: Stack
    decoder: Stack
    losses: tuple[Link, ...]
    parameters: int
    plain: int
    needs_domain: bool

    @property
    def blocks(self) -> list[Block]:
        """Return all blocks, those of layers that are alike once."""
        inside = (
            block
            for stack in (self.encoder, self.decoder)
            for item in stack.items
            for block in (item.blocks if isinstance(item, Layers) else (item,))
        )
        return [*self.before, *inside]
