"""Signatures of bundles: a good one is told apart from none, from a resealed bundle and from another signer's."""

from __future__ import annotations

import base64
import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from keys import write_keys

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.errors import MdnmtError
from mdnmt.exchange.bundle import MANIFEST, SIGNATURE, Bundle, key_of
from mdnmt.exchange.signature import PAYLOAD_TYPE, check_signature, key_id, read_private_key, read_public_key, sign
from mdnmt.exchange.verify import verify as verify_bundle

RUNS = ("some-task/mixed/seed1-0123abcd", "some-task/waldm-edc/seed1-4567cdef")


def pack(folder: Path, text: str) -> Bundle:
    """Pack two made-up runs; `text` is in a file of each."""
    bundle = Bundle(folder / "bundle")
    for run in RUNS:
        place = folder / "results" / "runs" / run
        place.mkdir(parents=True, exist_ok=True)
        (place / "curves.tsv").write_text(f"update\tloss\n1\t{text}\n", encoding="utf-8")
        fsio.write_sums(place, ["curves.tsv"])
        fsio.write_sealed(place / "run.json", {"model_sha256": text * 8, "spec": {"task_fingerprint": "89abcdef"}})
        (place / "model.safetensors").write_bytes(b"weights")  # a run that was trained here
        bundle.add(run, place)
    return bundle


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """Return a signed bundle; the keys of its author and of somebody else are in the folder above."""
    bundle = pack(tmp_path, "2.5")
    sign(bundle.folder / MANIFEST, read_private_key(write_keys(tmp_path, "author")[0]))
    write_keys(tmp_path, "other")
    return bundle.folder


def verify(bundle: Path, capsys: pytest.CaptureFixture[str], key: str | None = "author") -> tuple[int, str]:
    """Return the status of `mdnmt verify`, and what it says of the signature and at the end."""
    capsys.readouterr()
    public = ["--public-key", str(bundle.parent / f"{key}.pub.pem")] if key else []
    status = main(["verify", str(bundle), *public])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    lines = out.splitlines()
    return status, "\n".join(line for line in lines if line.startswith((SIGNATURE, str(bundle)))) + err


def test_a_good_signature_is_ok_under_its_key_and_only_named_without_one(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = key_id(read_public_key(signed.parent / "author.pub.pem"))[:16]
    status, said = verify(signed, capsys)
    # These runs have no translations, so that nothing but the signature is ok.
    assert status == 1 and f"{SIGNATURE}: ok: signed with key {name}" in said
    assert f"{SIGNATURE}: not checked: signed with key {name}; --public-key" in verify(signed, capsys, None)[1]


def test_the_signature_is_that_of_dsse(signed: Path) -> None:
    envelope = json.loads((signed / SIGNATURE).read_text(encoding="utf-8"))
    payload = base64.b64decode(envelope["payload"])
    assert json.loads(payload) == {"file": MANIFEST, "sha256": fsio.sha256_file(signed / MANIFEST)}
    public = read_public_key(signed.parent / "author.pub.pem")
    kind = PAYLOAD_TYPE.encode()
    encoded = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])
    public.verify(base64.b64decode(envelope["signatures"][0]["sig"]), encoded)  # raises where it does not fit


def test_an_unsigned_bundle_is_refused_where_a_key_is_given(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (signed / SIGNATURE).unlink()
    status, said = verify(signed, capsys)
    assert status == 1 and f"{SIGNATURE}: differs: unsigned: there is no {SIGNATURE}; expected one by key" in said
    assert verify(signed, capsys, None)[1].endswith(", unsigned")


def test_a_bundle_that_was_packed_again_is_resealed(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack(signed.parent, "2.4")
    for key in ("author", None):  # found without a key, too
        status, said = verify(signed, capsys, key)
        assert status == 1 and f"{SIGNATURE}: differs: resealed: {MANIFEST} is not the one that was signed" in said


def test_a_bundle_that_another_signed_is_foreign(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sign(signed / MANIFEST, read_private_key(signed.parent / "other.pem"))
    status, said = verify(signed, capsys)
    other, author = (key_id(read_public_key(signed.parent / f"{name}.pub.pem"))[:16] for name in ("other", "author"))
    assert status == 1 and f"{SIGNATURE}: differs: foreign: signed with key {other}, expected {author}" in said
    assert f"{SIGNATURE}: ok" in verify(signed, capsys, "other")[1]


def test_a_signature_under_a_borrowed_name_is_altered(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = key_id(read_public_key(signed.parent / "author.pub.pem"))
    other = sign(signed / MANIFEST, read_private_key(signed.parent / "other.pem"))
    text = (signed / SIGNATURE).read_text(encoding="utf-8")
    (signed / SIGNATURE).write_text(text.replace(other, name), encoding="utf-8")
    status, said = verify(signed, capsys)
    assert status == 1 and f"altered: key {name[:16]} did not make this signature" in said


Tamper = Callable[[Path, random.Random], None]


def flip(bundle: Path, generator: random.Random) -> None:
    path = generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file()))
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= generator.randrange(1, 256)
    path.write_bytes(data)


def cut(bundle: Path, generator: random.Random) -> None:
    path = generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file()))
    path.write_bytes(path.read_bytes()[: generator.randrange(path.stat().st_size)])


