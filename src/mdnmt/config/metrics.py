"""The metrics that a table may name: what each is called, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from mdnmt.plugin_kinds import METRIC
from mdnmt.plugins import Table


@dataclass(frozen=True)
class MetricInfo:
    """How a metric is presented.

    Attributes:
        label: head of its columns.
        lower_is_better: as for an error rate.
        caution: limits of its use, printed under each table that has it.
        needs_model: computed from the model that translated, not from the translations.
        file: its score file; a separate one if the metric is computed only on request, or by another model.
        is_quality: a higher or lower value is better. Otherwise it only describes translations: no row is best, and
            nothing is tested.
    """

    label: str
    lower_is_better: bool = False
    caution: str = ""
    needs_model: bool = False
    file: str = "scores.json"
    is_quality: bool = True


OWN: Mapping[str, MetricInfo] = {
    "bleu": MetricInfo("BLEU"),
    "bleu_tok": MetricInfo("BLEU (tokenised)"),
    "chrf": MetricInfo("chrF"),
    "ter": MetricInfo("TER", lower_is_better=True, file="ter.json"),
    "length_ratio": MetricInfo(
        "Length ratio",
        caution="Length ratio: length of the translations in percent of the references', in BLEU's tokens. At r % "
        "below 100, BLEU has a brevity penalty of exp(1 - 100 / r).",
        file="length_ratio.json",
        is_quality=False,
    ),
    "comet": MetricInfo("COMET", file="comet.json"),
    "perplexity": MetricInfo(
        "Perplexity",
        lower_is_better=True,
        caution="Perplexity is of a piece: over different vocabularies it cannot be compared.",
        needs_model=True,
    ),
    "accuracy": MetricInfo(
        "Accuracy",
        caution="Accuracy is the share of pieces, in percent, that are predicted rightly after the reference's own: "
        "over different vocabularies it cannot be compared.",
        needs_model=True,
    ),
}
METRICS: Mapping[str, MetricInfo] = Table(METRIC, OWN, lambda module: module.INFO)
ON_REQUEST = tuple(name for name, about in OWN.items() if about.file == f"{name}.json" and name != "comet")


class _Known:
    """Refuses the name of no metric. A command line names the metrics, so pydantic is not imported here."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core.core_schema import no_info_after_validator_function

        return no_info_after_validator_function(_known, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(OWN)}, {"type": "string"}]}


def _known(name: str) -> str:
    if name not in METRICS:
        raise ValueError(f"{name!r} is no metric; there are: {', '.join(METRICS)}")
    return name


Metric = Annotated[str, _Known()]
