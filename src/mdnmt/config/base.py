"""The base of every configuration model: frozen, and unknown keys are refused."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A configuration value that cannot change after it was read; its numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
