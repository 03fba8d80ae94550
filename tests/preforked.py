"""A process that has imported everything, and forks once for each command: a stage then starts in milliseconds.

Snakemake runs the rules of the workflow as they are. The `mdnmt` on its search path is a client of a few lines, which
sends its words, working directory and open files to the server; the server forks, and the fork runs the verb. Each
command has a process of its own, as in real life, and can be killed at any moment.

    python preforked.py SOCKET
"""

from __future__ import annotations

import array
import atexit
import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

SOCKET = "MDNMT_PREFORKED"  # in the environment of a client: the server's socket
KILL = ".kill.json"  # in the working directory: which verb is killed, and at which event
# Read when a library is imported; who sets another value than the server has gets a Python of its own.
AT_IMPORT = ("PYTHONPATH", "HF_HOME", "HF_ENDPOINT")
CLIENT = """#!{python} -IS
import os, socket, json, sys, array
if any(os.environ.get(name, "") != value for name, value in {at_import!r}.items()):
    os.environ["PATH"] = os.environ["PATH"].replace(os.path.dirname(__file__) + ":", "")
    os.execv({python!r}, [{python!r}, "-m", {program!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as link:
    link.connect(os.environ[{variable!r}])
    request = json.dumps([{program!r}, os.getcwd(), sys.argv[1:], dict(os.environ)]).encode()
    fds = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    link.sendmsg([len(request).to_bytes(8, "big")], fds)
    link.sendall(request)
    status = int(link.recv(16) or b"1")
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
"""
# What verbs import only when they need it, because it takes a second each.
IMPORTED_LATE = (
    "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "pandas",
    "scipy.stats",
)
# The Python of a fork, as far as others ask for `sys.executable`.
PYTHON = """#!/bin/sh
case "$1 $2" in
"-m snakemake") shift 2; exec {folder}/snakemake "$@" ;;
"-m mdnmt" | "-m mdnmt.cli") shift 2; exec {folder}/mdnmt "$@" ;;
esac
exec {python} "$@"
"""


class Server:
    """The server's process, and the client that reaches it.

    Attributes:
        folder: holds the socket and the client.
        source: the folder of the package that it imports; None: the installed one.
        fresh: import the package anew for each command, from `src` of the folder where it runs.
    """

    def __init__(self, folder: Path, source: Path | None = None, *, fresh: bool = False) -> None:
        folder.mkdir(parents=True)
        self.socket, self.programs = folder / "socket", folder / "bin"
        self.programs.mkdir()
        at_import = {name: os.environ.get(name, "") for name in AT_IMPORT} | {"PYTHONPATH": str(source or "")}
        known = {"python": sys.executable, "at_import": {} if fresh else at_import, "variable": SOCKET}
        texts = {name: CLIENT.format(program=name, **known) for name in ("mdnmt", "snakemake")}
        texts["python"] = PYTHON.format(python=sys.executable, folder=self.programs)
        texts["activate"] = f"export PATH={self.programs}:$PATH\n"  # so that the folder can stand for an environment's
        for name, text in texts.items():
            (self.programs / name).write_text(text)
            (self.programs / name).chmod(0o755)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment = self.reaching({**os.environ, "PATH": path, "PYTHONPATH": at_import["PYTHONPATH"]})
        self.environment["OMP_NUM_THREADS"] = "1"
        self.environment.pop("SNAKEMAKE_PROFILE", None)
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(self.socket), *(["fresh"] if fresh else [])],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def reaching(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment with the clients before other programs, and what they need."""
        path = f"{self.programs}{os.pathsep}{environment['PATH']}"
        return {**environment, "PATH": path, SOCKET: str(self.socket)}

    def run(self, program: str, folder: Path, *words: str) -> tuple[int, str]:
        """Run `mdnmt` or `snakemake` in a folder; return the status and all that it printed."""
        log = folder / ".printed"
        request = json.dumps([program, str(folder), words, self.environment]).encode()
        with log.open("wb") as printed, socket.socket(socket.AF_UNIX) as link, Path(os.devnull).open() as nothing:
            link.connect(str(self.socket))
            files = array.array("i", [nothing.fileno(), printed.fileno(), printed.fileno()])
            link.sendmsg([len(request).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            link.sendall(request)
            status = int(link.recv(16) or b"1")
        return status, log.read_text(encoding="utf-8", errors="replace")

    def warm(self, folder: Path, *words: str) -> None:
        """Run a verb in the server itself, so that what it imports, compiles and caches is there for every fork."""
        status, printed = self.run("warm", folder, *words)
        assert status == 0, printed

    def close(self) -> None:
        """End the server."""
        self.process.terminate()
        self.process.wait()


@cache
def preforked(*, fresh: bool = False) -> Server:
    """Return the server of this process, started when it is first needed; `fresh` as in `Server`."""
    folder = Path(tempfile.mkdtemp(prefix="mdnmt-preforked-"))
    server = Server(folder / "server", fresh=fresh)
    atexit.register(shutil.rmtree, folder)
    atexit.register(server.close)
    return server


def _receive(link: socket.socket) -> tuple[Any, list[int]]:
    """Return what a client asks for (program, folder, words, environment), and its standard files."""
    header, ancillary, _, _ = link.recvmsg(8, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    size, text = int.from_bytes(header, "big"), b""
    while len(text) < size:
        text += link.recv(size - len(text))
    return json.loads(text), list(files)


def die_at(event: int) -> None:
    """Kill this process, with signal 9, at its event of that number that opens, renames or removes a file."""
    left = event

    def count(name: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if name in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def _armed(words: list[str]) -> int:
    """Return at which event this verb is to be killed, once; 0: not at all."""
    with contextlib.suppress(OSError, ValueError):
        plan = json.loads(Path(KILL).read_text())
        if not plan["verb"] or plan["verb"] in words:
            Path(KILL).unlink()
            return int(plan["event"])
    return 0


def _act(link: socket.socket, mains: dict[str, Callable[[list[str]], Any]], request: Any, files: list[int]) -> None:
    """In a process of its own: do what a client asks for, in a child, and answer with the child's status."""
    program, folder, words, environment = request
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    event = _armed(words) if program == "mdnmt" else 0
    child = os.fork()
    if child == 0:
        link.close()
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.argv = [program, *words]
        # The workflow puts the folder of Python before the search path of its commands: there it finds the client.
        sys.executable = str(Path(os.environ[SOCKET]).parent / "bin" / "python")
        if event:
            die_at(event)
        try:
            status = (mains or _imported_here())[program](words)
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            import traceback

            traceback.print_exc()
            status = 1
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status if isinstance(status, int) else int(status is not None))
    handle = os.pidfd_open(child)
    if link in select.select([link, handle], [], [])[0]:
        os.kill(child, signal.SIGTERM)  # the client is gone
    _, ended = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        link.sendall(str(os.waitstatus_to_exitcode(ended)).encode())


