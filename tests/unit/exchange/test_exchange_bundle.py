"""The bundle of finished runs: what goes in comes out, and a changed byte anywhere is found."""

from __future__ import annotations

import random
import tarfile
from pathlib import Path

import pytest

from mdnmt import fsio
from mdnmt.errors import DataError, MdnmtError
from mdnmt.exchange.bundle import Bundle

RUN = "some-task/mixed/seed1-0123abcd"


def make_run(results: Path, run: str, loss: float = 2.5) -> Path:
    folder = results / "runs" / run
    hyp = folder / "test-aaaaaaaa" / "hyp"
    analysis = folder / "analysis-bbbbbbbb"
    for place in (hyp, analysis, folder / "ckpt" / "update-1"):
        place.mkdir(parents=True)
    (folder / "curves.tsv").write_text(f"update\tloss\n1\t{loss}\n", encoding="utf-8")
    fsio.write_sums(folder, ["curves.tsv"])
    fsio.write_sealed(folder / "run.json", {"model_sha256": "0" * 64, "seconds": 1.5})
    (hyp / "hyp.news.txt").write_text("".join(f"line {k} é\n" for k in range(40)), encoding="utf-8")
    fsio.write_sums(hyp, ["hyp.news.txt"], [folder / "run.json"])
    (analysis / "words.npz").write_bytes(random.Random(1).randbytes(500))
    fsio.write_sums(analysis, ["words.npz"])
    for name in ("model.safetensors", "metrics.jsonl", "ckpt/update-1/state.json", "lease"):
        (folder / name).write_bytes(b"weights and state")
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_run(tmp_path / "results", RUN)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_goes_in_comes_out_without_weights(run: Path, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "bundle")
    bundle.add([(RUN, run, ())])
    first = contents(tmp_path / "bundle")
    assert set(first) == {"bundle.json", "runs/some-task/mixed.tar.xz", "translations/some-task.tar.xz"}
    bundle.add([(RUN, run, ())])
    assert contents(tmp_path / "bundle") == first, "the same run gives the same bytes"

    left_out = {"model.safetensors", "metrics.jsonl", "ckpt/update-1/state.json", "lease"}
    kept = {name: data for name, data in contents(run).items() if name not in left_out}
    assert Bundle(tmp_path / "bundle").read(RUN) == kept
    assert kept["test-aaaaaaaa/hyp/hyp.news.txt"].decode().splitlines()[3] == "line 3 é"


def test_runs_of_a_method_share_an_archive_and_leave_each_other_alone(run: Path, tmp_path: Path) -> None:
    bundle, other = Bundle(tmp_path / "bundle"), RUN.replace("seed1", "seed2")
    assert bundle.add([(RUN, run, ())])
    first = bundle.read(RUN)
    place = make_run(tmp_path / "results", other, loss=2.4)
    assert bundle.add([(other, place, ())]) and not bundle.add([(other, place, ())])
    again = Bundle(tmp_path / "bundle")
    assert again.runs == [RUN, other] and set(again.archives) == {"runs/some-task/mixed", "translations/some-task"}
    assert again.read(RUN) == first and again.read(other)["curves.tsv"] == b"update\tloss\n1\t2.4\n"
    again.drop([RUN])
    assert again.runs == [other] and Bundle(tmp_path / "bundle").runs == [other]
    with pytest.raises(DataError, match="has no run"):
        again.read(RUN)
    again.drop([other])
    assert set(contents(tmp_path / "bundle")) == {"bundle.json"}


