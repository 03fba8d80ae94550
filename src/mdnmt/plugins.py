"""Find plug-ins: in mdnmt's own `extras/`, in the folder `plugins/`, in installed packages with entry points `mdnmt`.

A plug-in is a module. Its name is that of its file in a folder, or that of its entry point; what it defines decides of
which kind it is (`Kind`). The code of a plug-in is part of the address of what it makes. The same holds for a module
of mdnmt that no commit has (`own_code`).
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from importlib.metadata import EntryPoint, entry_points, packages_distributions
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, TypeVar

from mdnmt.code_hash import Sources, sources
from mdnmt.errors import ConfigError, DataError, MdnmtError
from mdnmt.plugin_kinds import EXTRAS, KINDS, Kind, Plugin
from mdnmt.provenance import committed_files

GROUP = "mdnmt"
PACKAGE = "plugins"  # modules in the folder import each other as `from plugins.x import y`
VARIABLE = "MDNMT_PLUGINS"  # names the folder; the workflow sets it for its jobs
# Packages that load their modules by name: of them, only the module that is named is run.
LOADED_BY_NAME = ("mdnmt.config.architectures", "mdnmt.methods", "mdnmt.corpora.readers")


T = TypeVar("T")


class _Loader(SourceFileLoader):
    """Compiles the source each time: bytecode is chosen by size and second, and an edit may leave both as they were."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Finder(MetaPathFinder):
    """Finds the package `plugins` in one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != PACKAGE:
            return None
        if fullname != PACKAGE:
            found = (FileFinder(entry, (_Loader, [".py"])).find_spec(fullname) for entry in path or ())
            return next((spec for spec in found if spec is not None), None)
        init = self.root / "__init__.py"
        if init.is_file():
            inside = [str(self.root)]
            return spec_from_file_location(
                PACKAGE, init, loader=_Loader(PACKAGE, str(init)), submodule_search_locations=inside
            )
        spec = ModuleSpec(PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [str(self.root)]
        return spec


_beside_config: Path | None = None


def use_folder_beside(config_folder: Path) -> None:
    """Take plug-ins from `plugins/` beside this folder, unless MDNMT_PLUGINS names another one."""
    global _beside_config
    _beside_config = config_folder.absolute().parent / PACKAGE


def folder() -> Path:
    """Return the folder of plug-ins: MDNMT_PLUGINS, that of the project, or `plugins/` in the current folder."""
    given = os.environ.get(VARIABLE)
    return Path(given or _beside_config or PACKAGE).absolute()


def forget() -> None:
    """Drop all imported plug-ins, so that their files are read again."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    _code.cache_clear()


def _provide() -> None:
    """Make the modules of the folder importable."""
    root = folder()
    if not any(isinstance(finder, _Finder) and finder.root == root for finder in sys.meta_path):
        forget()
        sys.meta_path.insert(0, _Finder(root))
        sources().add(PACKAGE, root)


@cache
def _entry_points() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


@cache
def _provide_installed(entry: EntryPoint) -> None:
    """Let hashes follow imports between all packages of a distribution."""
    others = packages_distributions().items() if entry.dist else ()
    tops = {name for name, of in others if entry.dist and entry.dist.name in of} | {entry.module.partition(".")[0]}
    for top in tops:
        spec = find_spec(top)
        if spec is not None and spec.submodule_search_locations:
            sources().add(top, Path(next(iter(spec.submodule_search_locations))))
        elif spec is not None and spec.origin:
            sources().add(top, Path(spec.origin))


def _at(root: Path, package: str, place: str, name: str) -> list[Plugin]:
    """Return the modules of a name in a folder of plug-ins."""
    files = (file for file in (f"{name}.py", f"{name}/__init__.py") if (root / file).is_file())
    return [Plugin(name, f"{package}.{name}", f"{place}/{file}", root / file) for file in files]


@cache
def _extras() -> frozenset[str]:
    return frozenset(path.stem for path in EXTRAS.iterdir())


def _installed() -> Iterator[Plugin]:
    for entry in _entry_points():
        _provide_installed(entry)
        of = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
        yield Plugin(entry.name, entry.module, f"{entry.module}{of}", sources().files.get(entry.module))


