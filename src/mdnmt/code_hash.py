"""Hash the code that a module runs, without comments, docstrings and positions.

The modules are found statically, from the syntax trees of a module and of everything that it imports from mdnmt and
from the packages of plug-ins (`Sources.add`); nothing is imported.
The rules of cheap stages have such a hash as a param, so that changed code makes exactly their
outputs again; checkpoints, runs and exhibits record it.

What counts as an import of a module:

- `import` and `from ... import`, also inside functions, but not under `if TYPE_CHECKING:`;
- the `__init__` of every package that contains it;
- all modules of a package that loads them by name with `import_module(f"{__name__}.{name}")`;
- data files (templates, styles): all files of a package whose dotted name occurs in a string, and a file of the
  module's own package whose name occurs in a string;
- in plug-ins also a module whose dotted name is a string, and a file whose path in the module's folder is one.

A module that is chosen by a value, for example one kind of figure, is not found; name it as an additional root.

Every start of Snakemake needs the hashes of most modules. What was read from a file of the package itself is therefore
kept beside the bytecode and used again as long as the file's content is the same.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mdnmt import fsio

_DIGITS = 16


@dataclass(frozen=True)
class _Module:
    """What is read from the source of one module.

    Attributes:
        digest: hash of its code.
        imports: modules of the known packages that it imports.
        data: data files that it names.
        loads_all: whether it is a package that imports all of its modules by name.
    """

    digest: str
    imports: frozenset[str]
    data: frozenset[Path]
    loads_all: bool


class Sources:
    """The source files of a package and of others that are added to it, each read at most once."""

    def __init__(self, root: Path) -> None:
        """Take the package in the folder `root`, which has the package's name."""
        self.root, self.roots = root, {root.name: root}
        self._read: dict[str, _Module] = {}
        self._hashes: dict[tuple[tuple[str, ...], frozenset[str], frozenset[str]], str] = {}
        self._kept_in = root / "__pycache__" / f"code-hashes-{sys.implementation.cache_tag}.json"
        self._has_new = False

    def add(self, package: str, root: Path) -> None:
        """Take another top-level package, a folder or a single file; one of the same name is replaced."""
        self.roots[package] = root
        self._hashes.clear()
        self._read = {name: module for name, module in self._read.items() if name.partition(".")[0] != package}
        for name in ("files", "namespaces", "data"):
            self.__dict__.pop(name, None)

    @cached_property
    def files(self) -> dict[str, Path]:
        """Return module -> file; for a package, its __init__.py."""
        found = {}
        for package, root in self.roots.items():
            for path in [root] if root.is_file() else sorted(root.rglob("*.py")):
                inside = () if path == root else path.relative_to(root).with_suffix("").parts
                found[".".join((package, *(inside[:-1] if inside[-1:] == ("__init__",) else inside)))] = path
        return found

    @cached_property
    def namespaces(self) -> set[str]:
        """Return the packages without an __init__.py."""
        return {package for name in self.files for package in _with_packages(name)} - self.files.keys()

    @cached_property
    def data(self) -> dict[str, tuple[Path, ...]]:
        """Return package -> the files in it that are not Python files."""
        found: dict[str, tuple[Path, ...]] = {}
        for name, path in self.files.items():
            package = _package_of(name, path)
            if package and package not in found:
                inside = (entry for entry in path.parent.iterdir() if entry.is_file())
                found[package] = tuple(sorted(entry for entry in inside if entry.suffix not in (".py", ".pyc", ".pyi")))
        return found

    def modules(self, *roots: str, chosen_from: Collection[str] = (), without: Collection[str] = ()) -> list[str]:
        """Return the sorted names of `roots` and of all modules that they import; arguments as in `code_hash`."""
        found: set[str] = set()
        waiting = [name for root in roots for name in _with_packages(root)]
        while waiting:
            name = waiting.pop()
            if name in found or name in without or name in self.namespaces:
                continue
            found.add(name)
            module = self._module(name)
            waiting += module.imports
            if module.loads_all and name not in chosen_from:
                waiting += [other for other in self.files if other.startswith(f"{name}.")]
        self._keep()
        return sorted(found)

    def hash(self, *roots: str, chosen_from: Collection[str] = (), without: Collection[str] = ()) -> str:
        """Return the hash of `roots` and of all modules that they import; arguments as in `code_hash`."""
        key = (roots, frozenset(chosen_from), frozenset(without))
        if key not in self._hashes:
            self._hashes[key] = self._hash(self.modules(*roots, chosen_from=chosen_from, without=without))
        return self._hashes[key]

    def _hash(self, names: list[str]) -> str:
        digest = hashlib.sha256()
        for name in names:
            digest.update(f"{name} {self._module(name).digest}\n".encode())
        for path in sorted({path for name in names for path in self._module(name).data}):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{self._place(path)} {content}\n".encode())
        return digest.hexdigest()[:_DIGITS]

    def hash_of(self, name: str) -> str:
        """Return the hash of one module and of the data files that it names, without what it imports."""
        return self._hash([name])

    def data_of(self, name: str) -> frozenset[Path]:
        """Return the data files that a module names."""
        return self._module(name).data

    def _place(self, path: Path) -> str:
        root = next(root for root in self.roots.values() if path.is_relative_to(root))
        return path.relative_to(root if root == self.root else root.parent).as_posix()

    def _module(self, name: str) -> _Module:
        if name not in self._read:
            if name not in self.files:
                raise ModuleNotFoundError(f"{self.root}: no module {name!r}")
            source = self.files[name].read_bytes()
            is_own = name.partition(".")[0] == self.root.name
            kept = self._kept.get(name) if is_own else None
            if kept is not None and kept[0] == hashlib.sha256(source).hexdigest():
                _, digest, imports, data, loads_all = kept
                paths = frozenset(self.root / path for path in data)
                self._read[name] = _Module(digest, frozenset(imports), paths, loads_all)
            else:
                self._read[name] = self._parsed(name, source, is_own)
                self._has_new = self._has_new or is_own
                if is_own:
                    self._kept[name] = self._record(source, self._read[name])
        return self._read[name]

    def _parsed(self, name: str, source: bytes, is_own: bool) -> _Module:
        path = self.files[name]
        # The package itself follows the rules above; whoever writes a plug-in may know none of them.
        reader = _Reader(self, _package_of(name, path), None if is_own else path.parent)
        text = reader.read(ast.parse(source, str(path)))
        return _Module(
            digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
            imports=frozenset(part for found in reader.imports for part in _with_packages(found)),
            data=frozenset(reader.data),
            loads_all=reader.loads_all,
        )

    def _record(self, source: bytes, module: _Module) -> list[Any]:
        data = sorted(path.relative_to(self.root).as_posix() for path in module.data)
        return [hashlib.sha256(source).hexdigest(), module.digest, sorted(module.imports), data, module.loads_all]

    @cached_property
    def _names(self) -> str:
        """Return a hash of what else decides what is read from a file: the names of all files, and this code."""
        own = [path for path in self.files.values() if path.is_relative_to(self.root)]
        own += [path for paths in self.data.values() for path in paths if path.is_relative_to(self.root)]
        names = "\n".join(sorted(path.relative_to(self.root).as_posix() for path in own))
        return hashlib.sha256(names.encode() + Path(__file__).read_bytes()).hexdigest()

    @cached_property
    def _kept(self) -> dict[str, list[Any]]:
        """Return what earlier processes read: module -> hash of its file, and the fields of `_Module`."""
        try:
            kept = fsio.read_json(self._kept_in)
            return dict(kept["modules"]) if kept["names"] == self._names else {}
        except (OSError, ValueError, KeyError, TypeError):  # missing, damaged, or of another version
            return {}

    def _keep(self) -> None:
        if not self._has_new or sys.dont_write_bytecode or not self._kept_in.parent.is_dir():
            return
        self._has_new = False
        with suppress(OSError):  # an installation that is read-only
            fsio.write_sealed(self._kept_in, {"names": self._names, "modules": dict(sorted(self._kept.items()))})