def remove(bundle: Path, generator: random.Random) -> None:
    generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file())).unlink()


def add(bundle: Path, generator: random.Random) -> None:
    (bundle / f"more-{generator.random()}.txt").write_text("not of the bundle", encoding="utf-8")


def swap(bundle: Path, generator: random.Random) -> None:
    one, other = (Bundle(bundle).archive(run) for run in RUNS)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def reseal(bundle: Path, generator: random.Random) -> None:
    """Replace manifest and archives by those of another bundle; the signature stays."""
    shutil.copytree(bundle.parent / generator.choice(["second", "third"]) / "bundle", bundle, dirs_exist_ok=True)


def sign_again(bundle: Path, generator: random.Random) -> None:
    reseal(bundle, generator)
    sign(bundle / MANIFEST, Ed25519PrivateKey.from_private_bytes(generator.randbytes(32)))


def take_signature(bundle: Path, generator: random.Random) -> None:
    """Keep the bundle, under the author's signature of another one."""
    other = bundle.parent / generator.choice(["second", "third"]) / "bundle" / MANIFEST
    sign(other, read_private_key(bundle.parent / "author.pem"))
    (other.parent / SIGNATURE).replace(bundle / SIGNATURE)


def drop_run(bundle: Path, generator: random.Random) -> None:
    whole, run = Bundle(bundle), generator.choice(RUNS)
    whole.archive(run).unlink()
    del whole.archives[key_of(run)]
    fsio.write_sealed(bundle / MANIFEST, {"archives": whole.archives})


def blank(bundle: Path, generator: random.Random) -> None:
    path = bundle / generator.choice([MANIFEST, SIGNATURE])
    path.write_text(path.read_text(encoding="utf-8") + generator.choice([" ", "\n", "\t"]), encoding="utf-8")


KINDS: tuple[Tamper, ...] = (
    flip, cut, remove, add, swap, reseal, sign_again, take_signature, drop_run, blank,
)  # fmt: skip


def is_refused(bundle: Path, key: Ed25519PublicKey) -> bool:
    """Say whether `mdnmt verify` refuses a bundle; that its made-up runs have no translations does not count."""
    if not (bundle / MANIFEST).is_file():
        return True
    if check_signature(bundle / MANIFEST, key).status == "differs":
        return True
    try:
        found = verify_bundle(Bundle(bundle), bundle.parent / "no-results")
        return any(one.status == "differs" and one.detail != "has no translations" for one in found)
    except MdnmtError:
        return True


@pytest.mark.slow
def test_200_tampered_bundles_are_all_refused(signed: Path) -> None:
    for name in ("second", "third"):
        pack(signed.parent / name, name)
    key = read_public_key(signed.parent / "author.pub.pem")
    kept = {path: path.read_bytes() for path in signed.rglob("*") if path.is_file()}
    assert not is_refused(signed, key)
    for number in range(200):
        kind = KINDS[number % len(KINDS)]
        kind(signed, random.Random(number))
        assert is_refused(signed, key), (kind, number)
        for path in {path for path in signed.rglob("*") if path.is_file()} - kept.keys():
            path.unlink()
        for path, data in kept.items():
            if not path.is_file() or path.read_bytes() != data:
                path.write_bytes(data)
    assert not is_refused(signed, key)


def test_keys_that_are_none_are_refused_in_one_line(
    signed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    public, private = str(tmp_path / "author.pub.pem"), str(tmp_path / "author.pem")
    (tmp_path / "text").write_text("no key", encoding="utf-8")
    for given, said in (
        (["verify", str(signed), "--public-key", private], "expected an Ed25519 public key in PEM"),
        (["verify", str(signed), "--public-key", str(tmp_path / "text")], "expected an Ed25519 public key in PEM"),
        (["verify", str(signed), "--public-key", str(tmp_path / "none")], "No such file"),
        (["bundle", "demo", "--sign", public, "--bundle", str(tmp_path / "b")], "expected an Ed25519 private key"),
    ):
        assert main(given) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1


def test_without_the_package_a_signature_cannot_be_checked(
    signed: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert main(["verify", str(signed), "--public-key", str(signed.parent / "author.pub.pem")]) == 2
    assert capsys.readouterr().err == (
        "mdnmt verify: needs the package cryptography, which is not installed; "
        "run `make setup EXTRAS=certify` (without a checkout: pip install 'mdnmt[certify]')\n"
    )
    verify(signed, capsys, None)
