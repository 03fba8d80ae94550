"""Download a corpus into a temporary folder, verify it, and rename it; the manifest is written last."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import cast

from mdnmt.config.corpus_source import FileSource, LocalSource, ManualSource, WebFile
from mdnmt.corpora.corpus_lock import LOCK, OWN_LOCK, LockRow
from mdnmt.corpora.corpus_spec import FetchSpec, FileSpec
from mdnmt.corpora.fetch_manifest import read_manifest, write_manifest
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.local_files import check_text, local_files
from mdnmt.corpora.providers import http, manual, package_clients
from mdnmt.corpora.read import open_corpus
from mdnmt.corpora.readers import reader
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import DataError, FetchError
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import sync_directory
from mdnmt.plugin_kinds import PROVIDER
from mdnmt.plugins import make

# Download a source's file into a folder and return its origin; raise FetchError with the reason on failure.
Download = Callable[[FileSource, FileSpec, Path], str]


# Record the fetched files, by name.
Record = Callable[[dict[str, LockRow]], None]


def fetch(
    spec: FetchSpec, target: Path, download: Download | None = None, record: Record | None = None
) -> dict[str, LockRow]:
    """Make sure that `target` holds the verified corpus, and return a description of each of its files.

    Files with the right checksum are not downloaded again. Existing files stay until the new ones are verified. The
    manifest is written last.

    Args:
        spec: what to fetch.
        target: the corpus' folder.
        download: replaces the network in tests.
        record: called with the verified files before the manifest is written, so that every corpus with a manifest is
            recorded.

    Raises:
        FetchError: the download failed, or differs from the pinned or locked checksum.
        DataError: a user's own file is malformed; the message names file and line.
    """
    target.mkdir(parents=True, exist_ok=True)
    source = spec.sources[0]
    origins: dict[str, str] = {}
    if isinstance(source, LocalSource):
        files = _check_local(spec, source)
    elif isinstance(source, ManualSource):
        manual.check(source, spec.corpus.files[0], spec.corpus.unpacked_bytes_max)
        path = manual.path_of(source)
        _check_text(spec, [path])
        files, origins = [_found(path)], {path.name: source.page}
    else:  # a generated corpus has no files: it is made when it is read
        files, origins = _fetch_files(spec, target, download or partial(_download, spec.corpus.unpacked_bytes_max))
    rows = {
        file.name: LockRow(
            file=file.name,
            size_bytes=cast(int, file.size_bytes),
            sha256=cast(str, file.sha256),
            origin=origins.get(file.name, ""),
            date=_now().date(),
        )
        for file in files
    }
    if record is not None:
        record(rows)
    manifest = {
        "name": spec.corpus.name,
        "sources": [one.model_dump(mode="json", exclude_none=True) for one in spec.sources],
        "files": [file.model_dump() for file in files],
        "origins": origins,
        "fetched_at": _now().isoformat(timespec="seconds"),
    }
    if spec.folder is not None:
        # As configured, so that a relative folder stays valid when the project is moved.
        manifest["folder"] = spec.folder
    write_manifest(target, manifest)
    return rows


def _fetch_files(spec: FetchSpec, target: Path, download: Download) -> tuple[list[FileSpec], dict[str, str]]:
    """Download missing files, check all of them, and only then give them their final names."""
    found = (read_manifest(target) or {}).get("origins")
    origins: dict[str, str] = dict(found) if isinstance(found, dict) else {}
    paths = []
    with ExitStack() as parts:
        for source, wanted in zip(cast(tuple[FileSource, ...], spec.sources), spec.corpus.files, strict=False):
            path = target / source.file
            if wanted.sha256 is None or wanted.difference(path) is not None:
                part = parts.enter_context(_part(source, target))
                origins[source.file] = _download_verified(spec, source, wanted, part, download)
                path = part / source.file
                if wanted.sha256 is not None and len(spec.sources) > 1:
                    # Verified: if another file fails, this one is not downloaded again.
                    path = path.replace(target / source.file)
            paths.append(path)
        try:
            _check_text(spec, paths)
        except DataError as error:
            raise FetchError(str(error)) from None
        files = [_found(path) for path in paths]
        for path in paths:
            path.replace(target / path.name)
    sync_directory(target)
    return files, {file.name: origins[file.name] for file in files if file.name in origins}


def _download_verified(spec: FetchSpec, source: FileSource, wanted: FileSpec, part: Path, download: Download) -> str:
    origin = download(source, wanted, part)
    fetched = part / source.file
    if not fetched.is_file():
        found = ", ".join(sorted(entry.name for entry in part.iterdir())) or "nothing"
        raise FetchError(f"{origin}: expected the file {source.file}, {source.provider} brought {found}")
    difference = wanted.difference(fetched)
    if difference is not None:
        pin = f"the rows of {spec.corpus.name} in {LOCK} or {OWN_LOCK}" if source.sha256 is None else "the pin"
        raise FetchError(
            f"{source.file}: {difference} ({origin}); nothing was kept: fetch again, or, if that is what you want, "
            f"correct {pin}"
        )
    return origin


def _download(unpacked_bytes_max: int, source: FileSource, wanted: FileSpec, folder: Path) -> str:
    if isinstance(source, WebFile):
        return http.download(source, wanted, folder, bytes_max=unpacked_bytes_max)
    if isinstance(source, package_clients.PackageSource):
        return package_clients.download(source, folder)
    return str(make(PROVIDER, source.provider.replace("-", "_"), source, folder))


@contextmanager
def _part(source: FileSource, target: Path) -> Iterator[Path]:
    """Yield a temporary folder; after a failure it stays if the download can be resumed."""
    if not isinstance(source, WebFile):
        with partial_folder(target) as folder:
            yield folder
        return
    folder, finished = target / f".{source.file}.part", False
    folder.mkdir(exist_ok=True)
    (folder / source.file).unlink(missing_ok=True)
    try:
        yield folder
        finished = True
    finally:
        # A complete file that was refused is removed too.
        if finished or (folder / source.file).exists() or not any(folder.iterdir()):
            shutil.rmtree(folder)


def _found(path: Path) -> FileSpec:
    return FileSpec(name=path.name, sha256=sha256_file(path), size_bytes=path.stat().st_size)


def _check_text(spec: FetchSpec, paths: list[Path]) -> None:
    """Check the archives' indices (names, links, sizes) and required members, and count the pairs."""
    if not paths:
        return
    with open_corpus(paths, spec.corpus) as archive:
        names = set(archive.names())
        for name in reader(spec.corpus.reader.name).required:
            if name not in names:
                needed = f"which the reader {spec.corpus.reader.name!r} needs"
                raise DataError(f"{archive.label}: has no member {name!r}, {needed}")
        if spec.pairs is not None:
            _count(spec, spec.pairs, archive)


def _count(spec: FetchSpec, expected: int, archive: Archive) -> None:
    options = spec.corpus.reader
    pairs = reader(options.name).read(archive, spec.languages[0], spec.languages[1], options)
    found = sum(1 for _ in pairs)
    if found != expected:
        raise DataError(
            f"{archive.label}: has {found} pairs, expected {expected}; the corpus has changed, or `pairs` in "
            f"corpora/{spec.corpus.name}.yaml is wrong"
        )


def _check_local(spec: FetchSpec, source: LocalSource) -> list[FileSpec]:
    """Read every line of a user's files and record their checksums; the files themselves are not copied."""
    folder = Path(source.folder).expanduser()
    names = local_files(folder, spec.languages, spec.corpus.reader)
    check_text(folder, spec.languages, spec.corpus.reader, spec.corpus.unpacked_bytes_max)
    return [_found(folder / name) for name in names]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
