"""A finished run, ready to translate text."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mdnmt.checkpoints.weights import load_model
from mdnmt.config.decoding import Decoding, Split, Weights
from mdnmt.config.loader import validate_model
from mdnmt.config.run import RunSpec
from mdnmt.decode.batching import translate_ids
from mdnmt.decode.forced_decoding import decoder_states, force_decode
from mdnmt.decode.labels import label_of
from mdnmt.decode.likelihood import Likelihood
from mdnmt.decode.low_precision import prepare_for_decoding, require_support
from mdnmt.errors import ConfigError, DataError
from mdnmt.fsio import read_json
from mdnmt.methods import build, pretrained, validate
from mdnmt.methods.method import VocabSizes
from mdnmt.models.transformer import Transformer
from mdnmt.paths import PRETRAINED, RunPaths
from mdnmt.tasks.segmentation.segmenter import NoDomainError, Segmentation, Segmenter, plain_text
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import TaskData


@dataclass(frozen=True)
class Translation:
    """A translation as plain text, its BPE tokens (`pieces`) and its score (log-probability / length penalty)."""

    text: str
    pieces: tuple[str, ...]
    score: float


class Translator:
    """Translates plain text with the weights of a finished run; it needs only the run's own directory."""

    def __init__(
        self, run_folder: Path, device: torch.device, weights: Weights = "final", labelled: bool = True
    ) -> None:
        """Load a finished run with its final weights, or with its alternative ones (`Decoding.weights`).

        Args:
            run_folder: the run's folder.
            device: where to translate.
            weights: which weights.
            labelled: the domain of each sentence will be given. If not, a run that needs it is refused before its
                weights are read.

        Raises:
            ConfigError: the run needs the domain of each sentence, which will not be given.
            DataError: the run is not finished, or its files are damaged.
            CheckpointError: its weights are damaged.
        """
        paths = RunPaths(run_folder)
        record, spec = read_record(paths.record)
        self.device = device
        self.domains: tuple[str, ...] = tuple(record["domains"])
        self.source_lang, self.target_lang = str(record["source_lang"]), str(record["target_lang"])
        self.source_vocab = Vocab.load(paths.segmentation / f"vocab.{self.source_lang}.txt")
        self.target_vocab = Vocab.load(paths.segmentation / f"vocab.{self.target_lang}.txt")
        self._segmentation = paths.segmentation
        segmentation = Segmentation.load(paths.segmentation)
        self._target_tokenizer = segmentation.tokenizer(self.target_lang)
        architecture = validate(spec.builder, spec.architecture, where=str(paths.record), code=spec.code)
        joint = self.source_vocab.tokens == self.target_vocab.tokens
        sizes = VocabSizes(len(self.source_vocab), len(self.target_vocab), joint)
        method = build(spec.builder, architecture, sizes, len(self.domains))
        self.model: Transformer = method.model
        self.needs_domain = method.needs_domain
        if not labelled and (self.needs_domain or segmentation.bpe == "domain"):
            raise self._no_domain()
        try:
            self.model.load_state_dict(load_model(*weights_of(record, paths, weights)))
        except RuntimeError as error:
            reason = " ".join(str(error).split()[:30])
            raise DataError(
                f"{paths.model}: are not the weights that {paths.record.name} describes ({reason})"
            ) from None
        self.model.to(device).eval()
        # Cached per precision: rounding all weights again for a few lines would take longer than translating them.
        self._prepared = cache(lambda precision: prepare_for_decoding(self.model, precision))

    def with_model(self, model: Transformer, *more_domains: str) -> Translator:
        """Return a translator of another model with these vocabularies; `more_domains` get the next free labels."""
        other = copy.copy(self)
        other.model, other.domains = model, (*self.domains, *more_domains)
        other._prepared = cache(lambda precision: prepare_for_decoding(model, precision))
        return other

    @cached_property
    def _segmenter(self) -> Callable[[str | None], Segmenter]:
        # Loaded only when there is text to segment: binarised sentences need neither it nor its packages.
        return cache(lambda domain: Segmenter.load(self._segmentation, self.source_lang, domain))

    @property
    def vocabulary(self) -> str:
        """Return a short name of the target vocabulary: its size and sha256."""
        pieces = self.target_vocab.tokens
        return f"{len(pieces)}-{hashlib.sha256(chr(10).join(pieces).encode()).hexdigest()[:12]}"

    def label(self, domain: str) -> int:
        """Return the label of a domain.

        Raises:
            ConfigError: the run has no such domain.
        """
        return label_of(domain, self.domains)

    def translate(
        self, lines: Sequence[str], config: Decoding, domain: str | Sequence[str] | None = None, first_line: int = 1
    ) -> list[list[Translation]]:
        """Return the translations of each line, best first; an empty line has a single, empty translation.

        `domain` is the domain of all lines, or a sequence with the domain of each line.

        Raises:
            DataError: a line has more tokens than the model has positions.
            ConfigError: a package for segmentation is missing, the run has no such domain, or it needs a domain.
        """
        return self.translate_ids(self.encode(lines, domain), config, domain, first_line)

    def encode(self, lines: Sequence[str], domain: str | Sequence[str] | None = None) -> list[NDArray[np.int32]]:
        """Return the ids of each line, ended by </s>; `domain` as in `translate`.

        Raises:
            ConfigError: a package for segmentation is missing, the run has no such domain, or its segmentation depends
                on the domain and none is given.
        """
        vocab = self.source_vocab
        domains = [domain] * len(lines) if domain is None or isinstance(domain, str) else domain
        for name in set(domains) - {None}:
            self.label(str(name))
        try:
            pieces = [self._segmenter(name).encode(line) for line, name in zip(lines, domains, strict=True)]
        except NoDomainError:
            raise self._no_domain() from None
        return [np.array([*vocab.encode(sentence), vocab.eos], dtype=np.int32) for sentence in pieces]

    def translate_ids(
        self,
        sources: Sequence[NDArray[np.int32]],
        config: Decoding,
        domain: str | Sequence[str] | None = None,
        first_line: int = 1,
    ) -> list[list[Translation]]:
        """Return the same as `translate` for binarised sentences: ids of the run's vocabulary, ended by </s>.

        Raises:
            DataError: a sentence has more tokens than the model has positions.
            ConfigError: the detokeniser's package is missing, the run has no such domain, or it needs a domain.
        """
        self._domain_is_there(domain, config)
        # A missing package for detokenisation raises here, not after a long search.
        plain_text(["a"], self.target_lang, self._target_tokenizer)
        longest = self.model.max_source_length - 1
        for number, source in enumerate(sources, start=first_line):
            pieces = len(source) - 1
            if pieces > longest:
                raise DataError(f"line {number}: has {pieces} pieces, the model takes {longest}; split the line")
        filled = [number for number, source in enumerate(sources) if len(source) > 1]
        ids = [sources[number] for number in filled]
        labels = self._labels(domain, filled)
        results = [[Translation("", (), 0.0)] for _ in sources]
        found_by_line = translate_ids(self._prepared(config.precision), ids, config, device=self.device, domains=labels)
        for number, found in zip(filled, found_by_line, strict=True):
            results[number] = [self._plain(best.ids, best.score) for best in found[: config.nbest]]
        return results

    def force_ids(
        self,
        sources: Sequence[NDArray[np.int32]],
        targets: Sequence[NDArray[np.int32]],
        config: Decoding,
        domain: str | Sequence[str] | None = None,
    ) -> Likelihood:
        """Return the likelihood of binarised references; `domain` as in `translate`.

        Raises:
            ConfigError: the run has no such domain, or it needs a domain.
        """
        self._domain_is_there(domain, config)
        return force_decode(
            decoder_states(self.model, self._labels(domain, list(range(len(sources))))),
            self.model.output_weight,
            sources,
            targets,
            start=Vocab.bos,
            pad=Vocab.pad,
            max_source=self.model.max_source_length,
            max_target=self.model.max_target_length,
            batch_tokens=config.batch_tokens,
        )

    def _domain_is_there(self, domain: str | Sequence[str] | None, config: Decoding) -> None:
        # Under the label condition `missing` the label is left out on purpose; otherwise it was forgotten.
        if domain is None and self.needs_domain and config.labels != "missing":
            raise self._no_domain()

    def _no_domain(self) -> ConfigError:
        return ConfigError(
            "this run needs the text's domain; choose one (in a command: --domain, --domains or --predict-domain): "
            f"{', '.join(self.domains)}"
        )

    def _labels(self, domain: str | Sequence[str] | None, chosen: list[int]) -> Tensor | None:
        if domain is None or isinstance(domain, str):
            return torch.full((len(chosen),), self.label(domain)) if domain is not None else None
        return torch.tensor([self.label(domain[number]) for number in chosen], dtype=torch.long)

    def _plain(self, ids: Sequence[int], score: float) -> Translation:
        pieces = tuple(self.target_vocab.decode(ids))
        return Translation(plain_text(pieces, self.target_lang, self._target_tokenizer), pieces, score)


