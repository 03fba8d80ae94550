"""Find and verify the files of a COMET model, and say how to get them. Nothing here downloads or loads a model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mdnmt.config.comet import CometConfig
from mdnmt.errors import DataError
from mdnmt.fingerprint import sha256_file

# Relative to the project's folder; may be a link to a folder that several users share.
COMET = Path("resources/comet")
# The first two are named as on huggingface.co. The encoder's files are separate: a checkpoint only names its encoder.
CHECKPOINT, HPARAMS, ENCODER = "checkpoints/model.ckpt", "hparams.yaml", "encoder"
NEEDED = (CHECKPOINT, HPARAMS, f"{ENCODER}/config.json", f"{ENCODER}/tokenizer.json")
OPTIONAL = (f"{ENCODER}/tokenizer_config.json", f"{ENCODER}/special_tokens_map.json")
# A model with random weights, which `mdnmt comet` makes; its scores only show that the pipeline runs.
TOY = "toy-comet"


def segments_of(scores: str | Path) -> Path:
    """Return the path of the sentence scores that belong to a file of COMET scores."""
    return Path(scores).with_suffix(".segments.json")


@dataclass(frozen=True)
class Release:
    """A published model: its repository and version.

    Attributes:
        repository: its repository on huggingface.co.
        revision: commit in that repository.
        checkpoint_sha256: sha256 of checkpoints/model.ckpt.
        encoder: repository on huggingface.co of the model whose configuration and tokenizer it uses.
        encoder_revision: commit in that repository.
    """

    repository: str
    revision: str
    checkpoint_sha256: str
    encoder: str
    encoder_revision: str


RELEASES = {
    "wmt22-comet-da": Release(
        repository="Unbabel/wmt22-comet-da",
        revision="2760a223ac957f30acfb18c8aa649b01cf1d75f2",
        checkpoint_sha256="e213091cde220f97b89f8bdfa750c458cfea741ad62affb455b59900210ff2af",
        encoder="FacebookAI/xlm-roberta-large",
        encoder_revision="c23d21b0620b635a76227c604d44e43a9f0ee389",
    )
}


@dataclass(frozen=True)
class CometFiles:
    """A model's folder and the identity of its files.

    Attributes:
        folder: contains the files `NEEDED`.
        checkpoint_sha256: sha256 of the weights alone, by which other tools identify a model.
        sha256: sha256 over the names and contents of all files that a score depends on.
    """

    folder: Path
    checkpoint_sha256: str
    sha256: str


def why_missing(root: Path, name: str) -> str | None:
    """Return why a model cannot be used, as one line that begins with `needs` and says how to get it; None if it can.

    Only the existence of the files is checked. The toy is generated when needed, so it is never missing.
    """
    folder = root / name
    absent = [file for file in NEEDED if not (folder / file).is_file()]
    if name == TOY or not absent:
        return None
    return f"needs the weights of {name}: {folder} has no {absent[0]}; {_how_to_get(name, folder)}"


def plan(
    config: CometConfig, root: Path, sha256: Callable[[Path], str] = sha256_file
) -> tuple[CometConfig, str | None]:
    """Decide, when a study is planned, whether its translations can be scored by COMET.

    Args:
        config: the study's options.
        root: folder of the models.
        sha256: computes the sha256 of a file; a cached function avoids reading gigabytes at every plan.

    Returns:
        (options, None) if scores can be computed: the options with the files' sha256, which makes it part of the
        scores' identity; the toy's options are unchanged, because this program determines its bytes. Otherwise the
        unchanged options and the reason, as one line that begins with `needs`.
    """
    if reason := why_missing(root, config.name):
        return config, reason
    if config.name == TOY:
        return config, None
    try:
        found = verified(config, root, sha256)
    except DataError as error:
        return config, f"needs the weights of {config.name}: {error}"
    return config.model_copy(update={"sha256": found.sha256}), None


def verified(config: CometConfig, root: Path, sha256: Callable[[Path], str] = sha256_file) -> CometFiles:
    """Return the files of a model after checking that they are the expected ones.

    Raises:
        DataError: a file is missing or differs.
    """
    folder = root / config.name
    absent = [file for file in NEEDED if not (folder / file).is_file()]
    if absent:
        raise DataError(f"{folder}: has no {absent[0]}; {_how_to_get(config.name, folder)}")
    names = [*NEEDED, *(file for file in OPTIONAL if (folder / file).is_file())]
    sums = {file: sha256(folder / file) for file in names}
    lines = "".join(f"{file} {digest}\n" for file, digest in sums.items())
    found = CometFiles(folder, sums[CHECKPOINT], hashlib.sha256(lines.encode("ascii")).hexdigest())
    release = RELEASES.get(config.name)
    if release is not None and found.checkpoint_sha256 != release.checkpoint_sha256:
        raise DataError(
            f"{folder / CHECKPOINT}: has sha256 {found.checkpoint_sha256[:12]}, but {release.repository} is "
            f"{release.checkpoint_sha256[:12]}; {_how_to_get(config.name, folder)}, or give the folder another name"
        )
    if config.sha256 is not None and config.sha256 != found.sha256:
        raise DataError(
            f"{folder}: holds files of sha256 {found.sha256[:12]}, but the scores are to be of {config.sha256[:12]}; "
            "put those back, or start snakemake again, so that it plans with the model as it is now"
        )
    return found


def _how_to_get(name: str, folder: Path) -> str:
    release = RELEASES.get(name)
    if release is None:
        return (
            f"put {', '.join(NEEDED)} there, the last two from the model that its hparams.yaml calls pretrained_model"
        )
    return (
        f"get them with `hf download {release.repository} --revision {release.revision} --local-dir {folder}` and "
        f"`hf download {release.encoder} config.json tokenizer.json tokenizer_config.json "
        f"--revision {release.encoder_revision} --local-dir {folder / ENCODER}`"
    )
