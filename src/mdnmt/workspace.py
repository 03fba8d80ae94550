"""Where the files of a project are looked for: in the user's own folder, then in this package.

The user's folder (a workspace) has what is the user's own: `config/`, `plugins/`, `profiles/`, a `Snakefile`. All else,
the workflow and the configuration of papers, methods and corpora, comes with the package: in a wheel beside its
modules, in a checkout at the top. A checkout is a workspace too, in which both are the same folder.
"""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).resolve().parent
_IN_WHEEL = _HERE / "project"
# The folder with the package's Snakefile, workflow/, config/ and envs/. setup.py puts it into a wheel.
PACKAGED = _IN_WHEEL if _IN_WHEEL.is_dir() else _HERE.parents[1]
SNAKEFILE = PACKAGED / "Snakefile"
# Where Snakemake looks for a workflow by itself.
_SNAKEFILES = ("Snakefile", "snakefile", "workflow/Snakefile", "workflow/snakefile")


def has_snakefile(folder: Path) -> bool:
    """Say whether Snakemake finds a workflow in a folder."""
    return any((folder / name).is_file() for name in _SNAKEFILES)


def config_folder(main_snakefile: Path) -> Path:
    """Return the folder of the user's own configuration; it may not exist.

    That is `config/` in the current folder, or else beside the Snakefile that was started, for `--directory`.
    """
    own = Path("config").absolute()
    folder = main_snakefile.absolute().parent
    beside = (folder.parent if folder.name == "workflow" else folder) / "config"
    return beside if beside.is_dir() and not own.is_dir() and not beside.is_relative_to(_IN_WHEEL) else own


def config_file(folder: Path, name: str) -> Path:
    """Return a file of the configuration: the user's own, or else the package's.

    Args:
        folder: the user's folder of configuration.
        name: the file relative to it, such as `papers/zhang2021.yaml`.

    Returns:
        Its path; in the user's folder too if there is no such file.
    """
    own, packaged = folder / name, PACKAGED / "config" / name
    return packaged if packaged.is_file() and not own.exists() else own


def config_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of the configuration that match a pattern, sorted; the user's own hide the package's."""
    names = {path.relative_to(root) for root in (PACKAGED / "config", folder) for path in root.glob(pattern)}
    return [config_file(folder, name.as_posix()) for name in sorted(names)]
