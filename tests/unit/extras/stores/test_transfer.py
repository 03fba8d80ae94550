"""Runs go from machine to machine by address: what differs from what was pushed is refused and leaves nothing."""

from __future__ import annotations

import functools
import random
import shutil
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from small_bundle import reseal

from mdnmt import fsio, plugins
from mdnmt.cli import main
from mdnmt.config.run import RunSpec
from mdnmt.corpora.providers import http
from mdnmt.errors import ConfigError, DataError, FetchError, MdnmtError
from mdnmt.exchange.bundle import Bundle
from mdnmt.extras.stores import transfer
from mdnmt.extras.stores.transfer import MANIFEST, address_of, pull, push
from mdnmt.extras.stores.without_weights import take_from_bundle


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "store", tmp_path / "store")
    return tmp_path / "store"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def url(store: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the store on loopback."""
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(store))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_empty(results: Path) -> bool:
    """Say whether nothing was left behind: at most empty folders that stand above a run."""
    return not results.exists() or not [path for path in results.rglob("*") if path.is_file() or ".part" in path.name]


def test_a_pulled_run_is_the_pushed_one_without_checkpoints(
    made: Path, store: Path, address: str, url: str, tmp_path: Path
) -> None:
    run = made / "results/runs" / address
    (run / "ckpt").mkdir(exist_ok=True)
    (run / "ckpt/state.json").write_text("{}", encoding="utf-8")
    (run / "metrics.jsonl").write_text("{}\n", encoding="utf-8")
    whole = {name: data for name, data in contents(run).items() if name not in ("ckpt/state.json", "metrics.jsonl")}
    assert not push(made / "results", store, address), "nothing new"
    for number, place in enumerate((str(store), store.as_uri(), url, f"{url}/")):
        results = tmp_path / str(number)
        assert pull(place, results, address)
        assert contents(results / "runs" / address) == whole
        assert len({path.stat().st_mtime_ns for path in (results / "runs" / address).rglob("*")}) == 1
        assert [path.name for path in results.iterdir()] == ["runs"]
        assert not pull(place, results, address), "it is here already"


def test_the_commands_take_folders_of_runs_and_studies(
    made: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(made)
    runs = sorted(path.relative_to("results/runs").as_posix() for path in Path().glob("results/runs/*/*/seed*"))
    capsys.readouterr()
    assert main(["push", str(tmp_path / "new"), f"results/runs/{runs[0]}/"]) == 0
    assert capsys.readouterr().out == f"{runs[0]}: pushed\n"
    # The study has runs of another method, which nobody has trained.
    assert main(["pull", str(store), "--study", "tiny", "--results", str(tmp_path / "results")]) == 2
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if line.endswith(": pulled")] == [f"{run}: pulled" for run in runs]
    assert out.count("expected what mdnmt push put there") == 3 and err.startswith("mdnmt pull: 3 of 6 runs")


def test_a_manifest_of_another_format_or_without_its_seal_is_refused(store: Path, address: str, tmp_path: Path) -> None:
    manifest = store / "runs" / address / "manifest.json"
    written = fsio.read_json(manifest)
    assert written.pop("format_version") == 1
    fsio.write_sealed(manifest, {**written, "format_version": 2})
    with pytest.raises(DataError, match="has format version 2, this mdnmt reads 1; update mdnmt"):
        pull(str(store), tmp_path, address)
    fsio.write_json(manifest, written)
    with pytest.raises(DataError, match="has no seal"):
        pull(str(store), tmp_path, address)
    assert is_empty(tmp_path / "runs")
    fsio.write_sealed(manifest, written)  # as versions of mdnmt without a number wrote it
    assert pull(str(store), tmp_path, address)


def test_records_of_earlier_jobs_go_with_a_pull(store: Path, address: str, tmp_path: Path) -> None:
    name = address.replace("/", "-")
    records = [tmp_path / "benchmarks" / f"{kind}-{name}{end}.jsonl" for kind, end in (("train", ""), ("decode", "-t"))]
    other = tmp_path / "benchmarks" / f"train-{name[:-1]}{'0' if name[-1] != '0' else '1'}.jsonl"
    for path in (*records, other):
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}\n", encoding="utf-8")
    words = [
        "pull",
        str(store),
        address,
        "--results",
        str(tmp_path / "r"),
        "--benchmarks",
        str(tmp_path / "benchmarks"),
    ]
    assert main(words) == 0
    assert list((tmp_path / "benchmarks").iterdir()) == [other]
    records[0].write_text("{}\n", encoding="utf-8")
    assert main(words) == 0 and records[0].exists(), "the run was here: the record is its own"


def test_a_run_that_gained_a_file_is_pushed_again_and_none_that_lost_one(
    made: Path, store: Path, address: str, tmp_path: Path
) -> None:
    results = tmp_path / "results"
    pull(str(store), results, address)
    new = results / "runs" / address / "valid-01234567" / "scores.json"
    fsio.write_sealed(new, {"domains": {}})
    assert push(results, store, address)
    assert "valid-01234567/scores.json" in contents(store / "runs" / address)
    with pytest.raises(DataError, match=r"has valid-01234567/scores\.json, which .* lacks; pull the run first"):
        push(made / "results", store, address)


def test_a_flipped_byte_anywhere_is_refused_and_leaves_nothing(store: Path, address: str, tmp_path: Path) -> None:
    folder, results = store / "runs" / address, tmp_path / "results"
    files = contents(folder)
    places = [
        (name, k) for name, data in sorted(files.items()) for k in range(len(data)) if not data[k : k + 1].isspace()
    ]
    generator = random.Random(5)
    for name, position in generator.sample(places, 25):
        changed = bytearray(files[name])
        changed[position] ^= 1 << generator.randrange(7)
        (folder / name).write_bytes(changed)
        with pytest.raises(MdnmtError):
            pull(str(store), results, address)
        assert is_empty(results)
        (folder / name).write_bytes(files[name])
    assert pull(str(store), results, address)


def manifest_again(folder: Path, address: str) -> None:
    """Write the manifest of a changed run, as a forger would."""
    names = [name for name in contents(folder) if name != MANIFEST]
    files = {
        name: {"sha256": fsio.sha256_file(folder / name), "size_bytes": (folder / name).stat().st_size}
        for name in names
    }
    fsio.write_sealed(folder / MANIFEST, {"run": address, "files": files})


@pytest.mark.parametrize("kind", ["options", "weights", "unlisted", "another run", "translations", "name", "no hash"])
def test_a_resealed_run_that_contradicts_itself_is_refused(
    kind: str, store: Path, address: str, tmp_path: Path, made: Path
) -> None:
    folder = store / "runs" / address
    expected = {
        "options": "its options give the hash",
        "weights": "are not the weights of run.json",
        "unlisted": "no sums.json beside it vouches for it",
        "another run": "was made as runs/",
        "translations": "was altered",
        "name": "which does not belong to",
        "no hash": "does not list sha256 and size",
    }[kind]
    if kind == "options":
        spec = fsio.read_json(folder / "run.json")["spec"]
        reseal(folder / "run.json", spec={**spec, "seed": 99})
    elif kind == "weights":
        (folder / "model.safetensors").write_text("others", encoding="utf-8")
    elif kind == "unlisted":
        next(folder.glob("test-*/hyp")).joinpath("more.txt").write_text("more\n", encoding="utf-8")
    elif kind == "another run":
        other = next(path for path in folder.parent.iterdir() if path != folder)
        shutil.rmtree(folder)
        shutil.copytree(other, folder)
    elif kind == "translations":
        next(folder.glob("test-*/hyp/*.txt")).write_text("better\n", encoding="utf-8")
    manifest_again(folder, address)
    if kind in ("name", "no hash"):
        files = fsio.read_json(folder / MANIFEST)["files"]
        more = {"../../escape.txt": {"sha256": "0" * 64, "size_bytes": 1}} if kind == "name" else {}
        changed = {"curves.tsv": {"sha256": None, "size_bytes": None}} if kind == "no hash" else {}
        fsio.write_sealed(folder / MANIFEST, {"run": address, "files": {**files, **more, **changed}})
    results = tmp_path / "results"
    with pytest.raises(DataError, match=expected):
        pull(str(store), results, address)
    assert is_empty(results)


def test_the_code_of_an_own_method_goes_with_its_run(
    made: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "plugins/own.py"
    own.parent.mkdir()
    own.write_text("scale = 0.1\n", encoding="utf-8")
    monkeypatch.setenv(plugins.VARIABLE, str(own.parent))
    plugins.forget()
    code = dict(plugins.own_code(plugins.module_of("own", "mdnmt.methods")))
    record = fsio.read_json(made / "results/runs" / address / "run.json")
    spec = RunSpec.model_validate({**record["spec"], "builder": "own", "code": code})
    address = f"{address.rpartition('-')[0]}-{spec.fingerprint}"
    run, store = tmp_path / "results/runs" / address, tmp_path / "store"
    shutil.copytree(made / "results/runs" / address.rpartition("/")[0], run.parent)
    next(run.parent.glob("seed*")).rename(run)
    for path in [path for path in run.iterdir() if path.name not in ("run.json", "model.safetensors")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    fsio.write_sealed(run / "run.json", {**record, "spec": spec.model_dump(mode="json")})
    (run / "code/plugins").mkdir(parents=True)
    shutil.copy(own, run / "code/plugins")
    assert push(tmp_path / "results", store, address) and pull(str(store), tmp_path / "pulled", address)
    assert contents(tmp_path / "pulled/runs" / address) == contents(run)
    bundle = Bundle(tmp_path / "bundle")
    assert bundle.add([(address, run, ())])
    assert take_from_bundle(bundle, tmp_path / "restored", address) == "taken in"
    assert contents(tmp_path / "restored/runs" / address) == {
        "run.json": (run / "run.json").read_bytes(),
        "code/plugins/own.py": own.read_bytes(),
        "without-weights.txt": b"The weights are not here; this run came from a bundle.\n",
    }
    (store / "runs" / address / "code/plugins/own.py").write_text("scale = 3.0\n", encoding="utf-8")
    manifest_again(store / "runs" / address, address)
    with pytest.raises(DataError, match=r"plugins\.own is not the code that run\.json records"):
        pull(str(store), tmp_path / "again", address)
    (run / "code/plugins/own.py").write_text("scale = 3.0\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"plugins\.own is not the code that run\.json records"):
        push(tmp_path / "results", tmp_path / "other", address)
    with pytest.raises(DataError, match=r"plugins\.own is not the code that run\.json records"):
        Bundle(tmp_path / "other").add([(address, run, ())])
    plugins.forget()


def test_a_link_in_a_store_is_not_followed(store: Path, address: str, tmp_path: Path) -> None:
    path = store / "runs" / address / "curves.tsv"
    path.rename(tmp_path / "curves.tsv")
    path.symlink_to(tmp_path / "curves.tsv")
    with pytest.raises(DataError, match="not a plain file"):
        pull(str(store), tmp_path / "results", address)


def test_an_interrupted_pull_or_push_leaves_nothing(
    made: Path, store: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, left = transfer._copy, 0

    def interrupted(source: Path, target: Path) -> None:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        copy(source, target)

    monkeypatch.setattr(transfer, "_copy", interrupted)
    for number in range(6):
        left = number
        with pytest.raises(KeyboardInterrupt):
            pull(str(store), tmp_path / "results", address)
        assert is_empty(tmp_path / "results")
        left = number
        with pytest.raises(KeyboardInterrupt):
            push(made / "results", tmp_path / "new", address)
        assert is_empty(tmp_path / "new")


def test_a_server_without_the_run_is_one_line(
    url: str, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "PAUSES_S", ())
    with pytest.raises(FetchError, match="status 404"):
        pull(url, tmp_path / "results", address.replace("tiny/", "other/"))
    assert is_empty(tmp_path / "results")


def test_a_run_that_is_begun_here_is_left_alone(store: Path, address: str, tmp_path: Path) -> None:
    begun = tmp_path / "results/runs" / address / "metrics.jsonl"
    begun.parent.mkdir(parents=True)
    begun.write_text("{}\n", encoding="utf-8")
    with pytest.raises(DataError, match="is here but not finished; if nothing trains there, remove it"):
        pull(str(store), tmp_path / "results", address)
    assert list(contents(tmp_path / "results")) == [f"runs/{address}/metrics.jsonl"]


def test_an_unfinished_run_is_not_pushed(made: Path, address: str, tmp_path: Path) -> None:
    shutil.copytree(made / "results/runs" / address, tmp_path / "results/runs" / address)
    (tmp_path / "results/runs" / address / "run.json").unlink()
    with pytest.raises(DataError, match="is not a finished run"):
        push(tmp_path / "results", tmp_path / "store", address)
    assert not (tmp_path / "store").exists()


def test_what_is_no_address_is_refused() -> None:
    for name in ("", "tiny/mixed", "../../etc/passwd", "tiny/mixed/seed1-XYZ", "tiny/mixed/seed1-0123abcd5"):
        with pytest.raises(ConfigError, match="expected the address of a run"):
            address_of(name)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["pull", "ftp://host/store", "tiny/mixed/seed1-0123abcd"],
            "expected a folder, or an address that begins with",
        ),
        (["pull", "nowhere"], "expected RUN... or --study NAME, found neither"),
        (["push", "http://host/store", "tiny/mixed/seed1-0123abcd"], "only pull takes a web address"),
        (["push", "nowhere"], "found no finished run"),
    ],
)
def test_mistakes_are_one_line(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    err = capsys.readouterr().err
    assert expected in err and err.count("\n") == 1
