"""config/cards.yaml: how fast trainings ran on named GPUs, for plans of studies that will be trained there."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.loader import load_model
from mdnmt.errors import ConfigError
from mdnmt.workspace import config_file


class Speed(Frozen):
    """One measured training."""

    method: str = Field(description="what was trained")
    task: str = Field("", description="whose sizes and recipe it had; empty: those of no task")
    builder: str = Field(description="of the method")
    operations: float = Field(gt=0, description="of one update, as the plan counts them")
    seconds_per_update: float = Field(gt=0, description="without validations and checkpoints")
    tokens_per_second: float = Field(gt=0, description="target tokens")
    peak_mib: float | None = Field(None, gt=0, description="most memory of the GPU; null: not measured")
    measured_on: str = Field(pattern=r"^\d{4}-\d{2}-\d{2}$", description="the day")
    commit: str = Field(description="of this repository, where the figure was recorded")
    what: str = Field(description="what was measured, and with what")


class Card(Frozen):
    """A GPU."""

    name: str = Field(description="as the driver calls it, or the beginning of that")
    memory_gb: float = Field(gt=0, description="decimal gigabytes")
    measured: tuple[Speed, ...] = Field((), description="trainings on it, by `make gpu`")

    def is_card(self, hardware: str) -> bool:
        """Say whether this is the GPU that a run's record names."""
        return hardware.startswith(self.name)


class Cards(Frozen):
    """What config/cards.yaml says."""

    cards: dict[str, Card] = Field(description="name of a card on the command line -> the card")


def load_cards(config_folder: Path) -> dict[str, Card]:
    """Return the known cards by name.

    Raises:
        ConfigError: a mistake in the file.
    """
    return dict(load_model(config_file(config_folder, "cards.yaml"), Cards).cards)


def find_card(config_folder: Path, name: str) -> Card:
    """Return a card by its name on the command line.

    Raises:
        ConfigError: it is not known, or there is a mistake in the file.
    """
    known = load_cards(config_folder)
    if (found := known.get(name.lower())) is None:
        names = ", ".join(sorted(known))
        raise ConfigError(f"--card: found {name!r}, expected one of {config_folder}/cards.yaml: {names}")
    return found