@cache
def sources() -> Sources:
    """Return the sources of mdnmt, and of the plug-ins that were found so far."""
    return Sources(Path(__file__).resolve().parent)


def code_hash(*roots: str, chosen_from: Collection[str] = (), without: Collection[str] = ()) -> str:
    """Return a hash of the code of `roots` and of all modules of mdnmt that they import.

    Args:
        roots: dotted names, such as `mdnmt.commands.score`.
        chosen_from: packages that load their modules by name; only those imported elsewhere count.
        without: modules to leave out, with what only they import.

    Raises:
        ModuleNotFoundError: there is no such module.
        SyntaxError: a file is not Python.
    """
    return sources().hash(*roots, chosen_from=chosen_from, without=without)


def modules_of(*roots: str, chosen_from: Collection[str] = (), without: Collection[str] = ()) -> list[str]:
    """Return the sorted names of the modules that `code_hash` covers for the same arguments."""
    return sources().modules(*roots, chosen_from=chosen_from, without=without)


def _package_of(name: str, path: Path) -> str:
    """Return the package whose modules a module imports by relative names."""
    return name if path.name == "__init__.py" else name.rpartition(".")[0]


def _with_packages(name: str) -> Iterator[str]:
    """Yield a module and the packages that contain it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


class _Reader:
    """Turns one syntax tree into canonical text, and collects what it imports."""

    def __init__(self, sources: Sources, package: str, inside: Path | None) -> None:
        self.sources, self.package, self.inside = sources, package, inside
        self.imports: set[str] = set()
        self.data: set[Path] = set()
        self.loads_all = False

    def read(self, tree: ast.Module) -> str:
        """Return a text that is the same for two trees if and only if they differ only in docstrings and positions."""
        pieces: list[str] = []
        self._write(tree, pieces)
        return "".join(pieces)

    def _write(self, node: object, pieces: list[str]) -> None:
        # Empty fields are left out: newer versions of Python add some, and the hash should outlive an upgrade.
        if isinstance(node, ast.AST):
            if _is_type_checking(node):
                return
            self._look_at(node)
            pieces.append(f"{type(node).__name__}(")
            for field in node._fields:
                value: Any = getattr(node, field, None)
                if field == "body" and isinstance(node, _WITH_DOCSTRING):
                    value = _without_docstring(value)
                if value is None and not (field == "value" and isinstance(node, ast.Constant)):
                    continue
                if value == [] or field in ("ctx", "kind", "type_comment"):
                    continue
                pieces.append(f"{field}=")
                self._write(value, pieces)
            pieces.append(")")
        elif isinstance(node, list):
            pieces.append("[")
            for one in node:
                self._write(one, pieces)
                pieces.append(",")
            pieces.append("]")
        else:
            pieces.append(repr(node))

    def _look_at(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            self.imports |= {alias.name for alias in node.names if self._is_ours(alias.name)}
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A text of the package that happens to be the name of a plug-in does not stand for the plug-in's files.
            if self.inside is not None or node.value.partition(".")[0] == self.sources.root.name:
                self.data |= set(self.sources.data.get(node.value, ()))
            self.data |= {path for path in self.sources.data.get(self.package, ()) if path.name == node.value}
            if self.inside is not None:
                self.imports |= {node.value} & self.sources.files.keys()
                self.data |= set(_file_at(self.inside, node.value))
        elif isinstance(node, ast.Call) and _loads_by_name(node):
            self.loads_all = True

    def _is_ours(self, name: str) -> bool:
        return name.partition(".")[0] in self.sources.roots

    def _import_from(self, node: ast.ImportFrom) -> None:
        parts = self.package.split(".")
        start = parts[: len(parts) - node.level + 1] if node.level else []
        source = ".".join([*start, *([node.module] if node.module else [])])
        if not self._is_ours(source):
            return
        self.imports.add(source)
        # A name that is imported from a package may be one of its modules.
        names = {f"{source}.{alias.name}" for alias in node.names}
        self.imports |= names & self.sources.files.keys()


def _file_at(folder: Path, text: str) -> Iterator[Path]:
    """Yield the file at a path in a folder, if a text is such a path."""
    path = Path(os.path.normpath(folder / text)) if "/" in text else folder
    with suppress(OSError, ValueError):  # a text that cannot be a path
        if path.is_relative_to(folder) and path.suffix != ".py" and path.is_file():
            yield path


_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    return body[1:] if body and _is_text(body[0]) else body


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_type_checking(node: ast.AST) -> bool:
    """Return whether only type checkers read a statement."""
    return isinstance(node, ast.If) and not node.orelse and _last_name(node.test) == "TYPE_CHECKING"


def _last_name(node: ast.expr) -> str:
    """Return `name` for `name` and `module.name`, "" for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _loads_by_name(call: ast.Call) -> bool:
    """Return whether a call is `import_module(f"{__name__}...")`."""
    first = call.args[0] if call.args and _last_name(call.func) == "import_module" else None
    begin = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else None
    return isinstance(begin, ast.FormattedValue) and _last_name(begin.value) == "__name__"