def test_translations_of_all_methods_are_side_by_side(run: Path, tmp_path: Path) -> None:
    bundle, other = Bundle(tmp_path / "bundle"), RUN.replace("mixed", "dsa")
    place = make_run(tmp_path / "results", other)
    assert bundle.add([(RUN, run, ()), (other, place, ())]) == [RUN, other]
    with tarfile.open(bundle.path("translations/some-task")) as archive:
        assert archive.getnames() == ["test.news.40.tsv"]
        table = archive.extractfile("test.news.40.tsv")
        assert table is not None
        first = table.readline()
    assert first == b"dsa/seed1-0123abcd/test-aaaaaaaa\tmixed/seed1-0123abcd/test-aaaaaaaa\n"
    again = Bundle(tmp_path / "bundle")
    for name, folder in ((RUN, run), (other, place)):
        assert again.read(name) == {file: (folder / file).read_bytes() for file in again.files(name)}
        assert "test-aaaaaaaa/hyp/hyp.news.txt" in again.files(name)
    again.drop([RUN])
    assert Bundle(tmp_path / "bundle").read(other) == bundle.read(other)


def test_a_bundle_with_translations_beside_their_runs_is_still_read(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("mdnmt.exchange.side_by_side.is_translation", lambda name: False)
        Bundle(tmp_path / "bundle").add([(RUN, run, ())])
    assert set(Bundle(tmp_path / "bundle").archives) == {"runs/some-task/mixed"}
    Bundle(tmp_path / "new").add([(RUN, run, ())])
    assert Bundle(tmp_path / "bundle").read(RUN) == Bundle(tmp_path / "new").read(RUN)


def test_what_the_bundle_does_not_have_is_named(run: Path, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "bundle")
    bundle.add([(RUN, run, ())])
    with pytest.raises(DataError, match=r"has no run other-task/mixed/seed1-0123abcd"):
        bundle.read("other-task/mixed/seed1-0123abcd")
    bundle.path("runs/some-task/mixed").unlink()
    with pytest.raises(DataError, match=r"no such file, but the manifest lists it"):
        Bundle(tmp_path / "bundle").read(RUN)


def test_an_altered_run_is_not_bundled(run: Path, tmp_path: Path) -> None:
    (run / "test-aaaaaaaa" / "hyp" / "hyp.news.txt").write_text("better translations\n", encoding="utf-8")
    with pytest.raises(DataError, match="was altered"):
        Bundle(tmp_path / "bundle").add([(RUN, run, ())])
    assert not (tmp_path / "bundle").exists()


def test_a_manifest_of_another_format_or_without_its_seal_is_refused(run: Path, tmp_path: Path) -> None:
    Bundle(tmp_path / "bundle").add([(RUN, run, ())])
    manifest = tmp_path / "bundle" / "bundle.json"
    written = fsio.read_json(manifest)
    assert written.pop("format_version") == 1
    fsio.write_sealed(manifest, {**written, "format_version": 2})
    with pytest.raises(DataError, match="has format version 2, this mdnmt reads 1; update mdnmt"):
        Bundle(tmp_path / "bundle")
    fsio.write_json(manifest, written)
    with pytest.raises(DataError, match="has no seal"):
        Bundle(tmp_path / "bundle")
    fsio.write_sealed(manifest, written)  # as versions of mdnmt without a number wrote it
    assert Bundle(tmp_path / "bundle").runs == [RUN]


def test_a_flipped_bit_anywhere_is_found(run: Path, tmp_path: Path) -> None:
    Bundle(tmp_path / "bundle").add([(RUN, run, ())])
    files = contents(tmp_path / "bundle")
    places = [(name, k) for name, data in sorted(files.items()) for k in range(len(data))]
    generator = random.Random(7)
    for name, position in generator.sample(places, 200):
        changed = bytearray(files[name])
        changed[position] ^= 1 << generator.randrange(8)
        (tmp_path / "bundle" / name).write_bytes(changed)
        with pytest.raises(MdnmtError):
            Bundle(tmp_path / "bundle").read(RUN)
        (tmp_path / "bundle" / name).write_bytes(files[name])
    assert Bundle(tmp_path / "bundle").read(RUN)
    (tmp_path / "bundle" / "bundle.json").write_bytes(files["bundle.json"] + b" ")  # which JSON does not see
    with pytest.raises(MdnmtError, match="was altered"):
        Bundle(tmp_path / "bundle")
