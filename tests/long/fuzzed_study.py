"""Random operations on a finished study; after each few of them the pipeline runs again.

Invariant: the tables, figures and scores equal those of an undisturbed study with the same configuration and code, or
each job that fails says so in one line that names a file. Removing the files that such lines name, which is what they
advise, leads to the numbers of the undisturbed study within a few starts.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from preforked import KILL, Server
from workflow.snakemake_project import ROOT, SIZES, TRAINING, Project

from mdnmt.fsio import ADDRESS, MADE_FROM, MADE_WITH, SEAL

VOLATILE = {"provenance", "made", SEAL, ADDRESS, MADE_FROM, MADE_WITH}  # when and from what
# Name -> file, changes. All of them change what is made, the title only the page.
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "base": ("config/studies/tiny.yaml", {}),
    "title": ("config/studies/tiny.yaml", {"title": "Other title"}),
    "beam": ("config/studies/tiny.yaml", {"decoding__beam_size": 1}),
    "one method": ("config/studies/tiny.yaml", {"methods": ["mixed"], "figures": {}}),
    "updates": ("config/studies/tiny.yaml", {"options__0__set__training__max_updates": 7}),
    "merges": ("config/tasks/tiny.yaml", {"segmentation__bpe_merge_operations": 30}),
}
# The other code: tables end differently, and so does the syntax tree of training, which computes the same.
OTHER_CODE = {
    "report/write_table.py": """
_to_csv = FORMATS["csv"]
FORMATS["csv"] = lambda grid: _to_csv(grid) + "other code\\n"
""",
    "train/run.py": "\n_OTHER_CODE = True\n",
}
REFUSAL = re.compile(r"^mdnmt [a-z-]+: .*$", flags=re.M)
MOST_STARTS = 8


def other_code(folder: Path) -> Path:
    """Return a folder with a copy of the package whose code is another."""
    shutil.copytree(ROOT / "src" / "mdnmt", folder / "mdnmt", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in OTHER_CODE.items():
        with (folder / "mdnmt" / name).open("a") as module:
            module.write(text)
    return folder


def numbers(folder: Path) -> dict[str, Any]:
    """Return what the study's tables, figures and significance tests say, by name."""
    found: dict[str, Any] = {}
    for path in sorted((folder / "results/tiny").glob("*/*")):
        name = f"{path.parent.name}/{path.name}"
        if path.parent.name == "tables" and path.suffix == ".csv":
            found[name] = path.read_bytes()
        elif path.parent.name in ("tables", "figures", "significance") and path.suffix == ".json":
            try:
                value = json.loads(path.read_bytes())
                found[name] = {key: part for key, part in value.items() if key not in VOLATILE}
                # Which code trained a run depends on what was done to the study, and a note says it; no number does.
                if "notes" in value:
                    found[name]["notes"] = [note for note in value["notes"] if "other code" not in note]
            except (ValueError, AttributeError):
                found[name] = path.read_bytes()
    return found


@dataclass
class Laboratory:
    """The servers, a finished study, and the numbers of undisturbed studies.

    Attributes:
        folder: of everything.
        servers: by code, "own" or "other".
        counts: operations by kind, runs of the pipeline, and how they ended.
    """

    folder: Path
    servers: dict[str, Server] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    _numbers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def open(self) -> None:
        """Make the finished study and the one whose files are foreign."""
        self.folder.mkdir(parents=True, exist_ok=True)
        made = Project.create(self.folder / "finished")
        for audit in (made.folder / "config" / "audit").glob("*.yaml"):
            audit.unlink()  # reading them is most of the time that Snakemake takes
        chosen = {"tables": {"jiang2020-table2": {"task": "tiny"}}, "figures": {"jiang2020-figure8": {"task": "tiny"}}}
        training = {**TRAINING, "validation_bleu_sentences": 0}
        options = [{"set": {"architecture": SIZES, "training": training}}]
        made.update("config/studies/tiny.yaml", **chosen, options=options)
        self.servers["own"] = Server(self.folder / "own")
        self.make(made.folder, "own")
        self.warm("own")
        self._numbers["base", "own"] = numbers(made.folder)

    @property
    def finished(self) -> Path:
        return self.folder / "finished"

    def server(self, code: str) -> Server:
        """Return the server that runs the code."""
        if code not in self.servers:
            self.servers[code] = Server(self.folder / code, other_code(self.folder / "source"))
            self.warm(code)
        return self.servers[code]

    def warm(self, code: str) -> None:
        """Run each verb once inside a server, on a copy."""
        copy = self.folder / f"warm-{code}"
        shutil.copytree(self.finished, copy)
        status, printed = self.servers[code].run("snakemake", copy, "--forceall", "-n", "-p", "--cores", "1")
        assert status == 0, printed
        shutil.rmtree(copy / "results/runs")
        for command in re.findall(r"^Shell command: mdnmt (.*?) > \S+ 2>&1", printed, flags=re.M):
            self.servers[code].warm(copy, *shlex.split(command))

    def make(self, folder: Path, code: str) -> None:
        """Run the pipeline in a folder that nobody disturbs."""
        status, printed = self.server(code).run("snakemake", folder, "--cores", "1")
        assert status == 0, printed

    def undisturbed(self, configuration: str, code: str) -> dict[str, Any]:
        """Return the numbers of a study that nobody disturbed, made from nothing."""
        if (configuration, code) not in self._numbers:
            folder = self.made(configuration, code)
            self._numbers[configuration, code] = numbers(folder)
        return self._numbers[configuration, code]

    def made(self, configuration: str, code: str) -> Path:
        """Return the folder of a study of this configuration, made by this code."""
        folder = self.folder / f"undisturbed-{configuration.replace(' ', '-')}-{code}"
        if not folder.exists():
            skipped = shutil.ignore_patterns("results", ".snakemake", "logs", "resources")
            shutil.copytree(self.finished, folder, ignore=skipped)
            file, changes = CONFIGURATIONS[configuration]
            Project(folder).update(file, **changes)
            self.make(folder, code)
        return folder

    def close(self) -> None:
        for server in self.servers.values():
            server.close()