def find(name: str) -> Plugin | None:
    """Return the plug-in of this name, without importing it; None if there is none.

    Raises:
        ConfigError: there are several.
    """
    if not name.isidentifier():
        return None
    # Resolving a large study asks hundreds of times.
    found = _at(EXTRAS, "mdnmt.extras", "mdnmt/extras", name) if name in _extras() else []
    found += _at(own, PACKAGE, PACKAGE, name) if (own := folder()).is_dir() else []
    found += (one for one in _installed() if one.name == name)
    if len(found) > 1:
        places = " and ".join(one.place for one in found)
        raise ConfigError(f"found plug-ins of the same name in {places}, expected one: rename or remove one of them")
    return found[0] if found else None


def find_own(kind: Kind, name: str) -> Plugin | None:
    """Return the plug-in that a name of this kind means; None for what mdnmt has itself, or if there is none.

    Raises:
        ConfigError: mdnmt has one of this name too, or there are several plug-ins.
    """
    plugin = find(name)
    if plugin is None or not kind.has_own(name):
        return plugin
    if not plugin.looks_like(kind) and any(map(plugin.looks_like, KINDS)):
        return None  # a plug-in of another kind has the name
    raise ConfigError(f"{plugin.place}: mdnmt has a {kind.name} {name!r} too; give your own one another name")


def module_of(name: str, package: str) -> str:
    """Return the dotted name of the module that is run under a name: a plug-in, or else a module of `package`."""
    plugin = find(name)
    if plugin is None:
        return f"{package}.{name}"
    _provide()
    return plugin.module


def find_all(kind: Kind) -> list[Plugin]:
    """Return the plug-ins that look like one of this kind, by name; nothing is imported."""
    of_folders: list[Plugin] = []
    for root, package, place in ((EXTRAS, "mdnmt.extras", "mdnmt/extras"), (folder(), PACKAGE, PACKAGE)):
        there = {file.stem for file in root.glob("*.py")} | {file.parent.name for file in root.glob("*/__init__.py")}
        names = (name for name in there if name.isidentifier() and not name.startswith("__"))
        of_folders += (plugin for name in names for plugin in _at(root, package, place, name))
    found = (plugin for plugin in (*of_folders, *_installed()) if plugin.looks_like(kind))
    return sorted(found, key=lambda plugin: plugin.name)


def load(kind: Kind, plugin: Plugin) -> ModuleType:
    """Import a plug-in.

    Raises:
        ConfigError: it cannot be imported, or is of another kind.
    """
    if plugin.is_extra:  # a missing package is reported as for any verb, and a bug is ours
        return importlib.import_module(plugin.module)
    _provide()
    with one_line(plugin, "cannot be imported"):
        module = importlib.import_module(plugin.module)
    missing = [name for name in kind.defines if not hasattr(module, name)]
    if missing:
        raise ConfigError(
            f"{plugin.place}: does not define {' and '.join(missing)}; a {kind.name} is a module that defines "
            f"{' and '.join(kind.defines)} ({kind.page})"
        )
    return module


def require(kind: Kind, name: str) -> Plugin:
    """Return a plug-in that must be there.

    Raises:
        ConfigError: it is not.
    """
    plugin = find_own(kind, name)
    if plugin is None:
        known = ", ".join(one.name for one in find_all(kind)) or "none"
        raise ConfigError(f"no {kind.name} {name!r} in mdnmt/extras or {folder()}; there are: {known} ({kind.page})")
    return plugin


def get(kind: Kind, name: str) -> ModuleType:
    """Return the module of a plug-in that must be there; raises as `require` and `load`."""
    return load(kind, require(kind, name))


def make(kind: Kind, name: str, *arguments: Any) -> Any:
    """Return what the function of a plug-in returns: the last of the names that its kind defines.

    Raises:
        ConfigError: there is no such plug-in, or its code fails; the line names file and line.
    """
    plugin = require(kind, name)
    function = kind.defines[-1]
    with one_line(plugin, f"{function} fails"):
        return getattr(load(kind, plugin), function)(*arguments)


