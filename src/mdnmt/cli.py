"""The command line: `mdnmt <verb> ...`, with one module per verb, in `mdnmt.commands` or a plug-in."""

from __future__ import annotations

import argparse
import ast
import errno
import importlib
import os
import signal
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from mdnmt import __version__, commands
from mdnmt.errors import EXIT_USER, MdnmtError, owned_by_another, printable, refuse_special_file
from mdnmt.machine import require_own_package, require_plain_path
from mdnmt.paths import to_remove
from mdnmt.plugin_kinds import VERB, Plugin
from mdnmt.plugins import find_all, find_own, load

_FULL = "; files made before are untouched: make room, then start the same command again"
_CLOSED = "; files made before are untouched: give write permission, then start the same command again"
WHAT_TO_DO: dict[int | None, str] = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EROFS: _CLOSED,
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
    errno.EMFILE: "; raise the limit, for example `ulimit -n 4096`, then start the same command again",
}


def _own_verbs() -> dict[str, Path]:
    """Return verb -> source, of the modules of `mdnmt.commands`."""
    folder = Path(commands.__file__).parent
    return {path.stem.replace("_", "-"): path for path in sorted(folder.glob("[!_]*.py"))}


def _plugins() -> dict[str, Plugin]:
    """Return verb -> plug-in."""
    return {plugin.name.replace("_", "-"): plugin for plugin in find_all(VERB)}


def verbs() -> list[str]:
    """Return the names of all verbs: those of `mdnmt.commands` and of plug-ins, with dashes."""
    return sorted({*_own_verbs(), *_plugins()})


def module_of(verb: str) -> ModuleType | None:
    """Return the module of a verb, which alone is imported, so that a verb without torch starts at once.

    Raises:
        ConfigError: a plug-in has the name of one of mdnmt's verbs, or cannot be imported.
    """
    plugin = find_own(VERB, verb.replace("-", "_"))
    if plugin is not None:
        return load(VERB, plugin)
    return importlib.import_module(f"mdnmt.commands.{verb.replace('-', '_')}") if verb in _own_verbs() else None


def _usage() -> str:
    lines = [f"mdnmt {__version__}: multi-domain neural machine translation, rebuilt table by table"]
    own, others = _own_verbs(), _plugins()
    texts = {verb: path.read_text(encoding="utf-8") for verb, path in own.items()}
    texts |= {verb: plugin.text for verb, plugin in others.items()}
    named = {verb for section in commands.SECTIONS.values() for verb in section}
    extras = [verb for verb, plugin in others.items() if plugin.is_extra and verb not in named]
    yours = [verb for verb, plugin in others.items() if not plugin.is_extra]
    sections = {**commands.SECTIONS, "Extras": extras, "Plug-ins": yours}
    for heading, section in ((heading, section) for heading, section in sections.items() if section):
        lines += ["", f"{heading}:", *(f"  {verb:<16}{_first_line(texts[verb])}" for verb in section)]
    rest = ", ".join(sorted(own.keys() - named))
    lines += [
        "",
        f"{commands.OF_THE_WORKFLOW}:",
        textwrap.fill(rest, 110, break_on_hyphens=False, initial_indent="  ", subsequent_indent="  "),
    ]
    start = "Make a study: mdnmt run NAME, or snakemake --cores all --config study=NAME."
    return "\n".join([*lines, "", f"{start} More: mdnmt COMMAND --help"])


def _first_line(source: str) -> str:
    """Return the first line of a module's docstring, without importing it."""
    try:
        return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
    except SyntaxError:
        return "cannot be read: mdnmt check-plugin says why"


def _say(line: str) -> None:
    """Print a line on standard error; if that fails too (full disk), the exit status has to do."""
    with suppress(OSError):
        print(line, file=sys.stderr)


def _drop_output() -> None:
    """Redirect standard output to the null device, so that Python's flush at exit does not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reserve_closed_streams() -> None:
    """Give the null device the numbers of standard streams that were closed (`>&-`), which our files would get."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)


