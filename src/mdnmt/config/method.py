"""A method, a row of a table: which builder, with which options, trained on which domains; and families of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.layers import Layer, architecture_of, training_of
from mdnmt.config.loader import check_name, load_mapping, no_such_name, validate_model
from mdnmt.config.task import Name
from mdnmt.config.training import Training
from mdnmt.errors import ConfigError
from mdnmt.workspace import config_files

LABEL = "as printed in tables; {domain} is replaced by the domain of a single-domain run"


class MethodOptions(Frozen):
    """What a method may set, and a family for all its methods."""

    train_on: Literal["all", "each"] = Field("all", description="each: one run per domain, on the text of that domain")
    initialise_from: str | None = Field(
        None, description="start from the trained model of this method: same task, same seed, all domains"
    )
    deliberately_broken: bool = Field(
        False, description="demonstrates a known failure; tests do not require it to be right"
    )
    architecture: dict[str, Any] = Field({}, description="options of the builder, where they differ from the defaults")
    training: dict[str, Any] = Field({}, description="options of the recipe, where they differ from the defaults")


class MethodConfig(MethodOptions):
    """A method with everything that it sets."""

    label: str = Field(min_length=1, description=LABEL)
    builder: str = Field(description="a method of mdnmt, or a plug-in; or pretrained (docs/methods/pretrained.md)")


class FamilyMember(MethodOptions):
    """A method of a family: what it sets, over what the family sets for all."""

    label: str = Field(min_length=1, description=LABEL)


class MethodFile(MethodOptions):
    """One file of config/methods/: a method with the name of the file, or a family of methods."""

    label: str | None = Field(None, min_length=1, description=f"of a single method: {LABEL}")
    builder: str = Field(
        description="a method of mdnmt, or a plug-in (docs/your-own-method.md), such as pretrained (docs/methods/)"
    )
    methods: dict[Name, FamilyMember] = Field({}, description="of a family: name -> a method, and where it differs")

    @model_validator(mode="after")
    def _is_a_method_or_a_family(self) -> Self:
        if (self.label is None) == (not self.methods):
            raise ValueError("expected either `label` (one method) or `methods` (a family of them)")
        return self

    def method(self, name: str) -> MethodConfig:
        """Return the method of this name, which is in the file."""
        own = self.methods.get(name)
        given: dict[str, Any] = {}
        for part in [self, own] if own is not None else [self]:
            given |= {key: getattr(part, key) for key in part.model_fields_set - {"methods"}}
        layers = self.layers(Path(), name)
        return MethodConfig(**given | {"architecture": architecture_of(layers), "training": training_of(layers)})

    def layers(self, path: Path, name: str) -> list[Layer]:
        """Return the options of the family, then those of the method; `path` is this file."""
        found = [Layer(path, (), self.architecture, self.training)]
        if own := self.methods.get(name):
            found.append(Layer(path, ("methods", name), own.architecture, own.training))
        return found


class MethodIndex:
    """All methods of config/methods/ by name. The folder is read once; a file is validated when it is needed."""

    def __init__(self, config_folder: Path) -> None:
        """Read the names in all files; a method of the user's own hides the package's of the same name.

        Raises:
            ConfigError: a file cannot be read, or two files have a method of the same name.
        """
        self.folder = config_folder / "methods"
        # The user's own first.
        paths = sorted(config_files(config_folder, "methods/*.yaml"), key=lambda path: path.parent != self.folder)
        self._contents = {path: load_mapping(path) for path in paths}
        self._files: dict[Path, MethodFile] = {}
        self._paths: dict[str, Path] = {}
        for path, content in self._contents.items():
            members = content.get("methods")
            for name in members if isinstance(members, dict) and members else [path.stem]:
                first = self._paths.setdefault(name, path)
                if first != path and first.parent == path.parent:
                    raise ConfigError(f"{path}: {first} has a method {name!r} too; give one another name")

    @property
    def names(self) -> list[str]:
        """Return the names of all methods."""
        return [str(name) for name in self._paths]

    def path(self, name: str) -> Path:
        """Return the file that has a method.

        Raises:
            NoSuchName: there is none of this name.
            ConfigError: there is none, and a file that may be meant to have it has a mistake.
        """
        check_name(name, "method")
        if name not in self._paths:
            for path, content in self._contents.items():
                validate_model(content, MethodFile, str(path))
            raise no_such_name(self.folder, name, "method", self.names)
        return self._paths[name]

    def load(self, name: str) -> MethodConfig:
        """Return a method.

        Raises:
            ConfigError: there is none of this name, or its file has a mistake.
        """
        for layer in self.layers(name):
            keys = ".".join(map(str, [*layer.keys, "training"]))
            validate_model(layer.training, Training, f"{layer.file}: {keys}")
        return self._file(name).method(name)

    def layers(self, name: str) -> list[Layer]:
        """Return the options of a method's family and its own, each with its place.

        Raises:
            ConfigError: there is no method of this name, or its file has a mistake.
        """
        return self._file(name).layers(self.path(name), name)

    def _file(self, name: str) -> MethodFile:
        path = self.path(name)
        if path not in self._files:
            self._files[path] = validate_model(self._contents[path], MethodFile, str(path))
        return self._files[path]


def load_method(config_folder: Path, name: str) -> MethodConfig:
    """Return one method of config/methods/; for several, make a `MethodIndex`.

    Raises:
        ConfigError: there is none of this name, or a mistake in a file.
    """
    return MethodIndex(config_folder).load(name)