def _import_all() -> dict[str, Callable[[list[str]], Any]]:
    import setuptools  # noqa: F401  (before anything imports distutils)
    import smart_open  # noqa: F401  (Snakemake imports these two late, which is 40% of a start with nothing to do)
    import snakemake.cli
    import snakemake.report
    import torch

    import mdnmt.cli

    torch.set_num_threads(1)
    for name in IMPORTED_LATE:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(mdnmt.__path__, "mdnmt."):
        with contextlib.suppress(ImportError):  # COMET and the like, which are not installed everywhere
            importlib.import_module(module.name)
    from mdnmt.exhibits.code_hashes import code_of

    for verb in mdnmt.cli.verbs():
        with contextlib.suppress(ModuleNotFoundError):  # a verb of an extra, which no rule calls
            code_of(verb.replace("-", "_"))  # the syntax trees of all modules, read once
    return {"mdnmt": mdnmt.cli.main, "snakemake": snakemake.cli.main}


# Module -> hash of its file, and what was read from it: reading all of them takes seconds.
_READ: dict[str, tuple[bytes, Any]] = {}


def _forget_package() -> None:
    """Let the package be imported again; what it imported stays, and what was read from its files."""
    from mdnmt.code_hash import sources

    for name, path in sources().files.items():
        module = sources()._module(name)
        if not module.data:  # paths in this package
            _READ[name] = hashlib.sha256(path.read_bytes()).digest(), module
    for name in [name for name in sys.modules if name.partition(".")[0] == "mdnmt"]:
        del sys.modules[name]


def _imported_here() -> dict[str, Callable[[list[str]], Any]]:
    """Import the package from the folder `src` of the working directory."""
    sys.path.insert(0, str(Path("src").absolute()))
    sys.dont_write_bytecode = True  # an edit may leave size and second as they were, by which bytecode is chosen
    os.environ["PYTHONPATH"], os.environ["PYTHONDONTWRITEBYTECODE"] = sys.path[0], "1"
    import snakemake.cli

    import mdnmt.cli
    from mdnmt.code_hash import Sources

    read = Sources._module

    def remembered(self: Any, name: str) -> Any:
        if name in _READ and name not in self._read and name in self.files:
            digest, module = _READ[name]
            if hashlib.sha256(self.files[name].read_bytes()).digest() == digest:
                self._read[name] = module
        return read(self, name)

    Sources._module = remembered  # type: ignore[method-assign]
    return {"mdnmt": mdnmt.cli.main, "snakemake": snakemake.cli.main}


def serve(place: str, *, fresh: bool) -> None:
    """Serve clients until the process is ended, or the one that started it."""
    mains = _import_all()
    if fresh:
        mains = {}
        _forget_package()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(place)
        server.listen(64)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks that ended are no zombies
        print("ready", flush=True)
        while True:
            if sys.stdin in select.select([server, sys.stdin], [], [])[0]:
                return
            link, _ = server.accept()
            request, files = _receive(link)
            if request[0] == "warm":
                os.chdir(request[1])
                with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
                    link.sendall(str(mains["mdnmt"](request[2])).encode())
            elif os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                server.close()
                _act(link, mains, request, files)
                os._exit(0)
            for file in files:
                os.close(file)
            link.close()


if __name__ == "__main__":
    serve(sys.argv[1], fresh=sys.argv[2:] == ["fresh"])