class PretrainedTranslator(Protocol):
    """A translator of a pretrained model, which segments text itself."""

    domains: tuple[str, ...]
    source_lang: str
    target_lang: str
    vocabulary: str

    def translate(
        self, lines: Sequence[str], config: Decoding, domain: str | Sequence[str] | None = None, first_line: int = 1
    ) -> list[list[Translation]]:
        """Return the translations of each line, best first; an empty line has one, which is empty."""

    def translate_split(self, data: TaskData, split: Split, config: Decoding, domain: str) -> list[list[Translation]]:
        """Return the translations of a domain's test or validation sentences."""

    def force_split(self, data: TaskData, split: Split, config: Decoding, domain: str) -> Likelihood:
        """Return how well a domain's references are predicted."""


def open_run(
    run_folder: Path,
    device: torch.device,
    root: Path = PRETRAINED,
    weights: Weights = "final",
    labelled: bool = True,
) -> Translator | PretrainedTranslator:
    """Return the translator of a finished run of any builder; `labelled` as for `Translator`.

    Raises:
        MdnmtError: the run is not finished, or its files or weights are missing or damaged.
    """
    try:
        module = pretrained(read_json(RunPaths(run_folder).record)["spec"]["builder"])
    except (OSError, ValueError, KeyError, TypeError):
        module = None  # the translator says what is wrong
    if module is None:
        return Translator(run_folder, device, weights, labelled)
    found: PretrainedTranslator = module.open_run(run_folder, device, root, weights)
    return found


