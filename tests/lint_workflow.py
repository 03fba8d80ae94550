"""Run `snakemake --lint` and print what it finds, except that rules have no conda environment or container.

All rules call one package, which `make setup` installs with everything that it needs, from a lock with hashes. COMET's
environment is made from such a lock too, by a rule.
"""

from __future__ import annotations

import re
import subprocess
import sys

ONE_ENVIRONMENT = "Specify a conda environment or container for each rule."


def findings(text: str) -> list[str]:
    """Return what the linter says of each rule and file, without what holds for this project on purpose."""
    found = []
    for part in re.split(r"^(?=Lints for )", text, flags=re.MULTILINE):
        place, _, lints = part.partition("\n")
        if place.startswith("Lints for "):
            every = re.split(r"^    \* ", lints, flags=re.MULTILINE)[1:]
            found += [f"{place} {lint.strip()}" for lint in every if not lint.startswith(ONE_ENVIRONMENT)]
    return found


def main() -> int:
    """Print all findings; return 1 if there are any, or if the workflow cannot be read."""
    command = [sys.executable, "-m", "snakemake", "--lint"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    found = findings(done.stdout)
    for line in found:
        print(line, file=sys.stderr)
    if done.returncode and not done.stdout.count("Lints for "):
        print(done.stdout, file=sys.stderr)
        return 1
    print(f"snakemake --lint: {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
