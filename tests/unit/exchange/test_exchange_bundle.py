"""The bundle of finished runs: what goes in comes out, and a changed byte anywhere is found."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from mdnmt import fsio
from mdnmt.errors import DataError, MdnmtError
from mdnmt.exchange.bundle import Bundle

RUN = "some-task/mixed/seed1-0123abcd"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "results" / "runs" / RUN
    hyp = folder / "test-aaaaaaaa" / "hyp"
    analysis = folder / "analysis-bbbbbbbb"
    for place in (hyp, analysis, folder / "ckpt" / "update-1"):
        place.mkdir(parents=True)
    (folder / "curves.tsv").write_text("update\tloss\n1\t2.5\n", encoding="utf-8")
    fsio.write_sums(folder, ["curves.tsv"])
    fsio.write_sealed(folder / "run.json", {"model_sha256": "0" * 64, "seconds": 1.5})
    (hyp / "news.txt").write_text("".join(f"line {k} é\n" for k in range(40)), encoding="utf-8")
    fsio.write_sums(hyp, ["news.txt"], [folder / "run.json"])
    (analysis / "words.npz").write_bytes(random.Random(1).randbytes(500))
    fsio.write_sums(analysis, ["words.npz"])
    for name in ("model.safetensors", "metrics.jsonl", "ckpt/update-1/state.json", "lease"):
        (folder / name).write_bytes(b"weights and state")
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_goes_in_comes_out_without_weights(run: Path, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "bundle")
    bundle.add(RUN, run)
    first = contents(tmp_path / "bundle")
    assert set(first) == {"bundle.json", "runs/some-task/mixed.tar.xz"}
    bundle.add(RUN, run)
    assert contents(tmp_path / "bundle") == first, "the same run gives the same bytes"

    again, place = Bundle(tmp_path / "bundle"), tmp_path / "other" / "results" / "runs" / RUN
    again.restore(RUN, place, ["test-aaaaaaaa/hyp"])
    assert set(contents(place)) == {"test-aaaaaaaa/hyp/news.txt", "test-aaaaaaaa/hyp/sums.json"}
    again.restore(RUN, place, ["run.json", "curves.tsv", "analysis-bbbbbbbb"])
    left_out = {"model.safetensors", "metrics.jsonl", "ckpt/update-1/state.json", "lease"}
    assert contents(place) == {name: data for name, data in contents(run).items() if name not in left_out}
    assert fsio.read_json(place / "run.json") == {"model_sha256": "0" * 64, "seconds": 1.5}
    assert fsio.read_lines(place / "test-aaaaaaaa" / "hyp" / "news.txt")[3] == "line 3 é"


def test_runs_of_a_method_share_an_archive_and_leave_each_other_alone(run: Path, tmp_path: Path) -> None:
    bundle, other = Bundle(tmp_path / "bundle"), RUN.replace("seed1", "seed2")
    assert bundle.add(RUN, run)
    first = bundle.read(RUN)
    place = run.parent / other.rpartition("/")[2]
    shutil.copytree(run, place)
    (place / "curves.tsv").write_text("update\tloss\n1\t2.4\n", encoding="utf-8")
    fsio.write_sums(place, ["curves.tsv"])
    for path in (
        place / "run.json",
        place / "test-aaaaaaaa" / "hyp" / "sums.json",
        place / "analysis-bbbbbbbb" / "sums.json",
    ):
        path.unlink()
    fsio.write_sealed(place / "run.json", {"model_sha256": "1" * 64, "seconds": 1.5})
    fsio.write_sums(place / "test-aaaaaaaa" / "hyp", ["news.txt"], [place / "run.json"])
    fsio.write_sums(place / "analysis-bbbbbbbb", ["words.npz"])
    assert bundle.add(other, place) and not bundle.add(other, place)
    again = Bundle(tmp_path / "bundle")
    assert again.runs == [RUN, other] and set(again.archives) == {"runs/some-task/mixed"}
    assert again.read(RUN) == first and again.read(other)["curves.tsv"] == b"update\tloss\n1\t2.4\n"
    again.drop(RUN)
    assert again.runs == [other] and Bundle(tmp_path / "bundle").runs == [other]
    with pytest.raises(DataError, match="has no run"):
        again.read(RUN)
    again.drop(other)
    assert set(contents(tmp_path / "bundle")) == {"bundle.json"}


def test_a_restored_file_that_was_changed_is_replaced(run: Path, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "bundle")
    bundle.add(RUN, run)
    (run / "curves.tsv").write_text("nonsense", encoding="utf-8")
    bundle.restore(RUN, run, ["curves.tsv"])
    assert fsio.read_text(run / "curves.tsv") == "update\tloss\n1\t2.5\n"


def test_what_the_bundle_does_not_have_is_named(run: Path, tmp_path: Path) -> None:
    bundle = Bundle(tmp_path / "bundle")
    bundle.add(RUN, run)
    with pytest.raises(DataError, match=r"has no valid-cccccccc/hyp"):
        bundle.restore(RUN, run, ["valid-cccccccc/hyp"])
    with pytest.raises(DataError, match=r"has no run other-task/mixed/seed1-0123abcd"):
        bundle.read("other-task/mixed/seed1-0123abcd")
    bundle.archive(RUN).unlink()
    with pytest.raises(DataError, match=r"no such file, but the manifest lists it"):
        Bundle(tmp_path / "bundle").read(RUN)


def test_an_altered_run_is_not_bundled(run: Path, tmp_path: Path) -> None:
    (run / "test-aaaaaaaa" / "hyp" / "news.txt").write_text("better translations\n", encoding="utf-8")
    with pytest.raises(DataError, match="was altered"):
        Bundle(tmp_path / "bundle").add(RUN, run)
    assert not (tmp_path / "bundle").exists()


def test_a_manifest_without_its_seal_is_refused(run: Path, tmp_path: Path) -> None:
    Bundle(tmp_path / "bundle").add(RUN, run)
    manifest = tmp_path / "bundle" / "bundle.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace('"seal"', '"teal"'), encoding="utf-8")
    with pytest.raises(DataError, match="has no seal"):
        Bundle(tmp_path / "bundle")


def test_a_flipped_bit_anywhere_is_found(run: Path, tmp_path: Path) -> None:
    Bundle(tmp_path / "bundle").add(RUN, run)
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