class Broken(AssertionError):
    """The invariant does not hold."""


class DisturbedStudy:
    """A copy of the finished study, to be disturbed.

    Attributes:
        folder: of the copy.
        log: what was done to it, a line each.
    """

    def __init__(self, laboratory: Laboratory, folder: Path) -> None:
        self.laboratory, self.folder = laboratory, folder
        self.configuration, self.code = "base", "own"
        self.log: list[str] = []
        shutil.copytree(laboratory.finished, folder, symlinks=True)

    def remove(self) -> None:
        """Remove the copy."""
        shutil.rmtree(self.folder)

    def files(self) -> list[Path]:
        """Return everything that the study has made, sorted."""
        folders = ("results", "resources")
        found = (path for name in folders for path in (self.folder / name).rglob("*"))
        return sorted(path for path in found if path.is_file())

    def name(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def did(self, kind: str, text: str) -> None:
        """Take down an operation."""
        self.laboratory.counts[kind] += 1
        self.log.append(f"{kind}: {text}")

    # Each operation takes whole numbers and draws from what is there.
    def delete(self, which: int, folder: bool) -> None:
        path = self._pick(which)
        path = path.parent if folder and path.parent.parent != self.folder else path
        self.did("delete", self.name(path))
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def truncate(self, which: int, at: int, silent: bool) -> None:
        path = self._pick(which)
        data = path.read_bytes()
        self.did("truncate", f"{self.name(path)} at {at % (len(data) + 1)}{' silently' * silent}")
        self._write(path, data[: at % (len(data) + 1)], silent)

    def edit(self, which: int, at: int, bit: int, silent: bool) -> None:
        path = self._pick(which)
        data = path.read_bytes() or b"0"
        at %= len(data)
        digits = [found.start() for found in re.finditer(rb"[0-9]", data)] if bit == 8 else []
        if digits:  # another digit: as well-formed as before
            at = digits[at % len(digits)]
            new = b"%d" % ((data[at] - ord("0") + 1) % 10)
        else:
            new = bytes([data[at] ^ (1 << bit % 8)])
        self.did("edit", f"{self.name(path)} at {at}{' silently' * silent}")
        self._write(path, data[:at] + new + data[at + 1 :], silent)

    def swap(self, which: int, other: int, silent: bool) -> None:
        path = self._pick(which)
        twins = [file for file in self.files() if file.name == path.name and file != path]
        twins = twins or [file for file in self.files() if file.suffix == path.suffix and file != path]
        if not twins:
            return
        twin = twins[other % len(twins)]
        self.did("swap", f"{self.name(path)} and {self.name(twin)}{' silently' * silent}")
        one, two = path.read_bytes(), twin.read_bytes()
        self._write(path, two, silent)
        self._write(twin, one, silent)

    def copy_from(self, which: int, configuration: str, silent: bool) -> None:
        path = self._pick(which)
        there = self.laboratory.made(configuration, "own")

        def plain(file: Path, root: Path) -> str:
            return re.sub(r"-[0-9a-f]{8}(?=/)", "", file.relative_to(root).as_posix())

        place = plain(path, self.folder)
        twins = [file for file in sorted(there.rglob(path.name)) if file.is_file() and plain(file, there) == place]
        if not twins:
            return
        self.did("copy", f"{self.name(path)} of {configuration!r}{' silently' * silent}")
        self._write(path, twins[0].read_bytes(), silent)

    def move(self, which: int, other: int, how: int) -> None:
        path = self._pick(which)
        if how == 0:
            target = path.with_name(f"{path.name}.bak")
        elif how == 1:
            alike = [file for file in self.files() if file.suffix == path.suffix]
            target = alike[other % len(alike)]
        elif how == 2 and path.parent.parent != self.folder:
            path = path.parent
            target = path.with_name(f"{path.name}-moved")
        else:
            target = self.folder.with_name(f"{self.folder.name}-moved")
            self.did("move", "the project")
            self.folder.rename(target)
            self.folder = target
            return
        self.did("move", f"{self.name(path)} to {self.name(target)}")
        if target.is_dir():
            shutil.rmtree(target)
        path.replace(target)
        if target.is_relative_to(self.folder / "results/tiny"):
            os.utime(target)  # as in _write: nothing reads a final file of an old time again

    def configure(self, configuration: str) -> None:
        self.did("configuration", configuration)
        for file in ("studies/tiny.yaml", "tasks/tiny.yaml"):
            shutil.copyfile(self.laboratory.finished / "config" / file, self.folder / "config" / file)
        file, changes = CONFIGURATIONS[configuration]
        Project(self.folder).update(file, **changes)
        self.configuration = configuration

    def change_code(self) -> None:
        self.code = "other" if self.code == "own" else "own"
        self.did("code", self.code)

    def kill(self, which: int, event: int) -> None:
        """Remove an output, and arm a kill of the first verb that makes something, at one of its events."""
        self.delete(which, True)
        self.laboratory.counts["delete"] -= 1
        self.log.pop()
        self.did("kill", f"the next verb at event {event}, for what was in a removed folder")
        (self.folder / KILL).write_text(json.dumps({"verb": "", "event": event}))

    def _pick(self, which: int) -> Path:
        files = self.files()
        return files[which % len(files)]

    def _write(self, path: Path, data: bytes, silent: bool) -> None:
        times = path.stat()
        path.write_bytes(data)
        # As a disk does it: the time of the last change stays. Not of final files, which nothing reads again.
        if silent and not path.is_relative_to(self.folder / "results/tiny"):
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def run(self) -> None:
        """Run the pipeline, follow the advice of its refusals, and check the invariant.

        Raises:
            Broken: it does not hold.
        """
        counts = self.laboratory.counts
        counts["pipelines"] += 1
        refused = False
        for _ in range(MOST_STARTS):
            before = numbers(self.folder)
            status, printed = self._once()
            right = self.laboratory.undisturbed(self.configuration, self.code)
            after = numbers(self.folder)
            if "Traceback" in printed:
                self._broken("a traceback", printed)
            if status == 0:
                wrong = [name for name in right if after.get(name) != right[name]]
                if wrong:
                    self._broken(f"other numbers in {wrong}", printed)
                counts["remade after a refusal" if refused else "the same numbers at once"] += 1
                self.log.append("-- pipeline: the same numbers")
                return
            changed = [name for name, value in after.items() if value not in (before.get(name), right.get(name))]
            if changed:
                self._broken(f"refused, and changed {changed}", printed)
            if status == "killed":
                counts["kills that hit"] += 1
                continue
            refused = True
            counts["refusals"] += 1
            self._follow(printed)
        # Refused by name, so nothing is wrong; but its advice leads nowhere. Counted, and begun again with a new copy.
        counts["advice without an end"] += 1
        print("\n".join(["advice without an end", *self.log]))
        shutil.rmtree(self.folder)
        shutil.copytree(self.laboratory.finished, self.folder, symlinks=True)
        self.configuration, self.code, self.log = "base", "own", []

    def _once(self) -> tuple[int | str, str]:
        armed = (self.folder / KILL).exists()
        status, printed = self.laboratory.server(self.code).run("snakemake", self.folder, "--cores", "1")
        if armed and (self.folder / KILL).exists():
            (self.folder / KILL).unlink()  # no verb ran
            armed = False
        if armed and status and not REFUSAL.search(printed):
            return "killed", printed
        return status, printed

    def _follow(self, printed: str) -> None:
        """Remove the file that each refusal names."""
        lines = sorted(set(REFUSAL.findall(printed)))
        if not lines:
            self._broken("failed without a line of its own", printed)
        self.log.extend(f"-- refused: {line}" for line in lines)
        for line in lines:
            if "other training code" in line:
                self.code = "own" if self.code == "other" else "other"
                continue
            named = list(self._paths(line))
            if not named:
                self._broken("a refusal names no file", line)
            for path in named[:1]:
                if "remove the task's folder" in line:
                    path = next(part for part in (path, *path.parents) if part.parent.name == "tasks")
                elif named_to_remove := re.search(r"remove (?:the folder )?(results/[^\s,]+)", line):
                    path = self.folder / named_to_remove[1]
                self.log.append(f"   removed {self.name(path)}")
                for later in path.parent.glob("update-*") if "all later checkpoints" in line else ():
                    if later.name > path.name:
                        shutil.rmtree(later)
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _paths(self, line: str) -> Iterator[Path]:
        for word in re.findall(r"(?:/|results/|resources/)[^\s:;,'()]+", line):
            path = self.folder / word
            if path != self.folder and path.is_relative_to(self.folder):
                yield path

    def _broken(self, what: str, printed: str) -> None:
        self.laboratory.counts["broken"] += 1
        raise Broken("\n".join([f"{self.folder.name}: {what}", *self.log, "", printed[-6000:]]))
