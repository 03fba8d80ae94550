"""Sign the manifest of a bundle or certificate with an SSH key, and check who signed it; OpenSSH does both.

`signature.sig` beside the manifest is what `ssh-keygen -Y sign -n mdnmt` writes. The manifest lists the sha256 of
every other file, so the signature covers all of them.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from mdnmt import fsio
from mdnmt.errors import ConfigError
from mdnmt.exchange.bundle import SIGNATURE
from mdnmt.exchange.verify import Finding

NAMESPACE = "mdnmt"  # a signature that was made for another purpose is refused
UNSIGNED = "unsigned"


def _keygen(*words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *words], input=given, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError("needs the program ssh-keygen, which is not here; install the client of OpenSSH") from None


def name_of_key(path: Path) -> str:
    """Return the fingerprint of a private or public key, such as `SHA256:5d1c...`; of several public keys, the first.

    Raises:
        ConfigError: the file holds no key, or ssh-keygen is not installed.
    """
    done = _keygen("-l", "-f", str(path.absolute()))
    if done.returncode:
        raise ConfigError(f"{path}: expected an SSH key; `ssh-keygen -t ed25519 -f FILE` makes one")
    return done.stdout.split()[1].decode()


def _public_keys(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    if any("PRIVATE" in line for line in lines):
        raise ConfigError(f"{path}: expected public SSH keys, found a private one; its public part is in {path}.pub")
    return [line for line in lines if line.strip() and not line.startswith("#")]


def sign(manifest: Path, key: Path) -> str:
    """Write the signature of a manifest beside it; return the key's fingerprint.

    Raises:
        ConfigError: the key cannot be used.
    """
    done = _keygen("-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE, given=manifest.read_bytes())
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())[-200:]
        raise ConfigError(f"{key}: ssh-keygen cannot sign with it ({said}); give a private key that only you can read")
    fsio.write_bytes(manifest.parent / SIGNATURE, done.stdout)
    return name_of_key(key)


def check_signature(manifest: Path, public: Path | None) -> Finding:
    """Say whether a manifest is unsigned, changed since it was signed, signed with another key, or good.

    Args:
        manifest: the manifest; its signature is beside it.
        public: the public keys of the expected signer, one a line; None: any key, so only changes are found.

    Raises:
        ConfigError: the file of public keys holds none, or ssh-keygen is not installed.
    """
    path = manifest.parent / SIGNATURE
    keys = _public_keys(public) if public is not None else []
    expected = name_of_key(public) if public is not None else ""
    if not path.is_file():
        if public is None:
            return Finding(SIGNATURE, "not checked", UNSIGNED)
        return Finding(SIGNATURE, "differs", f"unsigned: there is no {SIGNATURE}; expected one by {expected}")
    content, options = manifest.read_bytes(), ("-n", NAMESPACE, "-s", str(path.absolute()))
    done = _keygen("-Y", "check-novalidate", *options, given=content)
    if done.returncode:
        why = f"altered: it is no signature of this {manifest.name}, which was changed since, or the signature was"
        return Finding(SIGNATURE, "differs", why)
    name = done.stdout.split()[-1].decode()
    if public is None:
        return Finding(SIGNATURE, "not checked", f"signed with {name}; --public-key FILE checks whose it is")
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as signers:
        signers.writelines(f"signer {key}\n" for key in keys)
        signers.flush()
        done = _keygen("-Y", "verify", "-f", signers.name, "-I", "signer", *options, given=content)
    if done.returncode:
        return Finding(SIGNATURE, "differs", f"foreign: signed with {name}, expected {expected}")
    return Finding(SIGNATURE, "ok", f"signed with {name}")
