"""Rules in plain words, made from the rules themselves, so that the two cannot drift apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from mdnmt.config.claim_rule import Threshold
from mdnmt.config.claims import OWN, Claim
from mdnmt.config.metrics import METRICS

# What a table of resources measures.
QUANTITIES = {
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


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return names as an enumeration."""
    names = list(names)
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"


def any_of(names: Sequence[str]) -> str:
    """Return the name, or "any of" several."""
    return names[0] if len(names) == 1 else f"any of {listed(names)}"


def metric_words(metric: str) -> str:
    """Return what readers call a metric or a resource."""
    return QUANTITIES.get(metric) or METRICS[metric].label


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


def against(rule: Threshold, other: str, times: float = 1.0) -> str:
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


def alone(rule: Threshold) -> str:
    """Return in words what a number must fulfil that is compared with nothing else."""
    side, bound = rule.bound
    if side == "within":
        return f"lies between {_number(-bound)} and {_number(bound)}"
    return f"is {side} {_number(bound)}"


def claim_words(claim: Claim) -> str:
    """Return what decides a claim: the sentences of its rules, each with the reason why it decides nothing, if any."""
    return " ".join(
        rule.words() + (f" Not tested: {rule.not_tested}." if rule.not_tested else "") for rule in claim.rules
    )


def listing(claims: Mapping[str, Claim]) -> str:
    """Return the claims of a paper as a Markdown table: id, place, claim, rule."""
    lines = ["| claim | place | says | holds if |", "|---|---|---|---|"]
    cells: Sequence[str]
    for name, claim in claims.items():
        cells = (f"`{name}`", claim.where, claim.says, claim_words(claim))
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines) + "\n"
