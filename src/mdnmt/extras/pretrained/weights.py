"""The files of pretrained weights in `resources/pretrained`: which they are, and whether a run can use them."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.language_codes import code_of
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import read_json
from mdnmt.paths import TOY, weights_folder

CONFIG, MANIFEST = "config.json", "weights.json"
# What else a repository may have that is read; the rest are the same weights in other formats.
TOKENIZER = (
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json", "target_vocab.json"),
    *("sentencepiece.bpe.model", "source.spm", "target.spm"),
)
# The first format that exists is used; large models are in several files, with an index.
_WEIGHTS = (r"model(-\d+-of-\d+)?\.safetensors(\.index\.json)?", r"pytorch_model(-\d+-of-\d+)?\.bin(\.index\.json)?")
# Width, feed-forward width, layers of encoder and decoder, vocabulary: before config.json is there.
_SIZES = {
    r"m2m100_418M": (1024, 4096, 12, 12, 128_112),
    r"nllb-200-distilled-600M": (1024, 4096, 12, 12, 256_206),
    r"nllb-200-(distilled-)?1\.3B": (1024, 8192, 24, 24, 256_206),
    r"nllb-200-3\.3B": (2048, 8192, 24, 24, 256_206),
    r"opus-mt-\w.*": (512, 2048, 6, 6, 60_000),
}
_MBART50 = (1024, 4096, 12, 12, 250_054)


def folder_of(config: PretrainedConfig, root: Path) -> Path:
    """Return the folder of a model."""
    return weights_folder(config.weights, config.revision, root)


def files_among(names: Iterable[str], where: object) -> list[str]:
    """Return the files to use among those of a model: configuration, tokenizer, and one format of the weights.

    Raises:
        DataError: a part is missing; `where` says of what.
    """
    there = sorted(names)
    if CONFIG not in there:
        raise DataError(f"{where}: has no {CONFIG}")
    for pattern in _WEIGHTS:
        if found := [name for name in there if re.fullmatch(pattern, name)]:
            return [CONFIG, *(name for name in there if name in TOKENIZER), *found]
    raise DataError(f"{where}: has neither model.safetensors nor pytorch_model.bin")


def files_of(folder: Path) -> list[Path]:
    """Return the paths of the files to use; raises as `files_among`."""
    return [folder / name for name in files_among((path.name for path in folder.glob("*")), folder)]


def checksums_of(folder: Path, sha256: Callable[[Path], str] = sha256_file) -> dict[str, str]:
    """Return name -> sha256 of the files to use; raises as `files_among`."""
    return {path.name: sha256(path) for path in files_of(folder)}


def digest_of(checksums: Mapping[str, str]) -> str:
    """Return one sha256 for the files of a model."""
    lines = (f"{name} {sha256}\n" for name, sha256 in checksums.items())
    return hashlib.sha256("".join(lines).encode("ascii")).hexdigest()


def verified_folder(config: PretrainedConfig, root: Path) -> Path:
    """Return the folder of the weights that a run was planned with.

    Raises:
        DataError: they are missing or differ.
    """
    folder = folder_of(config, root)
    fetch = f"`mdnmt fetch-weights {config.weights}{f' --revision {config.revision}' if config.revision else ''}`"
    try:
        recorded, files = read_json(folder / MANIFEST)["files"], checksums_of(folder)
    except (OSError, KeyError, DataError) as error:
        raise DataError(f"{folder}: no complete weights ({error}); get them with {fetch}") from None
    if wrong := sorted({name for name, _ in recorded.items() ^ files.items()}):
        raise DataError(f"{folder / wrong[0]}: differs from {MANIFEST}; remove both and get them with {fetch}")
    found = digest_of(files)
    if config.sha256 not in (None, found):
        raise DataError(
            f"{folder}: has files of sha256 {found[:12]}, but the run was planned with {str(config.sha256)[:12]}; put "
            "those back, or start snakemake again, so that it plans with the weights as they are now"
        )
    return folder


def plan(
    config: PretrainedConfig, root: Path, *, source_lang: str, target_lang: str
) -> tuple[PretrainedConfig, str | None]:
    """Decide, when a study is planned, whether a run with these weights is possible.

    A revision identifies its files, so a run is planned before they are there. Files without a revision are identified
    by their checksums, which are stored beside them, so that only the first plan reads gigabytes.

    Returns:
        The options with the identity of the weights, and None; or the unchanged options and, as one line that begins
        with `needs`, why the run is not possible.
    """
    packages = {"transformers": "workflow", "sentencepiece": "workflow"}
    packages |= {"peft": "pretrained"} if config.use == "lora" else {}
    for package, extra in packages.items():
        if importlib.util.find_spec(package) is None:
            return config, f"needs the Python package {package}: `make setup EXTRAS={extra}`"
    folder = folder_of(config, root)
    try:
        known = read_json(folder / MANIFEST)["languages"]
        for lang in (source_lang, target_lang):
            code_of(lang, known, config.codes, config.weights)
    except ConfigError as error:
        return config, f"needs another language pair: {error}"
    except (OSError, KeyError, TypeError, DataError):
        pass  # the languages are known once the weights are there
    if config.revision or config.weights.startswith(TOY):
        return config, None
    cache = ChecksumCache(root / "sha256.json")
    try:
        found = digest_of(checksums_of(folder, cache.sha256))
    except DataError as error:
        return config, (
            f"needs the weights of {config.weights}: {error}; set `revision` under `architecture` to a commit of "
            f"https://huggingface.co/{config.weights}/commits/main, or put the files there"
        )
    cache.save()
    if config.sha256 not in (None, found):
        return config, f"needs the weights of {config.weights} with sha256 {config.sha256}: {folder} holds {found}"
    return config.model_copy(update={"sha256": found}), None


def sizes(architecture: Mapping[str, Any], root: Path) -> tuple[int, int, int, int, int]:
    """Return width, feed-forward width, layers of encoder and decoder, and vocabulary of a model.

    Before the weights are there, they are those of the model's name, or else of mBART-50.
    """
    config = PretrainedConfig.model_validate(architecture)
    try:
        value = read_json(folder_of(config, root) / CONFIG)
        keys = ("d_model", "encoder_ffn_dim", "encoder_layers", "decoder_layers", "vocab_size")
        width, inner, encoder, decoder, words = (int(value[key]) for key in keys)
    except (OSError, ValueError, KeyError, TypeError, DataError):
        name = config.weights.rpartition("/")[2]
        return next((found for pattern, found in _SIZES.items() if re.fullmatch(pattern, name)), _MBART50)
    return width, inner, encoder, decoder, words
