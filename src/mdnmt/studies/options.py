"""What a method of a study is built and trained with: its file's options, and over them those of the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mdnmt.config.loader import validate_model
from mdnmt.config.method import MethodConfig
from mdnmt.config.study import Overrides, StudyConfig
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods import validate
from mdnmt.methods.method import Architecture
from mdnmt.pretrained.config import BUILDER as PRETRAINED_BUILDER
from mdnmt.pretrained.config import Mbart50Config
from mdnmt.pretrained.config import validate as validate_pretrained
from mdnmt.pretrained.files import PRETRAINED, plan
from mdnmt.studies.study import Task

T = TypeVar("T")
Given = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """The options of all methods of a study.

    Attributes:
        config: the study.
        methods: its methods and variants.
        where: the study's file.
        folder: that of the methods' files.
    """

    config: StudyConfig
    methods: dict[str, MethodConfig]
    where: str
    folder: Path

    def architecture(self, task: Task, name: str) -> tuple[Given, str | None]:
        """Return the complete options of a method's model, and why its runs cannot be made, if they cannot.

        Raises:
            ConfigError: an option that the builder does not know, or a value that is not allowed.
        """
        method, shared, own = self.methods[name], self._shared(name), self._own(name)
        study = {**shared.architecture, **own.architecture}
        if method.builder != PRETRAINED_BUILDER:

            def check(options: Given, where: str) -> Architecture:
                return validate(method.builder, options, where=where, others=[PRETRAINED_BUILDER])

            return self._checked(check, name, method.architecture, study).model_dump(mode="json"), task.missing

        def check_pretrained(options: Given, where: str) -> Mbart50Config:
            return validate_pretrained(options, where=where)

        weights, missing = plan(
            self._checked(check_pretrained, name, method.architecture, study),
            PRETRAINED,
            source_lang=task.config.source_lang,
            target_lang=task.config.target_lang,
        )
        return weights.model_dump(mode="json"), task.missing or missing

    def training(self, name: str) -> Training:
        """Return the recipe of a method.

        Raises:
            ConfigError: a key that there is not, or a value that is not allowed.
        """

        def check(options: Given, where: str) -> Training:
            return validate_model(options, Training, f"{where}: training")

        study = {**self._shared(name).training, **self._own(name).training}
        return self._checked(check, name, self.methods[name].training, study)

    def _shared(self, name: str) -> Overrides:
        # What a study sets for all methods are sizes and a recipe for models that it trains from nothing.
        return Overrides() if self.methods[name].builder == PRETRAINED_BUILDER else self.config.all_methods

    def _own(self, name: str) -> Overrides:
        """Return what the study sets for one method alone: for a variant, behind what it sets for its method."""
        variant = self.config.variants.get(name)
        layers = [self.config.per_method.get(variant.method), variant] if variant else []
        found = [layer for layer in (*layers, self.config.per_method.get(name)) if layer is not None]
        return Overrides(
            architecture={key: value for layer in found for key, value in layer.architecture.items()},
            training={key: value for layer in found for key, value in layer.training.items()},
        )

    def _checked(self, check: Callable[[Given, str], T], name: str, method: Given, study: Given) -> T:
        """Return the checked options; a mistake of the method's own file is blamed on that file."""
        try:
            return check({**method, **study}, f"{self.where}: {name}")
        except ConfigError:
            variant = self.config.variants.get(name)
            check(method, f"{self.folder}/{variant.method if variant else name}.yaml")
            raise
