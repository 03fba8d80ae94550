"""Exchange finished runs, and translations from elsewhere, between machines through a shared folder or a web server.

A store has the layout of `results`: `runs/<task>/<method>/seed<k>-<fingerprint>/`, with the files of the run and
`manifest.json`, which lists their sha256. Translations from elsewhere are in `external/`, under the folder that the
study names. Pulled files are verified in a temporary folder, then renamed into place.
"""

from __future__ import annotations

import os
import re
import shutil
import urllib.parse
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from mdnmt import fsio
from mdnmt.config.corpus_source import HttpSource
from mdnmt.config.run import RunSpec
from mdnmt.config.study import load_study
from mdnmt.corpora.corpus_spec import FileSpec
from mdnmt.corpora.providers.http import download
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import ConfigError, DataError
from mdnmt.exchange.bundle import RUNS
from mdnmt.fingerprint import sha256_file
from mdnmt.machine import require_space
from mdnmt.paths import RunPaths
from mdnmt.plugins import require_kept
from mdnmt.studies.external_translations import read_text
from mdnmt.studies.resolve import resolve

MANIFEST, EXTERNAL = "manifest.json", "external"
FORMAT_VERSION = 1  # of the manifests; those without a version are of version 1
ADDRESS = r"[a-z0-9-]+/[a-z0-9-]+/seed\d+-(?P<fingerprint>[0-9a-f]{8})"
# All results of training, translation, scoring and analysis, except checkpoints and logs.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]*"
_SENT = re.compile(
    r"run\.json|curves\.tsv|sums\.json|(model|alternative)\.safetensors"
    rf"|segmentation/{_NAME}|code/(\w[\w.+-]*/)*\w[\w.+-]*|((test|valid)-[0-9a-f]{{8}}|analysis-[0-9a-f]{{8}})/({_NAME}/)?{_NAME}"
)
_TRANSLATIONS = re.compile(r"hyp\.[^./]+\.(txt|tsv)")
_WEIGHTS = {"model.safetensors": "model_sha256", "alternative.safetensors": "alternative_sha256"}
_MANIFEST_BYTES_MAX = 10_000_000
_NEEDED = {"run.json", "model.safetensors"}


def address_of(run: str) -> str:
    """Return the address of a run, given its address or its folder.

    Raises:
        ConfigError: it is neither.
    """
    parts = Path(run).as_posix().rstrip("/").split("/")[-3:]
    if not re.fullmatch(ADDRESS, address := "/".join(parts)):
        raise ConfigError(f"{run}: expected the address of a run, <task>/<method>/seed<k>-<hash>, or its folder")
    return address


def runs_of_study(name: str, config: Path, corpora: Path) -> list[str]:
    """Return the addresses of all runs of a study that can be made; raises as `resolve`."""
    return [run.address for run in resolve(config, name, corpora).makeable()]


def external_folders(name: str, config: Path) -> list[str]:
    """Return the folders with translations from elsewhere that a study names, whether they exist here or not."""
    systems = load_study(config, name).external.values()
    return [folder for system in systems for task in system.hypotheses for folder in system.folders(task)]


def push(results: Path, store: Path, address: str) -> bool:
    """Copy a finished run to a store, and return whether the store changed.

    A run in the store is replaced only by one that has all its files.

    Raises:
        DataError: the run is not finished, was altered, or lacks files that the store has.
    """
    source = results / RUNS / address
    names = [path.relative_to(source).as_posix() for path in sorted(source.rglob("*")) if path.is_file()]
    names = [name for name in names if _SENT.fullmatch(name)]
    if RunPaths(source).has_no_weights:
        raise DataError(f"{source}: came without weights; pass on what it came from, a bundle or a campaign")
    if _NEEDED - set(names):
        raise DataError(f"{source}: is not a finished run; expected a folder with {' and '.join(sorted(_NEEDED))}")
    verify_run(source, address, names)
    return _publish(source, names, store, f"{RUNS}/{address}", {"run": address})


def push_external(folder: str, store: Path) -> bool:
    """Copy the translations from elsewhere in a folder to a store, and return whether the store changed.

    Raises:
        DataError: the store has other translations of this folder.
        ConfigError: the folder is outside of the project.
    """
    place = _external_place(folder)
    if (there := store / place / MANIFEST).exists():
        _require_same(Path(folder), _read_manifest(there, "external", folder), str(store / place))
        return False
    names = sorted(path.name for path in Path(folder).glob("hyp.*"))
    return _publish(Path(folder), names, store, place, {"external": folder})


