"""The bundle: the evidence of a study without weights, an archive per method, task and study, with their hashes.

The manifest, `<bundle>/bundle.json`, lists each archive with its sha256 and the sha256 of the files in it.
`<bundle>/<key>.tar.xz` holds files of one folder below `results`: `runs/<task>/<method>` with the runs of a method,
`tasks/<task>-<fp>`, or `studies/<study>` for `results/<study>`. The translations of all runs on a task lie in tables of
their own, `translations/<task>` (see `side_by_side`); the manifest lists them with the other files of their runs.
`mdnmt pull` takes bundled runs into the results, where they are not trained.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import re
import tarfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from mdnmt import fsio
from mdnmt.corpora.formats.archive import check_name, open_archive
from mdnmt.errors import DataError
from mdnmt.exchange import side_by_side
from mdnmt.paths import RunPaths
from mdnmt.plugins import require_kept

MANIFEST = "bundle.json"
FORMAT_VERSION = 1  # of the manifest; one that names none has it too
SIGNATURE = "signature.sig"  # of the manifest, if it is signed
UNPACKED_BYTES_MAX = 200_000_000  # per archive
RUNS, TRANSLATIONS, TASKS, STUDIES = "runs", "translations", "tasks", "studies"
# The record, curves and own code of a run, its translations, scores and analyses, with their checksums; never weights,
# and no hidden files, which Snakemake leaves in the folders that it made.
KEPT = re.compile(r"(?!(?:.*/)?\.)(?:run\.json|curves\.tsv|sums\.json|code/.+|(?:test|valid|analysis)-[0-9a-f]{8}/.+)")
_KEY = re.compile(
    rf"{RUNS}/[a-z0-9-]+/[a-z0-9-]+|{TRANSLATIONS}/[a-z0-9-]+|{TASKS}/[a-z0-9-]+-[0-9a-f]{{8}}|{STUDIES}/[a-z0-9-]+"
)


class Bundle:
    """A folder of archives and its manifest.

    Attributes:
        folder: the bundle's folder.
        archives: key -> `sha256` and `size_bytes` of the archive, and `files`: name -> sha256.
    """

    def __init__(self, folder: Path) -> None:
        """Read the manifest; a folder without one is an empty bundle.

        Raises:
            DataError: the manifest was altered, or is not a manifest.
        """
        self.folder = folder
        self.archives: dict[str, dict[str, Any]] = {}
        self._translated: dict[str, dict[str, bytes]] = {}  # task -> `<method>/<seed>/...` -> translations
        path = folder / MANIFEST
        if path.is_file():
            found = fsio.read_json(path)
            version = found.get("format_version", FORMAT_VERSION) if isinstance(found, dict) else None
            if version not in (FORMAT_VERSION, None):
                raise DataError(
                    f"{path}: has format version {version}, this mdnmt reads {FORMAT_VERSION}; update mdnmt"
                )
            archives = found.get("archives") if isinstance(found, dict) else None
            if not isinstance(archives, dict) or not all(_KEY.fullmatch(key) for key in archives):
                raise DataError(f"{path}: expected the manifest of a bundle, with `archives`")
            # The seal covers the values. The text is compared as well, so that even a changed space is found.
            text = path.read_text(encoding="utf-8")
            if text != json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n":
                raise DataError(f"{path}: was altered, its layout is not that of a manifest; restore it with git")
            self.archives = archives

    @property
    def runs(self) -> list[str]:
        """Return the runs: `<task>/<method>/seed<k>-<fp>`."""
        found = {(key, name.partition("/")[0]) for key in self.keys(RUNS) for name in self._files(f"{RUNS}/{key}")}
        return sorted(f"{method}/{seed}" for method, seed in found)

    def keys(self, kind: str) -> list[str]:
        """Return the keys of one kind (runs, translations, tasks, studies), without the kind in front."""
        return [key.removeprefix(f"{kind}/") for key in self.archives if key.startswith(f"{kind}/")]

    def path(self, key: str) -> Path:
        """Return an archive by its key."""
        return self.folder / f"{key}.tar.xz"

    def files(self, run: str) -> dict[str, str]:
        """Return name -> sha256 of the files of a run; empty if it is not bundled."""
        found = _of_run(run, self._files(key_of(run)))
        return {
            name: sha256 for name, sha256 in found.items() if KEPT.fullmatch(name)
        }  # older bundles have hidden files

    def _files(self, key: str) -> dict[str, str]:
        return dict(self.archives.get(key, {}).get("files", {}))

    def add(self, runs: Iterable[tuple[str, Path, Collection[str]]]) -> list[str]:
        """Pack folders of runs and list them in the manifest; the same folders give the same bytes.

        A bundled run is replaced only if the folder has all its files, except those left out, and a new or changed one.
        A folder that was itself pulled from a bundle may be of an older one; there only new files count.

        Args:
            runs: of each run its address, its folder, and the names of files that must not be in the bundle.

        Returns:
            The runs that were added or changed.

        Raises:
            DataError: a file of a run was altered since it was written.
        """
        changed: dict[str, dict[str, bytes]] = {}  # run -> its files
        for run, folder, left_out in runs:
            names = sorted(name for path in folder.rglob("*") if KEPT.fullmatch(name := _name(path, folder)))
            kept = [name for name in names if (folder / name).is_file() and name not in left_out]
            known = self.files(run).keys() - set(left_out)
            if not known <= set(kept) or (RunPaths(folder).is_of_bundle and known == set(kept)):
                continue
            contents = _checked(folder, kept)
            if _hashes(contents) != self.files(run):
                changed[run] = contents
        archives: dict[str, dict[str, bytes]] = {}
        for run, contents in changed.items():
            key = key_of(run)
            if key not in archives:
                archives[key] = self.unpack(key) if key in self.archives else {}
            archives[key] = _without(run, archives[key]) | {
                f"{Path(run).name}/{name}": data for name, data in contents.items()
            }
        self._store(archives)
        return list(changed)

    def pack(self, key: str, folder: Path, names: Iterable[str]) -> bool:
        """Pack files of a folder and list them; return whether they differ from what the bundle has under this key.

        Raises:
            DataError: a file was altered since it was written.
        """
        contents = _checked(folder, names)
        if self._files(key) == _hashes(contents):
            return False
        self._store({key: contents})
        return True

    def _store(self, archives: Mapping[str, dict[str, bytes]]) -> None:
        """Write archives with the files that the manifest then lists under their keys; without files, remove them."""
        tables: dict[str, dict[str, bytes]] = {}
        for key, contents in archives.items():
            kind, _, address = key.partition("/")
            own = contents
            if kind == RUNS:
                task, method = address.split("/")
                if task not in tables:
                    tables[task] = dict(self._translations(task))
                others = {name: data for name, data in tables[task].items() if not name.startswith(f"{method}/")}
                moved = {
                    name: data for name, data in contents.items() if side_by_side.is_translation(f"{method}/{name}")
                }
                tables[task] = others | {f"{method}/{name}": data for name, data in moved.items()}
                own = {name: data for name, data in contents.items() if name not in moved}
            self._write(key, own, _hashes(contents))
        for task, files in tables.items():
            if files != self._translations(task):
                made = side_by_side.to_tables(files)
                self._write(f"{TRANSLATIONS}/{task}", made, _hashes(made))
                self._translated[task] = files
        fsio.write_sealed(
            self.folder / MANIFEST, {"archives": dict(sorted(self.archives.items())), "format_version": FORMAT_VERSION}
        )

    def _write(self, key: str, contents: dict[str, bytes], listed: dict[str, str]) -> None:
        path = self.path(key)
        if not listed:
            self.archives.pop(key, None)
            path.unlink(missing_ok=True)
            return
        packed = _packed(contents)
        path.parent.mkdir(parents=True, exist_ok=True)
        fsio.write_bytes(path, packed)
        sha256 = hashlib.sha256(packed).hexdigest()
        self.archives[key] = {"sha256": sha256, "size_bytes": len(packed), "files": listed}

    def drop(self, runs: Collection[str]) -> None:
        """Remove runs; raises as `unpack`."""
        archives = {key: self.unpack(key) for key in dict.fromkeys(map(key_of, runs))}
        for run in runs:
            archives[key_of(run)] = _without(run, archives[key_of(run)])
        self._store(archives)

    def read(self, run: str, wanted: Collection[str] | None = None) -> dict[str, bytes]:
        """Return name -> bytes of a run's files (None: of all); raises as `unpack`, or if the bundle lacks the run."""
        if not self.files(run):
            raise DataError(f"{self.folder / MANIFEST}: has no run {run}; expected one of the {len(self.runs)} listed")
        of_method = None if wanted is None else [f"{Path(run).name}/{name}" for name in wanted]
        found = _of_run(run, self.unpack(key_of(run), of_method))
        return {name: data for name, data in found.items() if KEPT.fullmatch(name)}

    def unpack(self, key: str, wanted: Collection[str] | None = None) -> dict[str, bytes]:
        """Return name -> bytes of the files listed under a key (None: of all), compared with the manifest.

        Raises:
            DataError: the archive or a file in it is missing, or differs from the manifest.
        """
        found, listed = self._read(key), self.archives[key]["files"]
        if wanted is not None:
            found, listed = ({name: files[name] for name in files if name in wanted} for files in (found, listed))
        if key.startswith(f"{RUNS}/") and listed.keys() - found.keys():
            _, task, method = key.split("/")
            translations = {name.removeprefix(f"{method}/"): data for name, data in self._translations(task).items()}
            found |= {name: data for name, data in translations.items() if name in listed}
        if _hashes(found) != listed:
            raise DataError(f"{self.path(key)}: its files are not those of {MANIFEST}; bundle it again")
        for name in found:
            check_name(name, str(self.path(key)))
        return found

    def _translations(self, task: str) -> dict[str, bytes]:
        """Return `<method>/<seed>/...` -> translations of all runs on a task; raises as `unpack`."""
        if task not in self._translated:
            key = f"{TRANSLATIONS}/{task}"
            tables = self.unpack(key) if key in self.archives else {}
            try:
                self._translated[task] = side_by_side.from_tables(tables)
            except ValueError as error:
                raise DataError(f"{self.path(key)}: expected tables of translations; {error}") from None
        return self._translated[task]

    def _read(self, key: str) -> dict[str, bytes]:
        """Return name -> bytes of the files in an archive; raises a DataError if it differs from the manifest."""
        path, said = self.path(key), self.archives.get(key)
        if said is None:
            raise DataError(f"{self.folder / MANIFEST}: has no {key}; expected one of the {len(self.archives)} listed")
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise DataError(f"{path}: no such file, but the manifest lists it; restore it with git") from None
        if hashlib.sha256(data).hexdigest() != said["sha256"]:
            raise DataError(f"{path}: was altered, its sha256 is not that of {MANIFEST}; restore it with git")
        with open_archive(path, UNPACKED_BYTES_MAX) as archive:
            return {name: archive.read(name) for name in archive.names()}

    def restore_all(self, key: str, results: Path) -> None:
        """Write all files of an archive below a folder of results; raises as `unpack`.

        Translations are written with the runs that they belong to.
        """
        if key.startswith(f"{TRANSLATIONS}/"):
            self._translations(key.removeprefix(f"{TRANSLATIONS}/"))
            return
        write_back(self.unpack(key), results / key.removeprefix(f"{STUDIES}/"))


