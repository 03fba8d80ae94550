"""The options of the methods of a study: the paper's recipe, the method's file, and the study's own, in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mdnmt.config.base import Frozen
from mdnmt.config.decoding import Decoding
from mdnmt.config.layers import Layer, architecture_of, training_of
from mdnmt.config.learning_rates import FOLDER, LearningRates
from mdnmt.config.loader import did_you_mean, validate_model
from mdnmt.config.method import MethodConfig, MethodIndex
from mdnmt.config.study import Match, StudyConfig, StudyFiles
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.methods import find_own, pretrained, validate
from mdnmt.studies.study import Task
from mdnmt.studies.study_exhibits import split_key
from mdnmt.train.domain_sampling import check_weights
from mdnmt.workspace import config_file

T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """The options of all methods of a study.

    Attributes:
        config: the study.
        files: the files that it is made from.
        methods: its methods and variants.
        index: all methods.
        table_of: method that is the variant of a table -> that table.
        recipes: task -> method -> the layers of its recipe, None for methods without one of their own; only for tasks
            that use recipes.
        rates: entry of the study's `options` -> the rates that a sweep chose, and method -> the swept one whose rate
            it has.
    """

    config: StudyConfig
    files: StudyFiles
    methods: dict[str, MethodConfig]
    index: MethodIndex
    table_of: dict[str, str]
    recipes: dict[str, dict[str | None, tuple[Layer, ...]]]
    rates: dict[int, tuple[LearningRates, dict[str, str]]]

    def architecture(self, task: Task, name: str) -> tuple[dict[str, Any], str | None]:
        """Return the complete options of a method's model, and why its runs cannot be made (None: they can).

        Raises:
            ConfigError: an option that the builder does not know, or a value that is not allowed.
        """
        builder = self.methods[name].builder
        find_own(builder)  # raises for a plug-in with the name of one of mdnmt's methods
        module = pretrained(builder)
        if module is None:
            model = self._checked(
                task, name, lambda layers, where: validate(builder, architecture_of(layers), where=where)
            )
            return model.model_dump(mode="json"), task.missing

        def check(layers: Sequence[Layer], where: str) -> Frozen:
            config: Frozen = validate_model(architecture_of(layers), module.config_type, f"{where}: architecture")
            return config

        weights, missing = module.plan(
            self._checked(task, name, check),
            source_lang=task.config.source_lang,
            target_lang=task.config.target_lang,
        )
        return weights.model_dump(mode="json"), task.missing or missing

    def training(self, task: Task, name: str) -> Training:
        """Return how a method is trained on a task.

        Raises:
            ConfigError: an unknown key, or a value that is not allowed.
        """
        found = self._checked(
            task, name, lambda layers, where: validate_model(training_of(layers), Training, f"{where}: training")
        )
        try:
            check_weights(found.domain_sampling, list(task.config.domains))
            if found.validation_metric == "bleu" and self._is_pretrained(name):
                raise ConfigError("validation_metric: bleu, but a pretrained model is trained without a BLEU; set loss")
            if found.validation_metric == "bleu" and not found.validation_bleu_sentences:
                raise ConfigError("validation_metric: bleu, but validation_bleu_sentences is 0: no BLEU is measured")
        except ConfigError as error:
            raise ConfigError(f"{self.files.path}: {name}, task {task.name}: {error}") from None
        return found

    def decoding(self, task: Task) -> Decoding:
        """Return how the test sets of a task are translated.

        Raises:
            ConfigError: a recipe has an unknown key, or a value that is not allowed.
        """
        found = {key: value for layer in self.decoding_layers(task) for key, value in layer.decoding.items()}
        return validate_model(found, Decoding, f"{self.files.path}: decoding")

    def layers(self, task: Task, name: str) -> list[Layer]:
        """Return what sets options of a method on a task; a later layer overrides the earlier ones."""
        base, recipes = self._base(name), self.recipes.get(task.name, {})
        # Pretrained weights have their own sizes and the recipe of their publication.
        found = [] if self._is_pretrained(name) else [*(recipes.get(base) or recipes.get(None, ()))]
        found += self.index.layers(base)
        entries = zip(self.config.options, self.files.entries, strict=True)
        for number, (entry, (file, place)) in enumerate(entries):
            if self._matches(entry.match, task, name):
                found.append(Layer(file, ("options", place, "set"), entry.set.architecture, entry.set.training))
                found += self._swept(number, name)
        variant = self.config.variants.get(name)
        return found if variant is None else [*found, self._variant(name, variant.architecture, variant.training)]

    def decoding_layers(self, task: Task) -> list[Layer]:
        """Return what sets options of translation on a task."""
        own = self.config.decoding.model_dump(exclude_unset=True)
        study = [
            Layer(self.files.last_with("decoding", key) or self.files.path, ("decoding",), decoding={key: value})
            for key, value in own.items()
        ]
        return [*self.recipes.get(task.name, {}).get(None, ()), *study]

    def check_matches(self, tasks: Iterable[str]) -> None:
        """Check that the study's own entries of `options` name what it has; inherited ones may name more.

        Raises:
            ConfigError: a method, family or task that the study does not have.
        """
        bases = {self._base(name) for name in self.methods}
        families = {self.index.path(name).stem for name in bases}
        known = {"method": {*self.methods, *bases}, "family": families, "task": {*tasks, *self.config.stand_ins}}
        for entry, (file, place) in zip(self.config.options, self.files.entries, strict=True):
            for key, there in known.items() if file == self.files.path else ():
                for name in _names(getattr(entry.match, key)) or ():
                    if name not in there:
                        raise ConfigError(
                            f"{file}: options.{place}.match.{key}: {name!r} is none of the study's"
                            f"{did_you_mean(name, there)}; they are: {', '.join(sorted(there))}"
                        )

    def _base(self, name: str) -> str:
        """Return the method that a variant starts from; a method is its own."""
        variant = self.config.variants.get(name)
        return variant.method if variant else name

    def _is_pretrained(self, name: str) -> bool:
        return pretrained(self.methods[name].builder) is not None

    def _matches(self, match: Match, task: Task, name: str) -> bool:
        methods, families, tasks = _names(match.method), _names(match.family), _names(match.task)
        # Options for all methods are sizes and a recipe for training from scratch.
        if methods is None and families is None and self._is_pretrained(name):
            return False
        base = self._base(name)
        return (
            (methods is None or name in methods or base in methods)
            and (families is None or self.index.path(base).stem in families)
            and (tasks is None or task.name in (self.config.stand_ins.get(one, one) for one in tasks))
        )

    def _swept(self, number: int, name: str) -> list[Layer]:
        """Return the learning rate that an entry of `options` takes from a sweep, if it has one for a method."""
        table, same_as = self.rates.get(number, (None, {}))
        swept = same_as.get(name) or same_as.get(self._base(name))
        if table is None or swept is None:
            return []
        rates = self.config.options[number].set.learning_rates
        file = self.index.folder.parent / FOLDER / f"{rates.file if rates else ''}.yaml"
        return [Layer(file, ("methods", swept), training={"learning_rate": table.methods[swept].learning_rate})]

    def _variant(self, name: str, architecture: dict[str, Any], training: dict[str, Any]) -> Layer:
        """Return the layer that makes a variant: of the study, of a table, or of the sweep of rates."""
        if key := self.table_of.get(name):
            paper, item = split_key(key)
            file = config_file(self.index.folder.parent, f"papers/{paper}.yaml")
            return Layer(file, ("tables", item, "variant"), architecture, training)
        if own := self.files.last_with("variants", name):
            return Layer(own, ("variants", name), architecture, training)
        return Layer(self.files.last_with("rate_sweep") or self.files.path, ("rate_sweep",), architecture, training)

    def _checked(self, task: Task, name: str, check: Callable[[Sequence[Layer], str], T]) -> T:
        """Return the checked options; an error names the file that has the mistake."""
        layers = self.layers(task, name)
        try:
            return check(layers, f"{self.files.path}: {name}")
        except ConfigError:
            base = self._base(name)
            own = self.index.layers(base)
            check(own, str(own[0].file) if len(own) == 1 else f"{own[0].file}: {base}")
            for layer in reversed(layers):
                check([*own, layer], f"{layer.file}: {name}")
            raise


def _names(value: str | tuple[str, ...] | None) -> tuple[str, ...] | None:
    return (value,) if isinstance(value, str) else value