def _publish(source: Path, names: list[str], store: Path, place: str, about: dict[str, str]) -> bool:
    """Copy files to a place in the store, with a manifest; return whether the store changed."""
    [(kind, address)], target = about.items(), store / place
    files: dict[str, dict[str, Any]] = {
        name: {"sha256": sha256_file(source / name), "size_bytes": (source / name).stat().st_size} for name in names
    }
    if target.exists():
        there = _read_manifest(target / MANIFEST, kind, address)
        if there == files:
            return False
        if lacking := sorted(there.keys() - files.keys()):
            raise DataError(f"{target}: has {lacking[0]}, which {source} lacks; pull the run first, or remove it there")
    require_space(store, sum(file["size_bytes"] for file in files.values()), "the files")
    with partial_folder(store / place.partition("/")[0] / place.partition("/")[2].replace("/", "--")) as part:
        new = part / place
        for name in names:
            _copy(source / name, new / name)
        fsio.write_sealed(new / MANIFEST, {"format_version": FORMAT_VERSION, **about, "files": files})
        _check_files(new, files)
        move(new, target)
    return True


def pull(store: str, results: Path, address: str) -> bool:
    """Copy a run from a store to the results and verify it; return whether it was copied.

    Args:
        store: a folder, or an address that begins with file://, http:// or https://.
        results: the folder of results that receives the run.
        address: address of the run.

    Raises:
        DataError: the store has no such run, or its files do not match its manifest, address or records.
        FetchError: a file cannot be downloaded.
    """
    target = results / RUNS / address
    paths = RunPaths(target)
    if paths.is_finished:
        return False
    if target.exists():
        raise DataError(f"{target}: is here but not finished; if nothing trains there, remove it, then pull again")
    with partial_folder(results / ".pulled") as part:
        new = part / RUNS / address
        files = _take(store, f"{RUNS}/{address}", new, "run", address)
        verify_run(new, address, list(files))
        move(new, target)
    return True


def drop_benchmarks(folder: Path, address: str) -> None:
    """Remove the benchmark records of earlier jobs of a run.

    Snakemake counts them among a job's outputs: a record older than the run's weights would make it translate again.
    """
    name = address.replace("/", "-")
    for path in [folder / f"train-{name}.jsonl", *folder.glob(f"decode-{name}-*.jsonl")]:
        path.unlink(missing_ok=True)


def pull_external(store: str, folder: str) -> bool:
    """Copy translations from elsewhere from a store to the folder that a study names; return whether they were copied.

    Whether they match the test sets is checked when the study is made.

    Raises:
        DataError: the store has none for this folder, it has others than those here, or they are not text.
        ConfigError: the folder is outside of the project.
        FetchError: a file cannot be downloaded.
    """
    target, place = Path(folder), _external_place(folder)
    is_here = target.is_dir() and any(target.iterdir())
    with partial_folder(target.parent / f"pulled-{target.name}") as part:
        try:
            _fetch(store, place, MANIFEST, part / MANIFEST)
        except DataError:
            if is_here:
                return False
            raise
        if is_here:
            _require_same(target, _read_manifest(part / MANIFEST, "external", folder), f"{store}: {place}")
            return False
        for name in _take(store, place, part / "new", "external", folder):
            read_text(part / "new" / name)
        move(part / "new", target)
    return True


def _take(store: str, place: str, new: Path, kind: str, address: str) -> dict[str, dict[str, Any]]:
    """Copy the files of a place in a store to a new folder, check them against their manifest, and return it."""
    new.mkdir(parents=True)
    _fetch(store, place, MANIFEST, new / MANIFEST)
    files = _read_manifest(new / MANIFEST, kind, address)
    require_space(new, sum(file["size_bytes"] for file in files.values()), "the files")
    for name, file in files.items():
        _fetch(store, place, name, new / name, file)
    _check_files(new, files)
    (new / MANIFEST).unlink()
    return files


def _external_place(folder: str) -> str:
    """Return the place in a store for the translations of a folder.

    Raises:
        ConfigError: the folder is not a relative path into the project.
    """
    path = PurePosixPath(folder)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ConfigError(
            f"{folder}: translations in a folder outside of the project cannot be exchanged; move it into the project, "
            "give its new path in the study, then push again"
        )
    return f"{EXTERNAL}/{path}"


def _require_same(folder: Path, files: dict[str, dict[str, Any]], place: str) -> None:
    """Raise an error if a folder holds other translations than a manifest lists."""
    here = {path.name: sha256_file(path) for path in sorted(folder.glob("hyp.*"))}
    if here != {name: file["sha256"] for name, file in files.items()}:
        raise DataError(f"{folder}: has other translations than {place}; remove the older ones, then start again")


def unbuilt_task(results: Path, address: str) -> Path | None:
    """Return the folder of a pulled run's task if it is not built here; without it, Snakemake would train again.

    None: it is built, or the run is not finished here, or it came without weights and is never trained.
    """
    paths = RunPaths(results / RUNS / address)
    if not paths.record.is_file() or paths.has_no_weights:
        return None
    record = fsio.read_json(paths.record)
    folder = results / "tasks" / f"{address.partition('/')[0]}-{record['spec']['task_fingerprint']}"
    return None if (folder / "task.json").is_file() else folder


