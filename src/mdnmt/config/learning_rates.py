"""Learning rates chosen by a sweep: each method's candidates, their validation losses, and the one that won."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import find_named, load_model
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


def load_rates(config_folder: Path, given: RatesFrom | None) -> LearningRates | None:
    """Return the table of learning rates that a study names; None if it names none.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    if given is None:
        return None
    return load_model(find_named(config_folder / FOLDER, given.file, "table of learning rates"), LearningRates)


def chosen_rates(table: LearningRates | None, given: RatesFrom | None, where: str) -> dict[str, float]:
    """Return method -> learning rate, for methods with a sweep and for those that use the rate of another method.

    Raises:
        ConfigError: `same_as` names a method that has no rate.
    """
    if table is None or given is None:
        return {}
    rates = {method: chosen.learning_rate for method, chosen in table.methods.items()}
    swept = dict(rates)
    for method, other in given.same_as.items() if swept else ():
        if method in swept:
            raise ConfigError(f"{where}: learning_rates.same_as: {method!r} has its own rate in {given.file}.yaml")
        if other not in swept:
            raise ConfigError(f"{where}: learning_rates.same_as.{method}: {other!r} has no rate in {given.file}.yaml")
        rates[method] = swept[other]
    return rates
