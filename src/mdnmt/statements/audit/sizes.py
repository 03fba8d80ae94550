"""Checks that run our own code: how many parameters the models have, and what a formula gives."""

from __future__ import annotations

from decimal import Decimal

from mdnmt.config.architectures.architecture import Architecture, VocabSizes
from mdnmt.config.audit import Parameters, Peak, Reading, SizeRatio, Sizes, Vocabulary
from mdnmt.methods import build, validate
from mdnmt.methods.meta_device import on_meta_device
from mdnmt.models.balance_loss import impact_factor
from mdnmt.statements.audit.cells import split_cell
from mdnmt.statements.audit.finding import CheckResult
from mdnmt.statements.audit.printed_numbers import exact, millions, rounded, show, unit
from mdnmt.statements.audit.printed_tables import AuditInput

STEPS = 1000  # updates at which the impact factor is computed


def count(inputs: AuditInput, reading: Reading, sizes: Sizes, domains: int, more_rows: int = 0) -> int:
    """Return the number of parameters of a model, built on the meta device, without memory for its weights.

    Args:
        inputs: has the method.
        reading: which method, with which options.
        sizes: the vocabularies.
        domains: number of domains, if the reading gives none.
        more_rows: rows to add to the source embedding.
    """
    config, architecture = inputs.methods[reading.method], _architecture(inputs, reading)
    vocab = VocabSizes(sizes.source_rows + more_rows, sizes.target_rows, sizes.joint)
    with on_meta_device():
        model = build(config.builder, architecture, vocab, reading.domains or domains).model
    return reading.more + sum(parameter.numel() for parameter in model.parameters())


def _architecture(inputs: AuditInput, reading: Reading) -> Architecture:
    config = inputs.methods[reading.method]
    options = {**config.architecture, **reading.options}
    return validate(config.builder, options, where=f"config/audit: {reading.label}")


def parameters(inputs: AuditInput, paper: str, check: Parameters) -> CheckResult:
    """Count the parameters of a model as the paper describes it, and of other readings of the description."""
    counts = [(reading, count(inputs, reading, check, check.domains)) for reading in check.readings]
    agreed = 0
    for cell in check.cells:
        number = inputs.number(paper, *split_cell(cell))
        printed, step = inputs.value(paper, *split_cell(cell)), unit(number.raw)
        agreed += any(reading.text and rounded(Decimal(found), step) == printed for reading, found in counts)
    text = ", ".join(f"{millions(found)} ({reading.label})" for reading, found in counts)
    return CheckResult(text, len(check.cells), agreed)


def size_ratio(inputs: AuditInput, paper: str, check: SizeRatio) -> CheckResult:
    """Compute the ratio of two models' numbers of parameters, for each number of domains."""
    del paper
    found: list[str] = []
    agreed = 0
    for domains in check.domains:
        bodies, sizes = [], []
        for reading in (check.reading, check.over):
            body, row = _body_and_row(inputs, reading, check, domains)
            bodies.append(body)
            sizes.append(body + row * _rows(check))
        times = Decimal(domains) if check.times == "k" else check.times
        agreed += rounded(Decimal(sizes[0]) / sizes[1], Decimal("0.01")) == times
        found.append(
            f"k = {domains}: {millions(sizes[0])} / {millions(sizes[1])} = {sizes[0] / sizes[1]:.2f}, "
            f"without embeddings and output {bodies[0] / bodies[1]:.2f}"
        )
    return CheckResult("; ".join(found), len(check.domains), agreed)


def _rows(sizes: Sizes) -> int:
    """Return the rows of both embeddings and the output layer, nothing tied."""
    return sizes.source_rows + 2 * sizes.target_rows


def _body_and_row(inputs: AuditInput, reading: Reading, sizes: Sizes, domains: int) -> tuple[int, int]:
    """Return a model's parameters without embeddings and output, and those that one more row of these brings."""
    size = count(inputs, reading, sizes, domains)
    row = count(inputs, reading, sizes, domains, more_rows=1) - size
    return size - row * _rows(sizes), row


def vocabulary(inputs: AuditInput, paper: str, check: Vocabulary) -> CheckResult:
    """Compute the range of the total rows of embeddings and output layer that each printed size allows."""
    ranges: list[tuple[Decimal, Decimal]] = []
    found: list[str] = []
    for cell, reading in check.cells.items():
        number = inputs.number(paper, *split_cell(cell))
        printed, step = inputs.value(paper, *split_cell(cell)), unit(number.raw)
        body, row = _body_and_row(inputs, reading, check, check.domains)
        low, high = ((printed + sign * step / 2 - body) / row for sign in (-1, 1))
        ranges.append((low, high))
        found.append(f"{reading.label}: {show(low, 0)} to {show(high, 0)} rows beside {millions(body)}")
    low, high = max(pair[0] for pair in ranges), min(pair[1] for pair in ranges)
    both = f"both: {show(low, 0)} to {show(high, 0)}" if low < high else "no number of rows meets both"
    return CheckResult("; ".join([*found, both]), 1, int(low < high))


def peak(inputs: AuditInput, paper: str, check: Peak) -> CheckResult:
    """Compute the largest impact factor of a training."""
    del inputs, paper
    values = (
        impact_factor(update, STEPS, high=check.high, low=check.low, start=0, end=None, lifted=check.lifted)
        for update in range(1, STEPS + 1)
    )
    largest = exact(round(max(values), 9))
    text = f"the largest value is {show(largest)} for H = {check.high} and L = {check.low}"
    return CheckResult(text, 1, int(largest == exact(check.high)))
