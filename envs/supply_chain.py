"""Report on the packages of the lock: known vulnerabilities, and what is installed (an SBOM in CycloneDX JSON).

make audit-packages     pip-audit; a report, which neither a finding nor a missing network makes fail
make sbom               sbom.json, and sbom-comet.json where COMET's environment is; fails where a package of the lock is
                        missing in it or has another version
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

LOCK = Path("envs/lock")
# What `make setup` installs, and what COMET needs beside it; the CUDA build of torch is the same code.
FILES = {"run": ("run.txt", "torch-cpu.txt"), "comet": ("comet.txt", "torch-cpu.txt")}
MOST_SECONDS = 600  # of pip-audit, whose service may not answer


def lock_files(environment: str) -> list[Path]:
    """Return the files of the lock that make an environment, `run` or `comet`."""
    return [LOCK / name for name in FILES[environment]]


def locked(text: str) -> dict[str, str]:
    """Return package -> version of what a lock installs on this platform; names as package indexes compare them."""
    pins = [Requirement(line.rstrip("\\ ")) for line in re.findall(r"^[\w.-]+==.*", text, flags=re.M)]
    here = [pin for pin in pins if pin.marker is None or pin.marker.evaluate()]
    return {_plain(pin.name): str(pin.specifier).removeprefix("==").partition("+")[0] for pin in here}


def missing(lock: dict[str, str], sbom: dict[str, Any]) -> list[str]:
    """Return the packages of a lock that an SBOM does not list in this version."""
    # torch 2.13.0 is installed as 2.13.0+cpu.
    listed = {(_plain(part["name"]), part.get("version", "").partition("+")[0]) for part in sbom["components"]}
    return [f"{name}=={version}" for name, version in lock.items() if (name, version) not in listed]


def summary(found: dict[str, Any]) -> list[str]:
    """Return the lines of the report from what pip-audit found: packages that were looked up, and what is known."""
    packages = found["dependencies"]
    unknown = [part["name"] for part in packages if "skip_reason" in part]
    if len(unknown) == len(packages):
        return [f"no report: none of {len(packages)} packages could be looked up; is there a network?"]
    bad = [(part, vulnerability) for part in packages for vulnerability in part.get("vulns", [])]
    lines = [
        f"{len(packages) - len(unknown)} of {len(packages)} packages looked up, "
        f"{len(bad)} known vulnerabilities in {len({part['name'] for part, _ in bad})} of them"
    ]
    if unknown:
        lines.append(f"not looked up (unknown to the service, or no network): {len(unknown)}: {', '.join(unknown)}")
    for part, vulnerability in bad:
        fixed = ", ".join(vulnerability["fix_versions"]) or "no version"
        lines.append(f"{part['name']} {part['version']}: {vulnerability['id']}, fixed in {fixed}")
    return lines


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def audit(tools: Path, environment: str) -> int:
    """Print the report of pip-audit on the lock of an environment; return 0."""
    files = [part for path in lock_files(environment) for part in ("-r", path)]
    command = [tools / "pip-audit", *files, "--no-deps", "--disable-pip", "--progress-spinner", "off", "-f", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
        lines = summary(json.loads(done.stdout))
    except (OSError, subprocess.TimeoutExpired) as error:
        lines = [f"no report: {error}"]
    except (ValueError, KeyError, TypeError):
        lines = ["no report: " + (done.stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]]
    print("\n".join(f"pip-audit, {environment}: {line}" for line in lines))
    return 0


def sbom(tools: Path, environment: str, python: str, out: Path) -> int:
    """Write what is installed for `python` of an environment; return 1 where a package of its lock is missing."""
    options = ["--output-reproducible", "--output-format", "JSON", "--output-file", out]
    subprocess.run([tools / "cyclonedx-py", "environment", *options, python], check=True)
    lock = locked("".join(path.read_text(encoding="utf-8") for path in lock_files(environment)))
    found = json.loads(out.read_text(encoding="utf-8"))
    if left_out := missing(lock, found):
        print(f"{out}: does not list {', '.join(left_out)} of {LOCK}: run `make setup`", file=sys.stderr)
        return 1
    print(f"{out}: {len(found['components'])} packages, among them all {len(lock)} of {LOCK}")
    return 0


if __name__ == "__main__":
    here = Path(sys.executable).parent
    if sys.argv[1:] == ["audit"]:
        sys.exit(max(audit(here, environment) for environment in FILES))
    sys.exit(sbom(here, sys.argv[2], sys.argv[3], Path(sys.argv[4])))
