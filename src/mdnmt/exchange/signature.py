"""Sign the manifest of a bundle or certificate with an Ed25519 key, and check who signed it.

`signature.json` beside the manifest is a DSSE envelope (Dead Simple Signing Envelope, version 1). Its payload names
the manifest and its sha256. The manifest lists the sha256 of every other file, so the signature covers all of them.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdnmt import fsio
from mdnmt.errors import ConfigError
from mdnmt.exchange.bundle import SIGNATURE
from mdnmt.exchange.verify import Finding
from mdnmt.fingerprint import canonical_json, sha256_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

PAYLOAD_TYPE = "application/vnd.mdnmt.manifest-sha256+json"
UNSIGNED = "unsigned"
_BYTES_MAX = 10_000  # of a signature or key; real ones have a few hundred


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Read a private key.

    Raises:
        ConfigError: the package cryptography is not installed, or the file holds no such key.
    """
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        key = load_pem_private_key(_key_file(path), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise ConfigError(
            f"{path}: expected an Ed25519 private key in PEM without a password;"
            " `openssl genpkey -algorithm ed25519 -out FILE` makes one"
        )
    return key


def read_public_key(path: Path) -> Ed25519PublicKey:
    """Read a public key; raises as `read_private_key`."""
    require_cryptography()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        key = load_pem_public_key(_key_file(path))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigError(
            f"{path}: expected an Ed25519 public key in PEM; `openssl pkey -in PRIVATE -pubout -out FILE` writes it"
        )
    return key


def require_cryptography() -> None:
    """Raise an error if the optional package cryptography is not installed.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        import cryptography  # noqa: F401
    except ModuleNotFoundError:
        raise ConfigError(
            "needs the package cryptography, which is not installed; "
            "run `make setup EXTRAS=certify` (without a checkout: pip install 'mdnmt[certify]')"
        ) from None


def _key_file(path: Path) -> bytes:
    with path.open("rb") as handle:
        return handle.read(_BYTES_MAX)


def key_id(key: Ed25519PublicKey) -> str:
    """Return the name of a key: the sha256 of its 32 bytes."""
    return hashlib.sha256(key.public_bytes_raw()).hexdigest()


def sign(manifest: Path, key: Ed25519PrivateKey) -> str:
    """Write the signature of a manifest beside it; return the key's name (`key_id`)."""
    payload = canonical_json({"file": manifest.name, "sha256": sha256_file(manifest)}).encode("ascii")
    name = key_id(key.public_key())
    fsio.write_text(manifest.parent / SIGNATURE, _envelope(payload, name, key.sign(_signed_bytes(payload))))
    return name


def check_signature(manifest: Path, key: Ed25519PublicKey | None) -> Finding:
    """Say whether a manifest is unsigned, resealed since it was signed, signed with another key, or good.

    Args:
        manifest: the manifest; its signature is beside it.
        key: the expected signer's key; None: any key, so only changes after signing are found.
    """
    path = manifest.parent / SIGNATURE
    if not path.is_file():
        if key is None:
            return Finding(SIGNATURE, "not checked", UNSIGNED)
        return Finding(SIGNATURE, "differs", f"unsigned: there is no {SIGNATURE}; expected one by key {_short(key)}")
    try:
        payload, name, signature = _read_envelope(path)
        said = json.loads(payload)
        signed = {said["file"]: said["sha256"]}
    except (ValueError, KeyError, TypeError, RecursionError):
        return Finding(SIGNATURE, "differs", f"altered: {SIGNATURE} does not have the layout of a signature")
    if key is not None:
        if name != key_id(key):
            why = f"foreign: signed with key {name[:16]}, expected {_short(key)}"
            return Finding(SIGNATURE, "differs", why)
        if not _is_signed(payload, signature, key):
            return Finding(SIGNATURE, "differs", f"altered: key {_short(key)} did not make this signature")
    if signed != {manifest.name: sha256_file(manifest)}:
        return Finding(SIGNATURE, "differs", f"resealed: {manifest.name} is not the one that was signed")
    if key is None:
        return Finding(
            SIGNATURE,
            "not checked",
            f"signed with key {name[:16]}; --public-key FILE checks whether it is the signer's",
        )
    return Finding(SIGNATURE, "ok", f"signed with key {_short(key)}")


def _short(key: Ed25519PublicKey) -> str:
    return key_id(key)[:16]


def _is_signed(payload: bytes, signature: bytes, key: Ed25519PublicKey) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, _signed_bytes(payload))
    except InvalidSignature:
        return False
    return True


def _signed_bytes(payload: bytes) -> bytes:
    """Return the pre-authentication encoding of DSSE, which is what a key signs."""
    return b"DSSEv1 %d %s %d %s" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode("ascii"), len(payload), payload)


def _envelope(payload: bytes, name: str, signature: bytes) -> str:
    value = {
        "payload": base64.b64encode(payload).decode("ascii"),
        "payloadType": PAYLOAD_TYPE,
        "signatures": [{"keyid": name, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def _read_envelope(path: Path) -> tuple[bytes, str, bytes]:
    """Return payload, name of the key and signature.

    Raises:
        ValueError: the file differs in any byte from what `_envelope` writes.
    """
    with path.open("rb") as handle:
        text = handle.read(_BYTES_MAX).decode("utf-8")
    envelope: Any = json.loads(text)
    (one,) = envelope["signatures"]
    payload, signature = (base64.b64decode(part, validate=True) for part in (envelope["payload"], one["sig"]))
    name = str(one["keyid"])
    if text != _envelope(payload, name, signature):
        raise ValueError("is not canonical")
    return payload, name, signature
