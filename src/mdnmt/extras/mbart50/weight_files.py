"""Pretrained weights: their folder, their files and how to get them. Nothing here downloads anything."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable
from pathlib import Path

from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.mbart50.config import Mbart50Config, language_codes
from mdnmt.fingerprint import sha256_file
from mdnmt.paths import TOY

CONFIG, PIECES = "config.json", "sentencepiece.bpe.model"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that exists is used
PACKAGES = ("transformers", "sentencepiece")


def folder_of(weights: str, root: Path) -> Path:
    """Return the folder of a model: its name on huggingface.co without the slash."""
    return root / weights.replace("/", "--")


def files_of(folder: Path) -> tuple[Path, Path, Path]:
    """Return the paths of configuration, pieces and weights.

    Raises:
        DataError: one is missing.
    """
    for name in (CONFIG, PIECES):
        if not (folder / name).is_file():
            raise DataError(f"{folder}: has no {name}")
    found = [folder / name for name in WEIGHTS if (folder / name).is_file()]
    if not found:
        raise DataError(f"{folder}: has neither {' nor '.join(WEIGHTS)}")
    return folder / CONFIG, folder / PIECES, found[0]


def digest_of(folder: Path, sha256: Callable[[Path], str] = sha256_file) -> str:
    """Return one sha256 for the files of a model, over the name and sha256 of each file.

    Raises:
        DataError: a file is missing.
    """
    lines = [f"{path.name} {sha256(path)}\n" for path in files_of(folder)]
    return hashlib.sha256("".join(lines).encode("ascii")).hexdigest()


def verified_folder(config: Mbart50Config, root: Path) -> Path:
    """Return the folder of the weights that a run was planned with.

    Raises:
        DataError: they are missing or differ.
    """
    folder = folder_of(config.weights, root)
    try:
        found = digest_of(folder)
    except DataError as error:
        raise DataError(f"{error}; {_how_to_get(config, folder)}") from None
    if config.sha256 is not None and found != config.sha256:
        raise DataError(
            f"{folder}: has files of sha256 {found[:12]}, but the run was planned with {config.sha256[:12]}; put those "
            "back, or start snakemake again, so that it plans with the weights as they are now"
        )
    return folder


def plan(config: Mbart50Config, root: Path, *, source_lang: str, target_lang: str) -> tuple[Mbart50Config, str | None]:
    """Decide, when a study is planned, whether a run with these weights is possible.

    The checksums are stored beside the files, so that only the first plan reads gigabytes.

    Returns:
        The options with the files' sha256, which makes them part of the run's identity, and None; or the unchanged
        options and, as one line that begins with `needs`, why the run is not possible.
    """
    try:
        language_codes(config, source_lang, target_lang)
    except ConfigError as error:
        return config, f"needs another language pair: {error}"
    absent = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
    if absent:
        return config, f"needs the Python package {absent[0]}: `python -m pip install {' '.join(PACKAGES)}`"
    if config.weights.startswith(TOY):
        return config, None  # generated when needed, always with the same bytes
    folder, cache = folder_of(config.weights, root), ChecksumCache(root / "sha256.json")
    try:
        found = digest_of(folder, cache.sha256)
    except DataError as error:
        return config, f"needs the weights of {config.weights}: {error}; {_how_to_get(config, folder)}"
    cache.save()
    if config.sha256 not in (None, found):
        return config, f"needs the weights of {config.weights} with sha256 {config.sha256}: {folder} holds {found}"
    return config.model_copy(update={"sha256": found}), None


def _how_to_get(config: Mbart50Config, folder: Path) -> str:
    # The repository also has the same weights in other formats, several gigabytes each.
    return f"get them with `hf download {config.weights} --exclude '*.h5' '*.msgpack' '*.ot' --local-dir {folder}`"
