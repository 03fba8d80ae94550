"""What the workflow's rules need from a study: the files behind tables and figures, and files with the verbs' specs."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from errno import EACCES, EPERM
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mdnmt.errors import EXIT_USER, owned_by_another, printable
from mdnmt.fsio import options_hash, write_text

SPECS = Path(".snakemake/specs")


class SpecFiles:
    """The files that hold the specs of verbs, because a command line is too short for the spec of a large study.

    A file is named by a hash of its content, so its path, a parameter of a rule, changes if and only if the content
    does. Snakemake evaluates parameters in a dry run as well, which must write nothing: until `write` is called,
    contents are only remembered.
    """

    def __init__(self, *, at_once: bool) -> None:
        """Start with nothing to write.

        Args:
            at_once: write each file when it is asked for; for processes in which Snakemake does not call `onstart`.
        """
        self._at_once = at_once
        self._waiting: dict[Path, str] = {}

    def __call__(self, spec: BaseModel | str) -> str:
        """Return the path of the file with this spec."""
        text = spec if isinstance(spec, str) else spec.model_dump_json()
        path = SPECS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        self._waiting[path] = text
        if self._at_once:
            self.write()
        return str(path)

    def write(self) -> None:
        """Write all files that were asked for, and from now on each one at once.

        Raises:
            SystemExit: a file cannot be written; one line was printed. For any other error that is not its own,
                Snakemake would show a traceback and exit with 1.
        """
        self._at_once = True
        for path, text in self._waiting.items():
            if path.exists():
                continue
            try:
                write_text(path, f"{text}\n")
            except OSError as error:
                owner = owned_by_another(path) if error.errno in {EACCES, EPERM} else ""
                said = f"{path}: {error.strerror or error}{owner}; make room or give write permission, then start again"
                print(f"snakemake: {printable(said)}", file=sys.stderr)
                raise SystemExit(EXIT_USER) from None
        self._waiting.clear()


def identity(spec: BaseModel | Any) -> str:
    """Return a hash of all that an exhibit is made of, as a param of its rule."""
    return options_hash(spec.model_dump(mode="json") if isinstance(spec, BaseModel) else spec)


def rule_inputs(files: Iterable[Path]) -> list[Path]:
    """Return the rule outputs that contain these files, each once; an analysis is one output, its folder."""
    found = (path.parent if path.parent.name.startswith("analysis-") else path for path in files)
    return list(dict.fromkeys(found))