def key_of(run: str) -> str:
    """Return the key of the archive with a run."""
    return f"{RUNS}/{run.rpartition('/')[0]}"


def write_back(contents: Mapping[str, bytes], folder: Path) -> None:
    """Write files, except those that exist with the same bytes."""
    for name, data in sorted(contents.items()):
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            fsio.write_bytes(path, data)


def _name(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _of_run(run: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Return those items of an archive that belong to a run, without the run's folder in front of their names."""
    folder = f"{run.rpartition('/')[2]}/"
    return {name.removeprefix(folder): value for name, value in found.items() if name.startswith(folder)}


def _without(run: str, found: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of an archive that belong to the other runs of the method."""
    return {name: data for name, data in found.items() if not name.startswith(f"{Path(run).name}/")}


def _checked(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    """Return name -> bytes of files of a folder; raises a DataError if one was altered since it was written."""
    contents = {name: (folder / name).read_bytes() for name in sorted(names)}
    if any(name.startswith("code/") for name in contents):
        require_kept(RunPaths(folder).code, fsio.read_json(RunPaths(folder).record)["spec"].get("code", {}))
    for name in (name for name in contents if not name.startswith("code/")):
        path = folder / name
        fsio.read_json(path) if path.suffix == ".json" else fsio.check_listed(path)
    return contents


def _hashes(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}


def _packed(contents: dict[str, bytes]) -> bytes:
    """Return a tar.xz without times, owners or modes; files of the same name lie together, since they are alike."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(contents.items(), key=lambda item: (item[0].partition("/")[2], item[0])):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    # Most of an analysis is arrays of float32: contexts of four bytes (lp, pb) save 6 %.
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 2, "lp": 2, "pb": 2}]
    return lzma.compress(buffer.getvalue(), filters=filters)