# Pipes and devices that may be opened by name: what the shell passes, and what libraries use.
_OPENED_BY_NAME = (os.devnull, "/dev/random", "/dev/urandom", "/dev/tty", "/dev/pts/", "/dev/std", "/dev/fd/", "/proc/")
_watched = False  # a verb is running in this process


def _refuse_special_input(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse to read a pipe or device that the user named, in whatever verb or library (an audit hook of Python)."""
    if event != "open" or not _watched or not isinstance(arguments[0], str | bytes):
        return
    name, mode, flags = arguments
    reads = mode.startswith("r") if isinstance(mode, str) else flags & os.O_ACCMODE == os.O_RDONLY
    if reads and not os.fsdecode(name).startswith(_OPENED_BY_NAME):
        refuse_special_file(name)


@cache
def _install_hook() -> None:
    sys.addaudithook(_refuse_special_input)  # Python can remove none, so it is added once


def main(argv: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit status.

    0: done; 2: user error; 75: saved, start again; 128 + n: ended by signal n. A bug raises: Python exits with 1.
    """
    global _watched
    arguments = list(sys.argv[1:] if argv is None else argv)
    _reserve_closed_streams()
    _install_hook()
    was_watched, _watched = _watched, True
    try:
        return _one(arguments)
    except MdnmtError as error:
        _say(f"mdnmt: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say(f"mdnmt {arguments[0] if arguments else ''}: stopped by Ctrl-C")
        return 128 + signal.SIGINT
    finally:
        _watched = was_watched


def _one(arguments: list[str]) -> int:
    verb = arguments[0] if arguments else "help"
    name, args = "mdnmt", argparse.Namespace()
    try:
        if verb in {"-h", "--help", "help"}:
            print(_usage())
        elif verb == "--version":
            print(__version__)
        elif (module := module_of(verb)) is None:
            raise MdnmtError(f"no verb {verb!r}; there are: {', '.join(verbs())}")
        else:
            name = f"mdnmt {verb}"
            # `@FILE` is replaced by the content of that file: specs may be too long for a command line.
            parser = argparse.ArgumentParser(prog=name, description=module.__doc__, fromfile_prefix_chars="@")
            module.add_arguments(parser)
            args = parser.parse_args(arguments[1:])
            if Path("Snakefile").is_file():
                require_plain_path(Path.cwd())
            require_own_package(Path.cwd())
            return _flushed(module.run(args))
        return _flushed(0)
    except MdnmtError as error:
        _say(f"{name}: {error}")
        return error.exit_code
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in {"", "mdnmt"}:
            raise
        _say(
            f"{name}: needs the Python package {package}, which is not installed; "
            "run `make setup`, or `pip install .`, in a clone of the repository"
        )
        return EXIT_USER
    except MemoryError:
        _say(f"{name}: this process has no memory left; files made before are untouched: use a larger machine")
        return EXIT_USER
    except BrokenPipeError:
        # The reader of our output is gone (`mdnmt ... | head`): not our error, and nobody would read a message.
        _drop_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        # A problem of the machine or the user (no permission, disk full, a bad path), not a bug.
        what = error.strerror or str(error) or type(error).__name__
        place = error.filename or getattr(args, "out", None)  # a full disk names no file
        where = f"{place}: " if place else ""
        if place and error.errno in {errno.EACCES, errno.EPERM}:
            what += owned_by_another(Path(os.fsdecode(place)))
        if place and error.errno == errno.ENOENT:
            folder = to_remove(missing := Path(os.fsdecode(place)))
            if folder != missing and folder.is_dir():
                what += f"; remove the folder {folder}, then start the same command again"
        _say(printable(f"{name}: {where}{what}{WHAT_TO_DO.get(error.errno, '')}"))
        try:
            _flushed(0)
        except OSError:
            _drop_output()
        return EXIT_USER


def _flushed(status: int | None) -> int:
    """Flush standard output, while a full disk can still be reported; return the status of a verb as a number."""
    if sys.stdout is not None:  # None: it was closed before Python started
        sys.stdout.flush()
    return status or 0


if __name__ == "__main__":
    sys.exit(main())
