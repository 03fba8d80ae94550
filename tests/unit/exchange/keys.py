"""Signing keys of tests."""

from __future__ import annotations

import random
from pathlib import Path

from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def write_keys(folder: Path, name: str) -> tuple[Path, Path]:
    """Write the key pair that belongs to a name as PEM; return the private and the public file."""
    key = Ed25519PrivateKey.from_private_bytes(random.Random(name).randbytes(32))
    private, public = folder / f"{name}.pem", folder / f"{name}.pub.pem"
    private.write_bytes(key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo))
    return private, public
