"""Write the lock files in envs/lock from pyproject.toml: every package, its version and the hashes of its files.

`make lock` runs this with uv. Versions in the present lock files stay unless pyproject.toml excludes them;
`make lock UPGRADE=--upgrade` takes the newest.

    run.txt          what the workflow needs, without torch
    export.txt       what the extra `export` needs besides
    pretrained.txt   what the extra `pretrained` needs besides
    dev.txt          what the tests and checks need besides
    torch-cuda.txt   torch as package indexes list it, with the CUDA libraries
    torch-cpu.txt    torch without CUDA; written by hand
    uv.txt           uv itself; its version is chosen by hand
    supply-chain.txt the tools behind `make audit-packages` and `make sbom`
    docs.txt         what builds the documentation site
    comet.txt        what COMET needs in its own environment, without torch
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

LOCK = Path("envs/lock")
TORCH = "torch==2.13.0"
RUN_EXTRAS = ("serve",)
MORE_EXTRAS = ("export", "pretrained")  # each in a file of its own
GROUPS = ("supply-chain", "docs", "comet")  # dependency groups of pyproject.toml, each with an environment of its own
_CUDA = re.compile(r"torch|triton|nvidia-.+|cuda-.+")
_EVERYWHERE = re.compile(r" ; python_full_version < '3\.14'(?= \\$)|(?<= ; )python_full_version < '3\.14' and ", re.M)
_HEAD = "# Written by `make lock` from pyproject.toml, for CPython 3.11 to 3.13. Do not edit.\n"


def blocks(text: str) -> dict[str, str]:
    """Return package -> its lines in a requirements file: the pin, then its hashes."""
    found = re.split(r"^(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.M), flags=re.M)
    return {name_of(block): block for block in found if block.strip()}


def name_of(block: str) -> str:
    """Return the package's name as package indexes compare names."""
    return re.sub(r"[-_.]+", "-", block.partition("==")[0]).lower()


def resolve(uv: str, keep: list[Path], options: list[str]) -> dict[str, str]:
    """Resolve requirements of pyproject.toml for all platforms; return package -> lines.

    Versions in the lock files `keep` stay where they can: uv keeps those in the file that it writes.
    """
    with tempfile.TemporaryDirectory() as folder:
        present = Path(folder, "present.txt")
        present.write_text(
            "".join(path.read_text(encoding="utf-8") for path in keep if path.exists()), encoding="utf-8"
        )
        command = [uv, "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"]
        command += ["--fork-strategy", "fewest"]  # one version for all Pythons, so that they compute the same
        subprocess.run([*command, "--no-header", "--no-annotate", *options, "-o", present], check=True)
        # Every line says that it is for the versions of Python in `tool.uv.environments`.
        return blocks(_EVERYWHERE.sub("", present.read_text(encoding="utf-8")))


def main(uv: str, options: list[str]) -> None:
    """Resolve everything together, then write each package to its file."""
    with tempfile.TemporaryDirectory() as folder:
        pin = Path(folder, "torch.txt")
        pin.write_text(f"{TORCH}\n", encoding="utf-8")
        of_extras = [f"{extra}.txt" for extra in MORE_EXTRAS]
        keep = [LOCK / name for name in ("run.txt", *of_extras, "dev.txt", "torch-cuda.txt")]
        everything = resolve(uv, keep, ["pyproject.toml", "--all-extras", "--constraint", str(pin), *options])
        extras = [word for extra in RUN_EXTRAS for word in ("--extra", extra)]
        more = {"run.txt": []} | {f"{extra}.txt": ["--extra", extra] for extra in MORE_EXTRAS}
        needs = {
            file: resolve(uv, keep, ["pyproject.toml", *extras, *extra, "--constraint", str(pin), *options])
            for file, extra in more.items()
        }
    files: dict[str, list[str]] = {name: [] for name in ("torch-cuda.txt", *needs, "dev.txt")}
    for group in GROUPS:
        found = resolve(uv, [LOCK / f"{group}.txt", LOCK / "torch-cuda.txt"], ["--group", group, *options])
        files[f"{group}.txt"] = [block for name, block in found.items() if not _CUDA.fullmatch(name)]
    for name in sorted(everything):
        other = next((file for file, packages in needs.items() if name in packages), "dev.txt")
        file = "torch-cuda.txt" if _CUDA.fullmatch(name) else other
        files[file].append(everything[name])
    for file, found in files.items():
        (LOCK / file).write_text(_HEAD + "".join(found), encoding="utf-8")
        print(f"{LOCK / file}: {len(found)} packages")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
