"""The options of a method in a study: those of its file, overridden by those of the study."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from mdnmt.config.architectures.architecture import Architecture
from mdnmt.config.base import Frozen
from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import validate_model
from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.config.paper import Recipe
from mdnmt.config.study import Overrides, StudyConfig
from mdnmt.config.training import Training, merge_recipes
from mdnmt.errors import ConfigError
from mdnmt.methods import find_own, pretrained, validate
from mdnmt.studies.study import Task
from mdnmt.train.domain_sampling import check_weights

T = TypeVar("T")
Given = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """The options of all methods of a study.

    Attributes:
        config: the study.
        methods: its methods and variants.
        recipes: task -> the recipe of its paper, which everything else overrides; only for tasks that use one.
        compared: task -> method of another paper -> its recipe there, used instead of the task's.
        where: the study's file.
        index: where the methods are.
        rates: method -> the learning rate that a sweep chose.
    """

    config: StudyConfig
    methods: dict[str, MethodConfig]
    recipes: dict[str, Recipe]
    compared: dict[str, dict[str, Recipe]]
    where: str
    index: MethodIndex
    rates: dict[str, float]

    def architecture(self, task: Task, name: str) -> tuple[Given, str | None]:
        """Return the complete options of a method's model, and why its runs cannot be made (None: they can).

        Raises:
            ConfigError: an option that the builder does not know, or a value that is not allowed.
        """
        method = self.methods[name]
        find_own(method.builder)  # raises for a plug-in with the name of one of mdnmt's methods
        study = self._study(task, name).architecture
        module = pretrained(method.builder)
        if module is None:

            def check(options: Given, where: str) -> Architecture:
                return validate(method.builder, options, where=where)

            given = {**self._recipe(task, name).architecture, **method.architecture}
            return self._checked(check, name, given, study).model_dump(mode="json"), task.missing

        def check_pretrained(options: Given, where: str) -> Frozen:
            config: Frozen = validate_model(options, module.config_type, f"{where}: architecture")
            return config

        weights, missing = module.plan(
            self._checked(check_pretrained, name, method.architecture, study),
            source_lang=task.config.source_lang,
            target_lang=task.config.target_lang,
        )
        return weights.model_dump(mode="json"), task.missing or missing

    def training(self, task: Task, name: str) -> Training:
        """Return how a method is trained on a task.

        Raises:
            ConfigError: an unknown key, or a value that is not allowed.
        """

        def check(options: Given, where: str) -> Training:
            return validate_model(options, Training, f"{where}: training")

        given = merge_recipes([self._recipe(task, name).training, self.methods[name].training])
        study = self._study(task, name).training
        try:
            found = check(merge_recipes([given, study]), f"{self.where}: {name}")
        except ConfigError:
            check(given, self._file(name))
            raise
        with_place = f"{self.where}: {name}, task {task.name}"
        try:
            check_weights(found.domain_sampling, list(task.config.domains))
        except ConfigError as error:
            raise ConfigError(f"{with_place}: {error}") from None
        return found

    def decoding(self, task: Task) -> Decoding:
        """Return how the test sets of a task are translated.

        Raises:
            ConfigError: a recipe has an unknown key, or a value that is not allowed.
        """
        recipe = self.recipes.get(task.name, Recipe()).decoding
        own = self.config.decoding.model_dump(exclude_unset=True)
        return validate_model({**recipe, **own}, Decoding, f"{self.where}: decoding")

    def _recipe(self, task: Task, name: str) -> Recipe:
        # Pretrained weights have their own sizes and the recipe of their publication.
        if pretrained(self.methods[name].builder) is not None:
            return Recipe()
        variant = self.config.variants.get(name)
        compared = self.compared.get(task.name, {})
        return compared.get(variant.method if variant else name) or self.recipes.get(task.name, Recipe())

    def _study(self, task: Task, name: str) -> Overrides:
        """Return what the study sets for a method, by `all_methods`, `per_task` and `per_method`."""
        # `all_methods` and `per_task` set sizes and a recipe for training from scratch; pretrained models ignore them.
        is_pretrained = pretrained(self.methods[name].builder) is not None
        of_task = self.config.per_task.get(task.name, Overrides())
        layers = (self._own(name),) if is_pretrained else (self.config.all_methods, of_task, self._own(name))
        return _joined(layers)

    def _own(self, name: str) -> Overrides:
        """Return what the study sets for one method; a variant's options override those of its method."""
        variant = self.config.variants.get(name)
        rate = self.rates.get(name, self.rates.get(variant.method) if variant else None)
        swept = Overrides(training={} if rate is None else {"learning_rate": rate})
        layers = [self.config.per_method.get(variant.method), variant] if variant else []
        found = [layer for layer in (swept, *layers, self.config.per_method.get(name)) if layer is not None]
        return _joined(found)

    def _checked(self, check: Callable[[Given, str], T], name: str, method: Given, study: Given) -> T:
        """Return the checked options; errors name the method's file if the mistake is there."""
        try:
            return check({**method, **study}, f"{self.where}: {name}")
        except ConfigError:
            check(method, self._file(name))
            raise

    def _file(self, name: str) -> str:
        variant = self.config.variants.get(name)
        return str(self.index.path(variant.method if variant else name))


def _joined(layers: Iterable[Overrides]) -> Overrides:
    """Merge all layers; later ones override earlier ones."""
    found = list(layers)
    return Overrides(
        architecture={key: value for layer in found for key, value in layer.architecture.items()},
        training=merge_recipes(layer.training for layer in found),
    )
