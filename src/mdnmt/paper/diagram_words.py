"""An architecture in words: what its losses train, and the whole diagram for those who cannot see it."""

from __future__ import annotations

from mdnmt.paper.diagram_parts import Block, Layers, Link, Stack, Structure

# Parts of a model by the beginning of their parameters' names; a later loss may reach several.
_PARTS = {
    "source_embedding": "the source words",
    "encoder": "the encoder",
    "bridge": "the bridge",
    "decoder": "the decoder",
    "target_embedding": "the target words",
    "output_weight": "the output layer",
}


def millions(parameters: int) -> str:
    """Return a number of parameters: 1.05 M, 1.5 k."""
    if parameters >= 10**5:
        return f"{parameters / 1e6:.2f} M"
    return f"{parameters / 1e3:.1f} k" if parameters >= 1000 else str(parameters)


def summary(shown: Structure) -> str:
    """Return sizes and numbers of parameters."""
    ratio = shown.parameters / shown.plain
    same = shown.parameters == shown.plain
    beside = "as the plain Transformer" if same else f"{ratio:.2f} times the plain Transformer"
    gold = " Needs the gold domain, also to translate." if shown.needs_domain else ""
    return f"{shown.sizes}. {millions(shown.parameters)} parameters without embeddings, {beside}.{gold}"


def trains(shown: Structure, loss: Link) -> str:
    """Return what a loss trains."""
    if loss is shown.losses[0]:
        without = dict.fromkeys(block.title for block in shown.blocks if block.parameters and not _reaches(loss, block))
        return f"trains all but: {', '.join(without)}" if without else "trains all parameters"
    if not any(read.goes_on for read in loss.reads):
        return "trains what it reads, nothing else"
    outside = {name for name in loss.trains if not any(name.startswith(f"{read.module}.") for read in loss.reads)}
    parts = [says for part, says in _PARTS.items() if any(name.split(".")[0] == part for name in outside)]
    return f"trains what it reads; its gradient goes on into {', '.join(parts)}"


def structure_in_words(label: str, shown: Structure) -> str:
    """Return a whole architecture in words, from below."""
    parts = [f"{label}: {summary(shown)}", *(f"{block_in_words(block)}." for block in shown.before)]
    parts += [_stack(stack) for stack in (shown.encoder, shown.decoder)]
    parts.append("The decoder's cross-attention reads what the encoder gives.")
    parts += [f"Loss {loss.name}: {loss.says}; {trains(shown, loss)}." for loss in shown.losses]
    return " ".join(parts)


def block_in_words(block: Block) -> str:
    """Return a block in words."""
    status = "" if block.status == "plain" else f" ({block.status})"
    status += ", beside the words' way" if block.beside else ""
    size = f", {millions(block.parameters)} parameters" if block.parameters else ""
    return f"{block.title}{status}: {'; '.join(block.lines)}{size}"


def _stack(stack: Stack) -> str:
    told = []
    for item in stack.items:
        if isinstance(item, Layers):
            inside = "; then ".join(block_in_words(block) for block in item.blocks)
            told.append(f"{item.count} {'layer' if item.count == 1 else 'layers'} of {inside}; each {item.residual}")
        else:
            told.append(block_in_words(item))
    return f"{stack.name}, from below: {'. '.join(told)}."


def _reaches(loss: Link, block: Block) -> bool:
    return any(name == block.module or name.startswith(f"{block.module}.") for name in loss.trains)
