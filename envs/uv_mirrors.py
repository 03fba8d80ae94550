"""Print pip's settings as settings of uv, one `export` a line: uv does not read those of pip.

With them, uv uses the package mirrors, local folders of wheels and certificates that are set up for pip. A setting of
uv that is already in the environment stays as it is.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

UV_OF_PIP = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
}


def uv_settings(listed: str) -> dict[str, str]:
    """Translate what `pip config list` prints: lines such as `global.index-url='...'`; of two, the later holds."""
    found: dict[str, str] = {}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        option = key.rpartition(".")[2]
        words = shlex.split(value)
        if option in UV_OF_PIP and words:
            found[UV_OF_PIP[option]] = " ".join(words[0].split())
    if "UV_FIND_LINKS" in found:
        found["UV_FIND_LINKS"] = found["UV_FIND_LINKS"].replace(" ", ",")
    return found


if __name__ == "__main__":
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name, value in uv_settings(listed).items():
        if name not in os.environ:
            print(f"export {name}={shlex.quote(value)}")
