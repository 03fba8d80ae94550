"""Import a fairseq checkpoint as a finished run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mdnmt import fsio, provenance
from mdnmt.checkpoints.weights import save_model
from mdnmt.config.loader import NAME_PATTERN, NAME_RULE
from mdnmt.config.run import RunSpec
from mdnmt.config.task import RESERVED
from mdnmt.config.training import Training
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import ConfigError, DamagedTask, DataError
from mdnmt.extras.fairseq.checkpoint_file import FairseqCheckpoint
from mdnmt.extras.fairseq.dictionary import read_dictionary, read_foreign_text
from mdnmt.extras.fairseq.options import FairseqModel, read_options
from mdnmt.extras.fairseq.parameters import convert
from mdnmt.fingerprint import sha256_file
from mdnmt.languages import PATTERN
from mdnmt.methods import build
from mdnmt.methods.method import VocabSizes
from mdnmt.paths import RunPaths, address
from mdnmt.tasks.segmentation.bpe import Bpe
from mdnmt.tasks.segmentation.segmenter import CODES, Segmentation, segmentation_files

GENERAL = ("general",)  # the domain of a model without domains


def import_run(
    checkpoint_path: Path,
    dictionaries: tuple[Path, Path],
    out: Path,
    *,
    bpe_codes: Mapping[str, Path],
    tokenizer: str = "moses",
    domains: Sequence[str] = (),
    languages: tuple[str | None, str | None] = (None, None),
) -> None:
    """Write the model of a checkpoint to the new folder `out`, which appears only when it is complete.

    Args:
        checkpoint_path: the checkpoint that fairseq saved.
        dictionaries: fairseq's dictionaries of source and target.
        out: the run's folder.
        bpe_codes: "" -> codes for both languages, or language -> its codes, or domain -> its codes; empty: words stay
            whole.
        tokenizer: the tokenizer of both languages.
        domains: names in the order of fairseq's labels; not needed for a plain Transformer.
        languages: source and target language; None: taken from the checkpoint or the dictionary's name.

    Raises:
        CheckpointError: the checkpoint cannot be read safely.
        ConfigError: its model is not supported, or the arguments do not fit it.
        DataError: a dictionary, codes or parameters are damaged or do not fit each other.
    """
    if out.is_symlink() or (out.exists() and not out.is_dir()) or (out.is_dir() and any(out.iterdir())):
        raise ConfigError(f"{out}: exists and is not an empty folder; name a new folder")
    if address(RunPaths(out).record):
        raise ConfigError(f"{out}: is the place of a study's run, which this is not; name a folder elsewhere")
    checkpoint = FairseqCheckpoint.load(checkpoint_path)
    model = read_options(checkpoint.options, checkpoint.path)
    named = _domains(model, tuple(domains), checkpoint.path)
    langs = _languages(checkpoint, languages, dictionaries)
    source, target = (read_dictionary(path) for path in dictionaries)
    weights = convert(checkpoint.weights, model, source, target, checkpoint.path)
    method = build(model.builder, model.architecture, VocabSizes(len(source), len(target), joint=False), len(named))
    method.model.load_state_dict(weights)
    spec = RunSpec(
        task_fingerprint=f"fairseq-{checkpoint.sha256}",  # no task has such a hash, so no study has such a run
        builder=model.builder,
        architecture=model.architecture.model_dump(mode="json"),
        training=Training(),
        domains=named,
        seed=0,
    )
    with partial_folder(out) as part:
        paths = RunPaths(part / "run")
        paths.segmentation.mkdir(parents=True)
        how = Segmentation(_copy_codes(bpe_codes, langs, named, paths.segmentation), dict.fromkeys(langs, tokenizer))
        how.save(paths.segmentation)
        for lang, vocab in zip(langs, (source, target), strict=True):
            vocab.save(paths.segmentation / f"vocab.{lang}.txt")
        fsio.write_sums(paths.segmentation, segmentation_files(paths.segmentation, langs))
        save_model(paths.model, method.model.state_dict(), {"run": spec.fingerprint})
        fsio.write_sealed(paths.record, _record(checkpoint, spec, langs, dictionaries, paths, weights))
        if out.is_dir():
            out.rmdir()
        paths.folder.rename(out)
    fsio.sync_directory(out.parent)


def _domains(model: FairseqModel, domains: tuple[str, ...], path: Path) -> tuple[str, ...]:
    if bad := [name for name in domains if not NAME_PATTERN.fullmatch(name) or name in RESERVED]:
        reserved = f", none of {', '.join(RESERVED)}"
        raise ConfigError(f"--domains: {bad[0]!r} is not a valid name; expected {NAME_RULE}{reserved}")
    if len(set(domains)) != len(domains):
        raise ConfigError("--domains: found a name twice, expected each once")
    if model.num_domains is None:
        return domains or GENERAL
    if len(domains) != model.num_domains:
        raise ConfigError(
            f"{path}: mixes {model.num_domains} domains, but --domains names {len(domains)}; name them in the order of "
            "fairseq's labels, that of --trainpref"
        )
    return domains


def _languages(
    checkpoint: FairseqCheckpoint, given: tuple[str | None, str | None], dictionaries: tuple[Path, Path]
) -> tuple[str, str]:
    """Return the given languages, or those of the checkpoint, or those in the dictionaries' names."""
    found = []
    for one, side, dictionary in zip(given, ("source", "target"), dictionaries, strict=True):
        named = re.fullmatch(r"dict\.([\w-]+)\.txt", dictionary.name)
        lang = one or checkpoint.options.get(f"{side}_lang") or (named[1] if named else None)
        if not isinstance(lang, str) or not re.fullmatch(PATTERN, lang):
            raise ConfigError(f"{checkpoint.path}: its {side} language is {lang!r}; give --{side}-lang, such as en")
        found.append(lang)
    source, target = found
    if source == target:
        raise ConfigError(f"{checkpoint.path}: source and target language are both {source!r}; expected two")
    return source, target