def verify_run(folder: Path, address: str, names: list[str]) -> None:
    """Check that the files of a run belong to its address and match each other's checksums.

    The options in the record must give the hash in the address, and the record the hash of the weights. Every other
    file is sealed, or listed in a sealed sums.json beside it.

    Raises:
        DataError: a file is missing, was altered, or belongs to another run.
    """
    record = fsio.read_json(folder / "run.json")
    found = re.fullmatch(ADDRESS, address)
    assert found is not None, address
    try:
        fingerprint = RunSpec.model_validate(record["spec"]).fingerprint
    except (ValidationError, KeyError, TypeError):
        raise DataError(f"{folder / 'run.json'}: has options that this version of mdnmt does not know") from None
    if fingerprint != found["fingerprint"]:
        raise DataError(f"{folder / 'run.json'}: its options give the hash {fingerprint}, expected that of {address}")
    for name in names:
        path = folder / name
        if name in _WEIGHTS:
            if sha256_file(path) != record.get(_WEIGHTS[name]):
                raise DataError(f"{path}: are not the weights of run.json beside it")
        elif name.startswith("code/"):
            continue
        elif name.endswith(".json"):
            fsio.read_json(path)
        else:
            sums = path.parent / fsio.SUMS
            if not sums.is_file() or path.name not in fsio.read_json(sums):
                raise DataError(f"{path}: no {fsio.SUMS} beside it vouches for it")
            fsio.check_listed(path)
    require_kept(folder / "code", record["spec"].get("code", {}))


def _read_manifest(path: Path, kind: str, address: str) -> dict[str, dict[str, Any]]:
    """Return name -> sha256 and size of the files of a run (`kind`: run) or of translations (external) in a store.

    Raises:
        DataError: the manifest was altered, is invalid, or belongs to something else.
    """
    found = fsio.read_json(path)
    version = found.get("format_version", FORMAT_VERSION) if isinstance(found, dict) else None
    if version != FORMAT_VERSION:
        raise DataError(f"{path}: has format version {version}, this mdnmt reads {FORMAT_VERSION}; update mdnmt")
    files = found.get("files")
    names, needed = (_SENT, _NEEDED) if kind == "run" else (_TRANSLATIONS, set[str]())
    if not isinstance(files, dict) or found.get(kind) != address or not files or needed - files.keys():
        raise DataError(f"{path}: expected the manifest of {address}, as mdnmt push writes it")
    for name, file in files.items():
        if not names.fullmatch(name):
            raise DataError(f"{path}: refused, lists {name!r}, which does not belong to {address}")
        try:
            FileSpec.model_validate({"name": Path(name).name, **file})
            complete = file["sha256"] is not None and file["size_bytes"] is not None
        except (ValidationError, TypeError, KeyError):
            complete = False
        if not complete:
            raise DataError(f"{path}: refused, does not list sha256 and size of {name}")
    return files


def _check_files(folder: Path, files: dict[str, dict[str, Any]]) -> None:
    for name, file in files.items():
        if difference := FileSpec(name=Path(name).name, **file).difference(folder / name):
            raise DataError(f"{folder / name}: {difference}; nothing was taken")


def _fetch(store: str, place: str, name: str, path: Path, known: dict[str, Any] | None = None) -> None:
    """Copy a file from a place in a store; `known` is its entry in the manifest."""
    scheme = urllib.parse.urlsplit(store).scheme if "://" in store else ""
    if scheme in ("http", "https"):
        url = f"{store.rstrip('/')}/{urllib.parse.quote(f'{place}/{name}')}"
        source = HttpSource(provider="http", urls=(url,), file=path.name)
        wanted = FileSpec(name=path.name, **known or {})
        download(source, wanted, path.parent, bytes_max=known["size_bytes"] if known else _MANIFEST_BYTES_MAX)
        return
    if scheme not in ("", "file"):
        raise ConfigError(f"{store}: expected a folder, or an address that begins with file://, http:// or https://")
    folder = Path(urllib.parse.unquote(urllib.parse.urlsplit(store).path) if scheme else store, place)
    if not (folder / MANIFEST).is_file():
        raise DataError(f"{folder}: no {MANIFEST}; expected what mdnmt push put there")
    _copy(folder / name, path)


def _copy(source: Path, target: Path) -> None:
    """Copy a regular file; links are refused, because they could lead out of the run's folder."""
    if source.is_symlink() or not source.is_file():
        raise DataError(f"{source}: missing, or not a plain file")
    with fsio.atomic_path(target) as temporary:
        shutil.copyfile(source, temporary)


def move(new: Path, target: Path) -> None:
    """Rename a folder into place with one modification time for all files, so that none looks older than its input."""
    everything = [new, *new.rglob("*")]
    moment = new.stat().st_mtime_ns
    for path in everything:
        os.utime(path, ns=(moment, moment))
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        fsio.remove_tree(target)
    new.rename(target)
    fsio.sync_directory(target.parent)
