"""The files of a new workspace: a folder for studies of one's own, outside of a checkout."""

from __future__ import annotations

from pathlib import Path

from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import ConfigError
from mdnmt.fsio import write_text
from mdnmt.workspace import PACKAGED

_SNAKEFILE = """\
# The workflow is that of the installed package mdnmt. Rules of your own may stand below.
from mdnmt.workspace import SNAKEFILE


module mdnmt:  # which reads config/config.yaml
    snakefile:
        str(SNAKEFILE)


use rule * from mdnmt


onstart:
    mdnmt.onstart()


onerror:
    mdnmt.onerror()
"""
_PLUGINS = """\
# Plug-ins

A Python file here adds a method, a loss, a metric, a kind of table or figure, a reader of text or a verb.
`mdnmt check-plugin NAME` checks the file `NAME.py`. Files that begin with an underscore are no plug-ins.
"""
_GITIGNORE = """\
.snakemake/
.venv-comet
config/*.own.lock.yaml
logs/
resources/
results/
__pycache__/
"""
# What every user has values of their own for: copied from the package, with the comments that explain the keys.
_COPIED = (
    "config/config.yaml",
    "config/cluster.yaml",
    "profiles/default/profile.yaml",
    "profiles/slurm/profile.yaml",
)


def workspace_files() -> dict[str, str]:
    """Return the files of a workspace, path -> text."""
    files = {"Snakefile": _SNAKEFILE, "plugins/README.md": _PLUGINS, ".gitignore": _GITIGNORE}
    for name in _COPIED:
        files[name] = without_schema_line((PACKAGED / name).read_text(encoding="utf-8"))
    return files


def without_schema_line(text: str) -> str:
    """Return a file of config/ without the line that names its schema: workspaces have no schemas."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("# yaml-language-server: "))


def new_workspace(folder: Path) -> None:
    """Write a workspace; on failure nothing is left behind.

    Raises:
        ConfigError: the folder exists already.
    """
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"{folder}: exists already; expected the name of a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with partial_folder(folder) as temporary:
        part = temporary / folder.name
        for name, text in workspace_files().items():
            write_text(part / name, text)
        part.rename(folder)
