"""The specification of a run for the trainer: everything that decides the result, and nothing else."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from mdnmt.config.base import Frozen
from mdnmt.config.training import Training
from mdnmt.fingerprint import fingerprint


class RunSpec(Frozen):
    """task x method x seed, resolved.

    Attributes:
        task_fingerprint: of the task's data.
        builder: which module of `mdnmt.methods`, or which plug-in, builds the model.
        architecture: the builder's options, complete.
        training: the recipe.
        domains: the domains trained on, in the task's order; all of them for a mixed run.
        seed: of initial weights, dropout and batch order.
        initial_run: fingerprint of the run whose final weights this one starts from; None: from random weights.
        code: module -> hash of its code, for a builder that is not part of the package (`mdnmt.methods.code_of`).
    """

    task_fingerprint: str
    builder: str
    architecture: dict[str, Any]
    training: Training
    domains: tuple[str, ...]
    seed: int = Field(ge=0)
    initial_run: str | None = None
    code: dict[str, str] = Field({})

    @model_serializer(mode="wrap")
    def _without_code_of_the_package(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Left out where it is empty, so that runs of the package's methods keep their addresses.
        value: dict[str, Any] = dump(self)
        if not self.code:
            del value["code"]
        return value

    @property
    def fingerprint(self) -> str:
        """Return the content address of the run."""
        identity = self.model_dump(mode="json")
        del identity["training"]["layout"]  # like the device, it changes rounding alone: the run's record has it
        if identity["training"]["compile"] == "off":  # newer than many runs, whose addresses must stay valid
            del identity["training"]["compile"]
        if identity["training"]["decay_updates"] is None:  # newer too
            del identity["training"]["decay_updates"]
        return fingerprint("train", identity)
