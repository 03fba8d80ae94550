"""Learning rates chosen by a sweep: each method's candidates, their validation losses, and the one that won."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model, named_in
from mdnmt.errors import ConfigError

FOLDER = "learning-rates"
Rate = Annotated[float, Field(gt=0)]


class ChosenRate(Frozen):
    """The learning rate of one method, and the rates that it was chosen from."""

    learning_rate: Rate = Field(description="the one with the lowest validation loss; of equal ones the lower")
    validation_loss: dict[Rate, float | None] = Field(description="rate -> loss a token; null: training failed")


class LearningRates(Frozen):
    """One file of config/learning-rates/, written by `mdnmt rates STUDY`."""

    study: str = Field(description="the sweep that it comes from")
    methods: dict[str, ChosenRate] = Field({}, description="method -> its rate")


class RatesFrom(Frozen):
    """Where a study takes its methods' learning rates from."""

    file: str = Field(description="of config/learning-rates/")
    same_as: dict[str, str] = Field(
        {}, description="a method without its own sweep -> the swept method whose rate it uses"
    )


def sweep_name(method: str, rate: float) -> str:
    """Return the name of a method with another learning rate: `dsa-rate-0-0005`."""
    return f"{method}-rate-{rate:.10f}".rstrip("0").rstrip(".").replace(".", "-")


def with_sweep(study: dict[str, Any]) -> dict[str, Any]:
    """Return a study with a variant for each of its methods and each rate of `rate_sweep`."""
    rates, methods = study.get("rate_sweep"), study.get("methods")
    if not isinstance(rates, list) or not isinstance(methods, list):
        return study
    swept = {
        sweep_name(method, rate): {
            "method": method,
            "label": f"{method}, rate {rate:g}",
            "training": {"learning_rate": rate},
        }
        for method in methods
        if isinstance(method, str)
        for rate in rates
        if isinstance(rate, float)
    }
    return {**study, "variants": {**swept, **study.get("variants", {})}}


def chosen_rates(config_folder: Path, given: RatesFrom, where: str) -> tuple[LearningRates, dict[str, str]]:
    """Return a table of learning rates, and method -> the swept method whose rate it uses, often its own.

    Args:
        config_folder: the project's config/.
        given: which table, and which methods have the rates of others.
        where: the place that names it, for errors.

    Raises:
        ConfigError: there is no such table, it has a mistake, or `same_as` names a method that has no rate.
    """
    with named_in(where):
        table = load_model(find_named(config_folder / FOLDER, given.file, "table of learning rates"), LearningRates)
    for method, other in given.same_as.items() if table.methods else ():
        if method in table.methods:
            raise ConfigError(f"{where}: same_as: {method!r} has its own rate in {given.file}.yaml")
        if other not in table.methods:
            raise ConfigError(f"{where}: same_as.{method}: {other!r} has no rate in {given.file}.yaml")
    of_others = {method: other for method, other in given.same_as.items() if table.methods}
    return table, {method: method for method in table.methods} | of_others
