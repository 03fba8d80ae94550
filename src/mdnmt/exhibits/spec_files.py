"""What the workflow's rules need from a study: the files behind tables and figures, and files with the verbs' specs."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable
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
    does. Snakemake evaluates parameters in a dry run as well, which must write nothing.
    """

    def __init__(self, may_write: Callable[[], bool]) -> None:
        """Make the function; `may_write` says whether jobs run, so that their files are needed."""
        self._may_write = may_write

    def __call__(self, spec: BaseModel | str) -> str:
        """Return the path of the file with this spec.

        Raises:
            SystemExit: it cannot be written; one line was printed. For any other error that is not its own, Snakemake
                would show a traceback and exit with 1.
        """
        text = spec if isinstance(spec, str) else spec.model_dump_json()
        path = SPECS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
        if path.exists() or not self._may_write():
            return str(path)
        try:
            write_text(path, f"{text}\n")
        except OSError as error:
            owner = owned_by_another(path) if error.errno in {EACCES, EPERM} else ""
            said = f"{path}: {error.strerror or error}{owner}; make room or give write permission, then start again"
            print(f"snakemake: {printable(said)}", file=sys.stderr)
            raise SystemExit(EXIT_USER) from None
        return str(path)


def identity(spec: BaseModel | Any) -> str:
    """Return a hash of all that an exhibit is made of, as a param of its rule."""
    return options_hash(spec.model_dump(mode="json") if isinstance(spec, BaseModel) else spec)


def rule_inputs(files: Iterable[Path]) -> list[Path]:
    """Return the rule outputs that contain these files, each once; an analysis is one output, its folder."""
    found = (path.parent if path.parent.name.startswith("analysis-") else path for path in files)
    return list(dict.fromkeys(found))
