"""Print the locked packages that this environment lacks or has in another version, as requirements with their hashes.

    python envs/drift.py LOCK... [--if-installed LOCK...]

`make setup` runs it with the environment's Python and installs what it prints; without drift it prints nothing. Of a
lock after `--if-installed`, a package that is not installed does not count. What differs is said on standard error.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

from lock import blocks


def installed(folders: set[Path]) -> dict[str, str]:
    """Return package -> version of all distributions in folders of an environment, from the names of their folders."""
    found = {}
    for folder in folders:
        for path in folder.glob("*.dist-info"):
            name, _, version = path.name.removesuffix(".dist-info").rpartition("-")
            found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return found


def is_for_here(marker: str) -> bool:
    """Say whether the marker of a requirement holds for this Python and system."""
    if not marker:
        return True
    from pip._vendor.packaging.markers import Marker

    return Marker(marker).evaluate()


def drift(locks: list[Path], there: dict[str, str], *, needed: bool) -> list[tuple[str, str]]:
    """Return the block of each locked package that differs, and in words how it differs.

    Args:
        locks: lock files.
        there: package -> installed version.
        needed: whether a package that is not installed counts.
    """
    found = []
    for path in locks:
        for name, block in blocks(path.read_text(encoding="utf-8")).items():
            # name==1.0 ; marker \ and its hashes
            pin, _, marker = block.partition("\n")[0].rstrip(" \\").partition(" ; ")
            version = pin.partition("==")[2]
            if there.get(name) == version or (name not in there and not needed) or not is_for_here(marker):
                continue
            found.append((block, f"{name} {there.get(name, 'missing')} (lock: {version})"))
    return found


def main(words: list[str]) -> None:
    """Print the requirements, and one line on standard error."""
    at = words.index("--if-installed") if "--if-installed" in words else len(words)
    there = installed({Path(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")})
    found = drift([Path(word) for word in words[:at]], there, needed=True)
    found += drift([Path(word) for word in words[at + 1 :]], there, needed=False)
    if found:
        print("".join(dict.fromkeys(block for block, _ in found)), end="")
        said = list(dict.fromkeys(why for _, why in found))
        more = f" and {len(said) - 6} more" if len(said) > 6 else ""
        print(f"mdnmt: {sys.prefix} has {', '.join(said[:6])}{more}: installing what is locked", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
