"""Translate with a run of a pretrained model, through transformers' own `generate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from mdnmt.config.decoding import Decoding, Split, Weights
from mdnmt.decode.batching import length_batches
from mdnmt.decode.forced_decoding import force_decode
from mdnmt.decode.labels import label_of
from mdnmt.decode.likelihood import Likelihood
from mdnmt.decode.translator import Translation, read_record, weights_of
from mdnmt.errors import DataError
from mdnmt.extras.pretrained.config import validate
from mdnmt.extras.pretrained.model import load_pretrained, load_trained
from mdnmt.extras.pretrained.run import tokenizer_of
from mdnmt.extras.pretrained.weights import TOKENIZER, digest_of, verified_folder
from mdnmt.fsio import SUMS, check_listed, read_json
from mdnmt.paths import PRETRAINED, RunPaths
from mdnmt.tasks.task_data import TaskData


class PretrainedTranslator:
    """Translates plain text; a fine-tuned run needs only its own folder, all others also the pretrained weights."""

    def __init__(
        self, run_folder: Path, device: torch.device, root: Path = PRETRAINED, weights: Weights = "final"
    ) -> None:
        """Load a finished run.

        Raises:
            DataError: the run or its weights are incomplete.
            CheckpointError: its weights are damaged.
        """
        from transformers import GenerationConfig

        paths = RunPaths(run_folder)
        record, spec = read_record(paths.record)
        config = validate(spec.architecture, where=str(paths.record))
        self.device = device
        self.domains: tuple[str, ...] = tuple(record["domains"])
        self.source_lang, self.target_lang = str(record["source_lang"]), str(record["target_lang"])
        kept = paths.segmentation
        files: dict[str, str] = read_json(kept / SUMS)
        for name in files:
            check_listed(kept / name)
        self.tokenizer = tokenizer_of(config, kept, self.source_lang, self.target_lang)
        self.vocabulary = (
            f"{len(self.tokenizer)}-{digest_of({name: files[name] for name in TOKENIZER if name in files})[:12]}"
        )
        if config.use == "zero-shot":
            self.model = load_pretrained(verified_folder(config, root), config)
        else:
            folder = verified_folder(config, root) if config.use == "lora" else kept
            self.model = load_trained(folder, config, *weights_of(record, paths, weights))
        self.model.to(device).eval()
        self.weight_VD = self.model.output_weight.detach()
        # Search options in the files of the weights must not silently change a result.
        self.model.net.generation_config = GenerationConfig(  # type: ignore[no-untyped-call]
            pad_token_id=self.tokenizer.pad,
            eos_token_id=self.tokenizer.eos,
            decoder_start_token_id=self.tokenizer.start,
            forced_bos_token_id=self.tokenizer.target_code_id,
            forced_eos_token_id=self.tokenizer.eos,
            # Marian begins with padding, and must not go on with it (its own `bad_words_ids`).
            suppress_tokens=None if self.tokenizer.given else [self.tokenizer.pad],
        )

    def label(self, domain: str) -> int:
        """Return the label of a domain, which no pretrained model uses.

        Raises:
            ConfigError: the run knows no such domain.
        """
        return label_of(domain, self.domains)

    def translate_split(self, data: TaskData, split: Split, config: Decoding, domain: str) -> list[list[Translation]]:
        """Return the translations of a domain's test or validation sentences.

        Raises:
            DataError: the task has other languages, or a line is too long.
        """
        self._check_languages(data)
        return self.translate(data.text(split, domain, data.source_lang)[: config.max_sentences], config)

    def force_split(self, data: TaskData, split: Split, config: Decoding, domain: str) -> Likelihood:
        """Return how well a domain's references are predicted, not counting a language code, which is given.

        Raises:
            DataError: the task has other languages.
        """
        self._check_languages(data)
        sources, targets = (
            self.tokenizer.encode(data.text(split, domain, lang)[: config.max_sentences], target=is_target)
            for lang, is_target in ((data.source_lang, False), (data.target_lang, True))
        )
        model = self.model

        def states(source_BS: Tensor, mask_BS: Tensor, target_BT: Tensor, numbers: list[int]) -> Tensor:
            return model.states(source_BS, mask_BS, target_BT)

        return force_decode(
            states,
            self.weight_VD,
            sources,
            targets,
            start=self.tokenizer.start,
            pad=self.tokenizer.pad,
            max_source=model.max_source_length,
            max_target=model.max_target_length,
            batch_tokens=config.batch_tokens,
            given=self.tokenizer.given,
        )

    def _check_languages(self, data: TaskData) -> None:
        if (data.source_lang, data.target_lang) != (self.source_lang, self.target_lang):
            raise DataError(
                f"{data.folder}: is {data.source_lang} to {data.target_lang}, but the run translates "
                f"{self.source_lang} to {self.target_lang}; give the task of the run"
            )

    def translate(
        self, lines: Sequence[str], config: Decoding, domain: str | Sequence[str] | None = None, first_line: int = 1
    ) -> list[list[Translation]]:
        """Return the translations of each line, best first; an empty line has one, which is empty.

        The length limit depends on the longest line of a batch, so batching can change an output that reaches the
        limit.

        Raises:
            DataError: a line has more pieces than the model has positions.
        """
        sources = self.tokenizer.encode(lines)
        for number, source in enumerate(sources, start=first_line):
            if len(source) > self.model.max_source_length:
                raise DataError(
                    f"line {number}: has {len(source)} pieces with its ends, the model takes "
                    f"{self.model.max_source_length}; split the line"
                )
        results = [[Translation("", (), 0.0)] for _ in sources]
        filled = [number for number, source in enumerate(sources) if not self.tokenizer.is_empty(source)]
        for batch in length_batches([len(sources[number]) for number in filled], config.batch_tokens):
            numbers = [filled[index] for index in batch]
            with torch.autocast(self.device.type, torch.bfloat16, enabled=config.precision == "bf16"):
                found = self._generate([sources[number] for number in numbers], config)
            for number, best in zip(numbers, found, strict=True):
                results[number] = best
        return results

    @torch.inference_mode()
    def _generate(self, sources: Sequence[NDArray[np.int32]], config: Decoding) -> list[list[Translation]]:
        rows = [torch.from_numpy(source).long() for source in sources]
        ids_BS = pad_sequence(rows, batch_first=True, padding_value=self.tokenizer.pad).to(self.device)
        mask_BS = ids_BS != self.tokenizer.pad
        bound = int(config.max_length_ratio * ids_BS.shape[1]) + config.max_length_extra
        found_PT: Tensor = self.model.net.generate(
            input_ids=ids_BS,
            attention_mask=mask_BS.long(),
            num_beams=config.beam_size,
            num_return_sequences=config.nbest,
            length_penalty=config.length_penalty if config.beam_size > 1 else None,
            early_stopping=config.beam_size > 1,
            # The start symbol comes before the new tokens; both have positions.
            max_new_tokens=min(bound, self.model.max_target_length - 1),
        )
        each = config.nbest
        scores = self._scores(ids_BS.repeat_interleave(each, 0), mask_BS.repeat_interleave(each, 0), found_PT, config)
        found = [self._plain(row, score) for row, score in zip(found_PT.tolist(), scores, strict=True)]
        return [found[start : start + each] for start in range(0, len(found), each)]

    def _scores(self, ids_PS: Tensor, mask_PS: Tensor, found_PT: Tensor, config: Decoding) -> list[float]:
        """Return the scores of the search: log-probability without the language code, divided by length ** penalty."""
        states_PTD = self.model.states(ids_PS, mask_PS, found_PT[:, :-1])
        scores = []
        # One hypothesis at a time: the logits of a batch over 250,000 tokens would not fit in memory.
        for states_TD, found_T in zip(states_PTD, found_PT[:, 1:], strict=True):
            words = self._length(found_T.tolist())
            log_p_TV = F.linear(states_TD[:words], self.weight_VD).float().log_softmax(-1)
            log_p_T = log_p_TV.gather(1, found_T[:words, None])[self.tokenizer.given :]
            scores.append(log_p_T.sum().item() / words**config.length_penalty)
        return scores

    def _length(self, ids: list[int]) -> int:
        return ids.index(self.tokenizer.eos) + 1 if self.tokenizer.eos in ids else len(ids)

    def _plain(self, found: list[int], score: float) -> Translation:
        ids = found[1 + self.tokenizer.given : self._length(found[1:])]  # without start, language code and </s>
        return Translation(self.tokenizer.text(ids), self.tokenizer.pieces(ids), score)
