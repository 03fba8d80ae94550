"""Rules in plain words, made from the rules themselves, so that the two cannot drift apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from mdnmt.config.claims import (
    OWN,
    AgreementRule,
    AnyRule,
    CellsRule,
    Claim,
    LabelsRule,
    MeasureRule,
    NotedRule,
    Numbers,
    Position,
    StarsRule,
    Threshold,
)

METRICS = {
    "bleu": "BLEU",
    "bleu_tok": "BLEU (tokenised)",
    "chrf": "chrF",
    "comet": "COMET",
    "num_parameters": "parameters",
    "train_seconds_per_update": "seconds an update",
    "epoch_seconds": "seconds an epoch",
    "train_tokens_per_second": "tokens a second in training",
    "decode_sentences_per_second": "sentences a second in translation",
    "decode_tokens_per_second": "tokens a second in translation",
    "peak_memory_mb": "peak memory",
}


# Readable names of the measures of figures; the docstring of each `measures` in `mdnmt.exhibits` defines them.
MEASURES = {
    "plateau": "share of updates on a plateau",
    "updates_to": "updates until the validation perplexity is within 5 % of the first system's last",
    "slope_last_tenth": "relative change of the validation perplexity over the last tenth of updates",
    "final_train_loss": "last training loss",
    "final_train_accuracy": "last training accuracy",
    "final_valid_bleu": "last validation BLEU",
    "final_valid_accuracy": "last validation accuracy",
    "entropy": "entropy of the proportions",
    "entropy_end": "entropy of the proportion at the sentence's end",
    "variance_words": "variance of the proportion between words",
    "variance_layers": "variance of a word's proportion between layers",
    "variance_positions": "variance of a word's proportion between positions",
    "variance_seeds": "variance of a word's proportion between seeds",
    "frequency_correlation": "rank correlation of a word's proportion with how much of its use is the domain's",
    "proportion_function": "own domain's proportion of function words",
    "proportion_shared": "own domain's proportion of words that all domains use",
    "proportion_specific": "own domain's proportion of words of one domain",
    "entropy_function": "entropy of the attention of function words",
    "entropy_specific": "entropy of the attention of words of one domain",
    "largest_function": "attention of function words to the domain they attend to most",
    "own_slot_specific": "attention of words of one domain to this domain",
    "proportion": "own domain's proportion",
    "updates": "all its updates",
    "prediction": "share of words whose domain the proportion tells",
    "accuracy": "share of ambiguous words translated as the domain does",
    "silhouette": "silhouette of the sentence vectors by domain",
    "probe_accuracy": "accuracy of a linear probe for the domain",
    "gate": "mean gate",
    "use_entropy": "entropy of the use of experts",
    "divergence": "divergence of the domains' use of experts",
    "bleu": "BLEU",
}


def title_of(exhibit: str) -> str:
    """Return how a reader calls a table or figure: `table5-en-de` is "Table 5 (EN-DE)"."""
    exhibit = exhibit.removeprefix(f"{OWN}-")
    found = re.fullmatch(r"(table|figure)(\d\w*)(?:-(.+))?", exhibit)
    if found is None:
        return exhibit.capitalize().replace("-", " ")
    return f"{found[1].capitalize()} {found[2]}" + (f" ({found[3].upper()})" if found[3] else "")


def _listed(names: Iterable[str], word: str = "and") -> str:
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def _any_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"any of {_listed(names)}"


def _systems(methods: Sequence[str]) -> str:
    return _any_of(methods) if methods else "all systems together"


def measure_words(name: str) -> str:
    """Return what readers call a measure of a figure."""
    return MEASURES.get(name, name.replace("_", " "))


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "\N{MINUS SIGN}")


def needed_words(needed: str | float, of: str = "comparisons") -> str:
    """Return in how many of the comparisons something must hold."""
    if isinstance(needed, str):
        return {"all": f"in all {of}", "most": f"in more than half of the {of}", "one": f"in at least one of the {of}"}[
            needed
        ]
    return f"in at least {_number(round(100 * needed, 1))} % of the {of}"


def _against(rule: Threshold, other: str, times: float = 1.0) -> str:
    """Return in words what a comparison with `other` must fulfil."""
    side, bound = rule.bound
    far = _number(abs(bound))
    other = other if times == 1.0 else f"{_number(times)} times {other}"
    if side == "within":
        return f"differs by less than {far} from {other}"
    if bound == 0.0:
        return f"is {side} {other}"
    if times == 1.0 and (bound > 0) == (side == "above"):
        return f"is more than {far} {side} {other}"
    return f"is {side} {other} {'plus' if bound > 0 else 'minus'} {far}"


def _alone(rule: Threshold) -> str:
    side, bound = rule.bound
    if side == "within":
        return f"lies between {_number(-bound)} and {_number(bound)}"
    return f"is {side} {_number(bound)}"


def _at(at: Mapping[str, Position]) -> str:
    return ", ".join(f"{value} {key}" if value in ("first", "last") else f"{key} {value}" for key, value in at.items())


def _table_words(rule: CellsRule) -> str:
    where = {"each": "on each domain", "average": "on average"}.get(str(rule.columns)) or f"on {_listed(rule.columns)}"
    if all(metric in ("bleu", "chrf", "comet") for metric in rule.metrics):
        where = f" {where}" + (f" but {_listed(rule.leaving_out)}" if rule.leaving_out else "")
    else:
        where = ""
    left = _listed((title_of(left) for left, _ in rule.pairs))
    right = _listed((title_of(right) for _, right in rule.pairs))
    rows = _any_of(rule.rows)
    if rule.than:
        other = f"that of {_any_of(rule.than)}"
        if rule.than_trained_on == "others":
            other += " trained on another domain"
    else:
        other = "its own"
    if rule.than_columns:
        other += f" on {_any_of(rule.than_columns)}"
    if right != left:
        other += f" in {right}"
    metrics = _listed((METRICS[metric] for metric in rule.metrics), "or")
    share = needed_words(rule.needed) + (" of each of the former" if rule.per_row else "")
    return f"{left}: {metrics}{where} of {rows} {_against(rule, other, rule.times)}, {share}."


def _measure_words(rule: MeasureRule) -> str:
    taken = "".join(
        f", {word} over {key}"
        for key, how in rule.reduce.items()
        for word in [{"min": "lowest", "max": "highest"}.get(how, how)]
    )
    each = f" for each {_listed(rule.each)}" if rule.each else ""
    at = f" ({_at(rule.at)})" if rule.at else ""
    other = f" (where there is none, {measure_words(rule.if_none)})" if rule.if_none else ""
    left = f"{title_of(rule.figure)}: {measure_words(rule.name)}{other}{at}{taken}{each} of {_systems(rule.methods)}"
    than = rule.than
    if than is None:
        return f"{left} {_alone(rule)}, {needed_words(rule.needed)}."
    return f"{left} {_against(rule, _numbers_words(than, rule))}, {needed_words(rule.needed)}."


def _numbers_words(than: Numbers, rule: MeasureRule) -> str:
    name = f"{measure_words(than.name)} " if than.name else "that "
    at = f"({_at(than.at)}) " if than.at else ""
    same = "of the same system" if rule.methods else "of all systems together"
    methods = f"of {_any_of(than.methods)}" if than.methods else same
    figure = f" in {title_of(than.figure)}" if than.figure and than.figure != rule.figure else ""
    return f"{name}{at}{methods}{figure}"


def _labels_words(rule: LabelsRule) -> str:
    metrics, labels = _listed((METRICS[metric] for metric in rule.metrics), "or"), _listed(rule.labels, "or")
    where = "on average" if rule.columns == "average" else "on each domain"
    needed = needed_words(rule.needed)
    left = f"{title_of(rule.table)}: the {metrics} {where} that {labels} domain labels cost {_any_of(rule.rows)}"
    if not rule.than:
        return f"{left} {_alone(rule)}, {needed}."
    return f"{left} {_against(rule, f'what they cost {_any_of(rule.than)}')}, {needed}."


def rule_words(rule: AnyRule) -> str:
    """Return a rule as a sentence, with its threshold."""
    if isinstance(rule, CellsRule):
        return _table_words(rule)
    if isinstance(rule, StarsRule):
        metrics = _listed((METRICS[metric] for metric in rule.metrics), "or")
        return (
            f"{title_of(rule.table)}: {metrics} on each domain of {_any_of(rule.rows)} is significantly better "
            f"than the baseline's (starred), {needed_words(rule.needed, 'cells')}."
        )
    if isinstance(rule, MeasureRule):
        return _measure_words(rule)
    if isinstance(rule, LabelsRule):
        return _labels_words(rule)
    if isinstance(rule, AgreementRule):
        where = "averages" if rule.columns == "average" else "scores on each domain"
        return (
            f"{title_of(rule.table)}: the rank correlation of any two of {_listed(METRICS[m] for m in rule.metrics)} "
            f"over the {where} of {_listed(rule.rows)} {_alone(rule)}, {needed_words(rule.needed)}."
        )
    if isinstance(rule, NotedRule):
        return f"Nothing that a study makes can decide it: {rule.why}."
    raise TypeError(f"{type(rule).__name__} is no rule")


def claim_words(claim: Claim) -> str:
    """Return what decides a claim: the sentences of its rules, each with the reason why it decides nothing, if any."""
    return " ".join(
        rule_words(rule)
        + (f" Not tested: {rule.not_tested}." if isinstance(rule, Threshold) and rule.not_tested else "")
        for rule in claim.rules
    )


def listing(claims: Mapping[str, Claim]) -> str:
    """Return the claims of a paper as a Markdown table: id, place, claim, rule."""
    lines = ["| claim | place | says | holds if |", "|---|---|---|---|"]
    cells: Sequence[str]
    for name, claim in claims.items():
        cells = (f"`{name}`", claim.where, claim.says, claim_words(claim))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