def _copy_codes(codes: Mapping[str, Path], langs: tuple[str, str], domains: tuple[str, ...], folder: Path) -> str:
    """Copy the BPE codes and return their kind, a value of `Segmentation.bpe`."""
    kinds: dict[str, set[str]] = {"none": set(), "joint": {""}, "side": set(langs), "domain": set(domains)}
    kind = next((kind for kind, names in kinds.items() if names == set(codes)), None)
    if kind is None:
        raise ConfigError(
            f"--bpe-codes: found codes for {', '.join(name or 'everything' for name in codes)}; expected one FILE, or "
            f"LANG=FILE for {' and '.join(langs)}, or DOMAIN=FILE for {', '.join(domains)}"
        )
    for name, path in codes.items():
        fsio.write_text(folder / (f"codes.{name}.bpe" if name else CODES), _read_codes(path))
    return kind


def _read_codes(path: Path) -> str:
    """Return codes as `Bpe` takes them; line ends and blanks at the ends of lines mean nothing to subword-nmt.

    Raises:
        DataError: they are not codes of subword-nmt.
    """
    lines = [line.strip(" ") for line in read_foreign_text(path).rstrip("\n ").split("\n")]
    if lines[0] != "#version: 0.2":
        raise DataError(f"{path}:1: found {lines[0][:80]!r}, expected '#version: 0.2', as in codes of subword-nmt")
    codes = "\n".join(lines) + "\n"
    try:
        Bpe(codes)
    except DamagedTask as error:
        # The file is the user's: nothing is to be removed.
        raise DataError(f"{path}{str(error).removeprefix('codes.bpe').rpartition(';')[0]}") from None
    return codes


def _record(
    checkpoint: FairseqCheckpoint,
    spec: RunSpec,
    langs: tuple[str, str],
    dictionaries: tuple[Path, Path],
    paths: RunPaths,
    weights: Mapping[str, Any],
) -> dict[str, Any]:
    """Return run.json with what translation needs; fields that only our own training could fill are left out."""
    return {
        "imported": {
            "from": "fairseq",
            "checkpoint": checkpoint.path.name,
            "sha256": checkpoint.sha256,
            "architecture": str(checkpoint.options.get("arch", "")),
            "updates": checkpoint.updates,
            "dictionaries": {path.name: sha256_file(path) for path in dictionaries},
        },
        "fingerprint": spec.fingerprint,
        "spec": spec.model_dump(mode="json"),
        "domains": list(spec.domains),
        "source_lang": langs[0],
        "target_lang": langs[1],
        "num_parameters": sum(tensor.numel() for tensor in weights.values()),
        "model_sha256": sha256_file(paths.model),
        "provenance": provenance.collect(),
    }
