"""Download a model's files from the Hugging Face hub at a commit, compare them with the lock, and list them."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mdnmt.config.corpus_source import FileName
from mdnmt.corpora.corpus_lock import LOCK, OWN_LOCK, LockRow, add_rows, read_lock
from mdnmt.errors import FetchError
from mdnmt.extras.pretrained.tokenizer import language_tokens, load_tokenizer
from mdnmt.extras.pretrained.weights import MANIFEST, checksums_of, files_among
from mdnmt.fsio import write_sealed
from mdnmt.machine import require_space

PAUSES_S = (1.0, 3.0, 9.0)  # before another attempt; each resumes where the last one ended


def download(
    weights: str, revision: str, folder: Path, config_folder: Path, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Download what is missing in a folder, and compare all files with the hub's checksums and with the lock.

    Args:
        weights: the model's name.
        revision: the commit.
        folder: of the weights.
        config_folder: of the locks, which get a row for each file of a first download.
        sleep: waits for a number of seconds.

    Raises:
        FetchError: the hub cannot be reached, lacks the commit, or a file differs; that file is removed.
    """
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
    from requests import RequestException

    what = f"{weights} at {revision}"
    for pause in (*PAUSES_S, None):
        try:
            api: Any = HfApi()
            listed = api.model_info(weights, revision=revision, files_metadata=True).siblings or []
            known = {one.rfilename: one for one in listed}
            names = files_among(known, what)
            there = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            require_space(folder / MANIFEST, sum(known[name].size or 0 for name in names) - there, "the weights")
            snapshot_download(weights, revision=revision, local_dir=folder, allow_patterns=names)
            break
        except (RepositoryNotFoundError, RevisionNotFoundError) as error:
            raise FetchError(f"{what}: {_line(error)}; correct `weights` or `revision`") from None
        except (OSError, RequestException) as error:  # the hub's other errors are OSErrors
            if pause is None:
                said = "start again, which resumes the download"
                raise FetchError(f"{what}: cannot be downloaded ({_line(error)}); {said}") from None
            sleep(pause)
    rows = _verified(what, folder, known, read_lock(config_folder).corpora.get(lock_name(weights, revision), ()))
    add_rows(config_folder, lock_name(weights, revision), rows)


def lock_name(weights: str, revision: str) -> str:
    """Return the name of a model in the lock of the corpora."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in weights.lower())
    return f"{plain}-{revision[:8]}"


def _verified(what: str, folder: Path, known: dict[str, Any], locked: tuple[LockRow, ...]) -> dict[str, LockRow]:
    from huggingface_hub.utils.sha import git_hash

    rows: dict[FileName, LockRow] = {}
    expected, today = {row.file: row.sha256 for row in locked}, datetime.datetime.now(datetime.UTC).date()
    for name, sha256 in checksums_of(folder).items():
        path, of_hub = folder / name, known[name]
        # Large files are stored by their sha256, the others are blobs of git.
        found, said = (sha256, of_hub.lfs.sha256) if of_hub.lfs else (git_hash(path.read_bytes()), of_hub.blob_id)
        for place, own, other in (
            ("the hub", found, said),
            (f"{LOCK} or {OWN_LOCK}", sha256, expected.get(name, sha256)),
        ):
            if own != other:
                path.unlink()
                raise FetchError(
                    f"{what}: {name} has checksum {own}, {place} says {other}; it was removed: start again"
                )
        rows[name] = LockRow(file=name, size_bytes=path.stat().st_size, sha256=sha256, origin=what, date=today)
    return rows


def list_files(folder: Path) -> list[str]:
    """Write the manifest of a folder of weights, without which no run uses it, and return the model's languages.

    Raises:
        DataError: a file is missing, or its tokenizer cannot be loaded.
    """
    languages = list(language_tokens(load_tokenizer(folder)))
    write_sealed(folder / MANIFEST, {"files": checksums_of(folder), "languages": languages})
    return languages


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
