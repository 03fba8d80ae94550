"""Pieces of sentencepiece: lossless in every language, a stage like that of BPE, and a run that translates."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st

from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import validate_model
from mdnmt.config.run import RunSpec
from mdnmt.config.task import SegmentationConfig, TaskConfig
from mdnmt.config.training import Training
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DamagedTask, DataError
from mdnmt.extras.export.export_run import export_run
from mdnmt.extras.serve.service import ServedRun
from mdnmt.fsio import read_json
from mdnmt.languages import SCRIPTS
from mdnmt.methods import validate
from mdnmt.operations.method_checks import TOY_SIZES
from mdnmt.studies.resolve import resolve
from mdnmt.tasks.segmentation.segmenter import Segmenter, plain_text
from mdnmt.tasks.segmentation.sentence_pieces import SentencePieces, join_pieces, learn_job
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.text.normalisation import normalise
from mdnmt.train.run import train_run

ROOT = Path(__file__).resolve().parents[3]
SENTENCES = [line.split("\t") for line in (ROOT / "benchmarks/sentences.tsv").read_text().splitlines() if line]
OWN = {
    "zh": ["世界衛生組織（世卫组织）建议：“多喝水”。", "2026年1月1日，价格上涨了3.5%！", "他说 OK 。"],
    "de": ["Die Größe der Straße … „ja“, sagte er; 3,5 % mehr.", "Donaudampfschifffahrtsgesellschaft"],
    "fr": ["L’année 2026 : « hélas », dit-il — œuvre @@ inachevée.", "aujourd'hui, à 3,5 %"],
    "en": ["It's <s> fine </s> &amp; <unk> <0x41> (really)!", "e-mail: a@b.org, 50% off", "😀 naïve café"],
}


def model_of(lines: list[str], size: int = 900) -> bytes:
    return learn_job((Counter(" ".join(map(normalise, lines)).split(" ")), size))


@pytest.fixture(scope="module")
def pieces() -> SentencePieces:
    """Return a model of half of the sentences: the other half has characters that it does not know."""
    return SentencePieces(model_of([text for _, text in SENTENCES[::2]]))


def test_every_language_survives_the_round_trip_even_with_unknown_characters(pieces: SentencePieces) -> None:
    lines = [(lang, text) for lang, text in SENTENCES] + [(lang, text) for lang in OWN for text in OWN[lang]]
    lines += [(script, re.sub(r"\W", "", "".join(map(chr, range(0x20, 0x2FFF, 97))))) for script in SCRIPTS]
    vocab = Vocab.from_counts(dict.fromkeys(pieces.vocabulary(), 1))
    segmenter = Segmenter(pieces, "xx", "sentencepiece")
    assert {"am", "zh", "de", "fr", "en", "ja", "ar", "th"} <= {lang for lang, _ in lines}
    for lang, text in lines:
        found = segmenter.encode(text)
        assert plain_text(found, lang, "sentencepiece") == normalise(text), lang
        ids = vocab.encode(found)
        assert Vocab.unk not in ids and vocab.decode(ids) == found and vocab.text(ids) == normalise(text), lang


@given(st.text(st.characters(exclude_characters="▁")))
def test_any_text_survives_it(pieces: SentencePieces, text: str) -> None:
    assert plain_text(Segmenter(pieces, "xx", "sentencepiece").encode(text), "xx", "sentencepiece") == normalise(text)


def test_words_are_segmented_and_joined_as_by_the_package(pieces: SentencePieces) -> None:
    own = sentencepiece.SentencePieceProcessor(model_proto=model_of([text for _, text in SENTENCES[::2]]))
    for _, text in SENTENCES:
        line = normalise(text)
        expected = own.encode(line, out_type=str)
        assert pieces.segment(line.split(" ")) == expected
        assert join_pieces(expected) == own.decode(own.encode(line))
    assert set(pieces.vocabulary()) == {own.id_to_piece(number) for number in range(3, len(own))}


def test_a_model_is_learned_from_counts_as_from_the_words_and_always_the_same() -> None:
    lines = [normalise(text) for _, text in SENTENCES]
    counts = Counter(" ".join(lines).split(" "))
    model = learn_job((counts, 1500))
    assert model == learn_job((Counter(dict(reversed(counts.items()))), 1500))
    own = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sorted(counts.elements())),
        model_writer=own,
        vocab_size=1500,
        hard_vocab_limit=False,
        byte_fallback=True,
        normalization_rule_name="identity",
        num_threads=4,
        minloglevel=2,
    )
    of_counts, of_words = (sentencepiece.SentencePieceProcessor(model_proto=one) for one in (model, own.getvalue()))
    scores = [
        {one.id_to_piece(number): one.get_score(number) for number in range(len(one))} for one in (of_counts, of_words)
    ]
    assert scores[0] == scores[1]


def test_broken_output_and_files_are_no_exceptions() -> None:
    assert join_pieces(["▁a", "<0xE4>", "<0xB8>", "b", "▁c"]) == "a\ufffdb c" and join_pieces([]) == ""
    with pytest.raises(DamagedTask, match=r"codes\.model: is not a model of sentencepiece"):
        SentencePieces(b"no model")
    with pytest.raises(DataError, match="bpe_merge_operations: 100 pieces are too few"):
        learn_job((Counter({"abc": 3}), 100))


def test_what_does_not_go_with_it_is_one_line() -> None:
    with pytest.raises(ConfigError, match="reads text that is not tokenised; leave out tokenizer"):
        validate_model({"bpe": "sentencepiece", "tokenizer": "jieba"}, SegmentationConfig, "x")
    task = {
        "title": "T",
        "source_lang": "en",
        "target_lang": "zh",
        "domains": {"law": {"corpora": ["law"], "valid": 5, "test": 5}},
        "segmentation": {"bpe": "sentencepiece-side"},
        "vocabulary": {"max_size": 500},
    }
    with pytest.raises(ConfigError, match="it has all pieces of the model; leave out min_count and max_size"):
        validate_model(task, TaskConfig, "x")


@pytest.mark.parametrize("bpe", ["sentencepiece", "sentencepiece-side"])
def test_a_task_has_its_text_in_pieces_and_records_what_made_them(
    bpe: str, tmp_path: Path, toy_task: Path, segmented_task: Callable[..., Path]
) -> None:
    folder = segmented_task(tmp_path, bpe=bpe, bpe_merge_operations=350)
    data, moses = TaskData.load(folder), TaskData.load(toy_task)
    names = {"sentencepiece": ["codes.model"], "sentencepiece-side": ["codes.en.model", "codes.fr.model"]}
    assert sorted(path.name for path in folder.glob("codes*")) == names[bpe]
    for split in ("train", "test"):
        found = data.split(split)
        for side, vocab, lang in ((found.source, data.source_vocab, "en"), (found.target, data.target_vocab, "fr")):
            lines = [vocab.text(side[row].tolist()) for row in range(len(found))]
            assert lines == [line for domain in data.domains for line in data.text(split, domain, lang)]
            assert not np.any(side.tokens == Vocab.unk)
    assert data.fingerprint != moses.fingerprint
    made = json.dumps(read_json(folder / "task.json"))
    assert "sentencepiece" in made and "sacremoses" not in made and "subword-nmt" not in made


def test_later_stages_than_the_text_have_addresses_of_their_own() -> None:
    study = resolve(ROOT / "config", "smoke", ROOT / "resources" / "corpora")
    known = [task.spec for task in study.tasks.values() if task.spec is not None]
    # Where lengths are counted in tokens, the text depends on them.
    plain = next(spec for spec in known if all(spec.cleaning_of(domain).unit != "tokens" for domain in spec.domains))
    specs = [plain]
    for bpe in ("sentencepiece", "sentencepiece-side"):
        specs.append(plain.model_copy(update={"segmentation": SegmentationConfig(bpe=bpe)}))
    merges, joint, side = (spec.stages for spec in specs)
    assert merges["text"] == joint["text"] == side["text"]
    assert merges["tokens"] != joint["tokens"] == side["tokens"]
    assert len({stages["codes"] for stages in (merges, joint, side)}) == 3


@pytest.mark.slow
def test_a_run_translates_with_its_pieces_and_is_neither_exported_nor_served(
    tmp_path: Path, segmented_task: Callable[..., Path]
) -> None:
    folder = segmented_task(tmp_path, bpe="sentencepiece", bpe_merge_operations=350)
    data = TaskData.load(folder)
    spec = RunSpec(
        task_fingerprint=data.fingerprint,
        builder="transformer",
        architecture=validate("transformer", TOY_SIZES, where="test").model_dump(mode="json"),
        training=Training(
            max_updates=30, max_tokens=600, learning_rate=0.01, warmup_updates=5, validate_every=30, precision="fp32"
        ),
        domains=data.domains,
        seed=1,
    )
    run = tmp_path / "run"
    train_run(spec, folder, run, device="cpu", threads=1)
    translator = Translator(run, torch.device("cpu"))
    line = data.text("test", "law", "en")[0]
    [[plain]] = translator.translate([line], Decoding(beam_size=2))
    assert plain.text == join_pieces(plain.pieces) and plain.text and "▁" not in plain.text
    ids = data.split("test").source[list(data.split("test").domains).index(data.domains.index("law"))]
    assert translator.encode([line])[0].tolist() == ids.tolist()  # segmented here as the task was
    with pytest.raises(ConfigError, match="bpe: sentencepiece, which is not exported"):
        export_run(run, "ctranslate2", tmp_path / "out", ROOT / "config")
    with pytest.raises(ConfigError, match="bpe: sentencepiece, which is not served"):
        ServedRun.load(run, torch.device("cpu"), tmp_path)