def require_precision(translator: object, config: Decoding) -> None:
    """Check that a translator supports the requested precision and form of length penalty.

    Raises:
        ConfigError: the weights are pretrained and do not support them, or the device does not support the precision.
    """
    if config.length_penalty_form != "power" and not isinstance(translator, Translator):
        raise ConfigError(
            f"found length_penalty_form {config.length_penalty_form} for pretrained weights, expected power: set that"
        )
    if config.precision == "int8" and not isinstance(translator, Translator):
        raise ConfigError("found precision int8 for pretrained weights, expected fp32 or bf16: set one of them")
    if isinstance(translator, Translator):
        require_support(config.precision, translator.device)


def weights_of(record: dict[str, Any], paths: RunPaths, weights: Weights) -> tuple[Path, str]:
    """Return the file of a run's weights and its sha256; if final and alternative weights are equal, it is one file."""
    if weights == "alternative" and "alternative_sha256" in record:
        return paths.alternative, str(record["alternative_sha256"])
    return paths.model, str(record["model_sha256"])


def read_record(path: Path) -> tuple[dict[str, Any], RunSpec]:
    """Return the content of run.json, and the spec of its run.

    Raises:
        DataError: the file is missing or damaged.
        ConfigError: another version of mdnmt wrote it.
    """
    try:
        record: dict[str, Any] = read_json(path)
    except FileNotFoundError:
        if RunPaths(path.parent).model.exists():
            raise DataError(
                f"{path}: missing, though {RunPaths(path.parent).model.name} is there; the snakemake command that "
                "trained this run writes it again from the last checkpoint"
            ) from None
        inside = [
            str(found.parent) for depth in ("*", "*/*", "*/*/*") for found in path.parent.glob(f"{depth}/run.json")
        ]
        hint = f"name a run in it, such as {min(inside)}" if inside else "train it to its end first"
        raise DataError(f"{path}: missing: no finished run is there; {hint}") from None
    except (OSError, ValueError) as error:  # ValueError: the path contains a null byte
        raise DataError(f"{path}: cannot be read ({error})") from None
    keys = ("spec", "domains", "source_lang", "target_lang", "model_sha256")
    if not isinstance(record, dict) or any(key not in record for key in keys):
        raise DataError(f"{path}: is not what `mdnmt train` writes, which has {', '.join(keys)}; train the run again")
    try:
        return record, validate_model(record["spec"], RunSpec, f"{path}: spec")
    except ConfigError as error:
        raise ConfigError(f"{error}; it was written by another version of mdnmt: use that, or train again") from None