class Table(Mapping[str, T]):
    """What mdnmt has of a kind, by name, and then the plug-ins of this kind, which are imported when they are read."""

    def __init__(self, kind: Kind, own: Mapping[str, T], value: Callable[[ModuleType], T]) -> None:
        """Make the table; `value` returns the entry of a plug-in's module."""
        self._kind, self._own, self._value = kind, own, value

    def __getitem__(self, name: str) -> T:
        """Return an entry.

        Raises:
            KeyError: there is none of this name.
            ConfigError: the plug-in has a mistake.
        """
        if name in self._own:
            return self._own[name]
        plugin = find_own(self._kind, name)
        if plugin is None:
            raise KeyError(name)
        return self._value(load(self._kind, plugin))

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (plugin.name for plugin in find_all(self._kind) if plugin.name not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@contextmanager
def one_line(plugin: Plugin, what: str) -> Iterator[None]:
    """Turn an exception of a plug-in's code into one line with its file and line number."""
    try:
        yield
    except MdnmtError:
        raise
    except (Exception, SystemExit) as error:
        roots = [root for name, root in sources().roots.items() if name != "mdnmt"]
        frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError):
            frames.append((error.filename or "", error.lineno))
        own = [(Path(file), line) for file, line in frames if any(Path(file).is_relative_to(root) for root in roots)]
        place = plugin.place
        if own:
            file, line = own[-1]
            inside = file.is_relative_to(folder())
            place = f"{PACKAGE}/{file.relative_to(folder()).as_posix()}:{line}" if inside else f"{place}, line {line}"
        said = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise ConfigError(f"{place}: {what} ({said}); `mdnmt check-plugin FILE` shows the traceback") from error


def own_code(module: str) -> Mapping[str, str]:
    """Return module -> hash of the code that belongs to the address of what `module` makes; empty for the package.

    These are the module and those that it imports from its own distribution or folder, or from mdnmt if no commit of
    this repository has them.
    """
    _provide()
    return _code(module)


@cache
def _code(module: str) -> Mapping[str, str]:
    known = sources()
    return {name: known.hash_of(name) for name in known.modules(module, chosen_from=LOADED_BY_NAME, without=_public())}


@cache
def _public() -> frozenset[str]:
    """Return the modules of mdnmt that a commit has; outside a repository all of them."""
    ours = {name: path for name, path in sources().files.items() if name.partition(".")[0] == "mdnmt"}
    committed = committed_files(sources().root)
    return frozenset(name for name, path in ours.items() if committed is None or path in committed)


def code_of(kind: Kind, name: str) -> Mapping[str, str]:
    """Return the code that a plug-in adds to the address of what it makes; empty for what mdnmt has itself.

    Raises:
        ConfigError: a module that it imports is missing or is not Python.
    """
    plugin = find_own(kind, name)
    if plugin is None:
        return {}
    with one_line(plugin, "its imports cannot be read"):
        return own_code(plugin.module)


def changed_code(recorded: Mapping[str, str]) -> list[str]:
    """Return the modules whose code is missing, or differs from recorded hashes."""
    _provide()
    known = sources()
    return [name for name, code in recorded.items() if name not in known.files or known.hash_of(name) != code]


def source_files(modules: Iterable[str]) -> dict[str, bytes]:
    """Return the sources of modules, and the data files that they name, by relative path, such as `plugins/x.py`."""
    _provide()
    return {name: path.read_bytes() for name, path in _files(sources(), modules).items()}


def _files(known: Sources, modules: Iterable[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name in modules:
        path = known.files[name]
        file = Path(f"{name.replace('.', '/')}{'/__init__' if path.name == '__init__.py' else ''}.py")
        found[file.as_posix()] = path
        beside = (one for one in known.data_of(name) if one.is_relative_to(path.parent))
        found |= {(file.parent / one.relative_to(path.parent)).as_posix(): one for one in beside}
    return found


def require_kept(folder: Path, recorded: Mapping[str, str]) -> None:
    """Check a copy of code: what `source_files` returned, written to a folder.

    Args:
        folder: the copy; if there is none, nothing is checked.
        recorded: module -> hash, as `own_code` returned it.

    Raises:
        DataError: a file is missing, was altered, or is none of these modules and their data.
    """
    if not folder.is_dir():
        return
    kept = Sources(folder / "mdnmt")
    for package in {name.partition(".")[0] for name in recorded} - {"mdnmt"}:
        single = folder / f"{package}.py"
        kept.add(package, single if single.is_file() else folder / package)
    wrong = [name for name, code in recorded.items() if name not in kept.files or kept.hash_of(name) != code]
    known = _files(kept, (name for name in recorded if name not in wrong))
    files = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    if wrong or (wrong := [name for name in files if name not in known]):
        said = f"{wrong[0]} is not the code that run.json records"
        raise DataError(f"{folder}: {said}; remove the folder, which no result depends on, or restore it")
