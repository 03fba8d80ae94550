"""Signatures of bundles: a good one is told apart from none, from a resealed bundle and from another signer's."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from signing_keys import write_keys

from mdnmt import fsio
from mdnmt.cli import main
from mdnmt.errors import MdnmtError
from mdnmt.exchange.bundle import MANIFEST, SIGNATURE, Bundle, key_of
from mdnmt.exchange.signature import check_signature, name_of_key, sign
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
        bundle.add([(run, place, ())])
    return bundle


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """Return a signed bundle; the keys of its author and of somebody else are in the folder above."""
    bundle = pack(tmp_path, "2.5")
    sign(bundle.folder / MANIFEST, write_keys(tmp_path, "author")[0])
    write_keys(tmp_path, "other")
    return bundle.folder


def verify(bundle: Path, capsys: pytest.CaptureFixture[str], key: str | None = "author") -> tuple[int, str]:
    """Return the status of `mdnmt verify`, and what it says of the signature and at the end."""
    capsys.readouterr()
    public = ["--public-key", str(bundle.parent / f"{key}.pub")] if key else []
    status = main(["verify", str(bundle), *public])
    out, err = capsys.readouterr()
    assert "Traceback" not in err
    lines = out.splitlines()
    return status, "\n".join(line for line in lines if line.startswith((SIGNATURE, str(bundle)))) + err


def test_a_good_signature_is_ok_under_its_key_and_only_named_without_one(
    signed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = name_of_key(signed.parent / "author.pub")
    status, said = verify(signed, capsys)
    # These runs have no translations, so that nothing but the signature is ok.
    assert status == 1 and f"{SIGNATURE}: ok: signed with {name}" in said
    assert f"{SIGNATURE}: not checked: signed with {name}; --public-key" in verify(signed, capsys, None)[1]


def test_one_of_several_keys_is_enough(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = [(signed.parent / f"{name}.pub").read_text() for name in ("other", "author")]
    (signed.parent / "both.pub").write_text("# as a web page lists them\n\n" + "".join(keys))
    assert f"{SIGNATURE}: ok" in verify(signed, capsys, "both")[1]


def test_an_unsigned_bundle_is_refused_where_a_key_is_given(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (signed / SIGNATURE).unlink()
    status, said = verify(signed, capsys)
    assert status == 1 and f"{SIGNATURE}: differs: unsigned: there is no {SIGNATURE}; expected one by SHA256:" in said
    assert verify(signed, capsys, None)[1].endswith(", unsigned")


def test_a_bundle_that_was_packed_again_is_resealed(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack(signed.parent, "2.4")
    for key in ("author", None):  # found without a key, too
        status, said = verify(signed, capsys, key)
        assert status == 1 and f"{SIGNATURE}: differs: altered: it is no signature of this {MANIFEST}" in said


def test_a_bundle_that_another_signed_is_foreign(signed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sign(signed / MANIFEST, signed.parent / "other")
    status, said = verify(signed, capsys)
    other, author = (name_of_key(signed.parent / f"{name}.pub") for name in ("other", "author"))
    assert status == 1 and f"{SIGNATURE}: differs: foreign: signed with {other}, expected {author}" in said
    assert f"{SIGNATURE}: ok" in verify(signed, capsys, "other")[1]


Tamper = Callable[[Path, random.Random], None]


def flip(bundle: Path, generator: random.Random) -> None:
    path = generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file() and path.name != SIGNATURE))
    data = bytearray(path.read_bytes())
    data[generator.randrange(len(data))] ^= generator.randrange(1, 256)
    path.write_bytes(data)


def damage_signature(bundle: Path, generator: random.Random) -> None:
    """Change a letter of the signature; blanks between its lines mean nothing."""
    head, *lines, end = (bundle / SIGNATURE).read_text(encoding="utf-8").splitlines()
    number, place = generator.randrange(len(lines) - 1), generator.randrange(60)
    other = "A" if lines[number][place] != "A" else "B"
    lines[number] = lines[number][:place] + other + lines[number][place + 1 :]
    (bundle / SIGNATURE).write_text("\n".join([head, *lines, end, ""]), encoding="utf-8")


def cut(bundle: Path, generator: random.Random) -> None:
    path = generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file()))
    path.write_bytes(path.read_bytes()[: generator.randrange(path.stat().st_size - 30)])


def remove(bundle: Path, generator: random.Random) -> None:
    generator.choice(sorted(path for path in bundle.rglob("*") if path.is_file())).unlink()


def add(bundle: Path, generator: random.Random) -> None:
    (bundle / f"more-{generator.random()}.txt").write_text("not of the bundle", encoding="utf-8")


def swap(bundle: Path, generator: random.Random) -> None:
    one, other = (Bundle(bundle).path(key_of(run)) for run in RUNS)
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def reseal(bundle: Path, generator: random.Random) -> None:
    """Replace manifest and archives by those of another bundle; the signature stays."""
    shutil.copytree(bundle.parent / generator.choice(["second", "third"]) / "bundle", bundle, dirs_exist_ok=True)


def sign_again(bundle: Path, generator: random.Random) -> None:
    reseal(bundle, generator)
    sign(bundle / MANIFEST, bundle.parent / "other")


def take_signature(bundle: Path, generator: random.Random) -> None:
    """Keep the bundle, under the author's signature of another one."""
    other = bundle.parent / generator.choice(["second", "third"]) / "bundle" / MANIFEST
    sign(other, bundle.parent / "author")
    (other.parent / SIGNATURE).replace(bundle / SIGNATURE)


def drop_run(bundle: Path, generator: random.Random) -> None:
    whole, run = Bundle(bundle), generator.choice(RUNS)
    whole.path(key_of(run)).unlink()
    del whole.archives[key_of(run)]
    fsio.write_sealed(bundle / MANIFEST, {"archives": whole.archives})


def blank(bundle: Path, generator: random.Random) -> None:
    path = bundle / MANIFEST
    path.write_text(path.read_text(encoding="utf-8") + generator.choice([" ", "\n", "\t"]), encoding="utf-8")


KINDS: tuple[Tamper, ...] = (
    flip, damage_signature, cut, remove, add, swap, reseal, sign_again, take_signature, drop_run, blank,
)  # fmt: skip


def is_refused(bundle: Path, key: Path) -> bool:
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
def test_66_tampered_bundles_are_all_refused(signed: Path) -> None:
    for name in ("second", "third"):
        pack(signed.parent / name, name)
    key = signed.parent / "author.pub"
    kept = {path: path.read_bytes() for path in signed.rglob("*") if path.is_file()}
    assert not is_refused(signed, key)
    for number in range(66):  # six of each kind
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
    signed: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_text("no key", encoding="utf-8")
    for given, said in (
        (["verify", str(signed), "--public-key", str(tmp_path / "author")], "found a private one"),
        (["verify", str(signed), "--public-key", str(tmp_path / "text")], "expected an SSH key"),
        (["verify", str(signed), "--public-key", str(tmp_path / "none")], "No such file"),
        (["bundle", "demo", "--sign", str(tmp_path / "text"), "--bundle", str(tmp_path / "b")], "expected an SSH key"),
    ):
        assert main(given) == 2
        err = capsys.readouterr().err
        assert said in err and err.count("\n") == 1
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["verify", str(signed)]) == 2
    assert "needs the program ssh-keygen" in capsys.readouterr().err
