"""mBART-50 is loaded whole, reads text as its own tokenizer does, and computes what transformers computes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.mbart50.config import Mbart50Config, language_codes, validate
from mdnmt.extras.mbart50.data import MbartData, MbartTokenizer
from mdnmt.extras.mbart50.model import Mbart, count_parameters, empty, load_pretrained
from mdnmt.extras.mbart50.weight_files import folder_of
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate

CONFIG = Path(__file__).resolve().parents[4] / "config"
# config.json of facebook/mbart-large-50, as far as it says how large the model is.
PUBLISHED = {
    "vocab_size": 250054,
    "d_model": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "max_position_embeddings": 1024,
    "scale_embedding": True,
}


@pytest.fixture
def folder(pretrained_root: Path) -> Path:
    return folder_of("facebook/mbart-large-50", pretrained_root)


@pytest.fixture
def tokenizer(folder: Path) -> MbartTokenizer:
    return MbartTokenizer(folder, "en_XX", "fr_XX")


@pytest.fixture
def data(toy_task: Path, tokenizer: MbartTokenizer) -> MbartData:
    task = TaskData.load(toy_task)
    return MbartData(task, tokenizer, task.domains, 20)


def test_the_published_size_has_610_9_million_parameters(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mbart", **PUBLISHED}))
    model = empty(tmp_path)
    assert count_parameters(model) == 610_879_488
    assert all(parameter.is_meta for parameter in model.parameters())


def test_the_two_method_files_name_the_real_models() -> None:
    found = {name: load_method(CONFIG, f"mbart50-{name}") for name in ("finetuned", "zero-shot")}
    configs = {name: validate(method.architecture, where=name) for name, method in found.items()}
    assert {method.builder for method in found.values()} == {"mbart50"}
    assert {config.use: config.weights for config in configs.values()} == {
        "fine-tune": "facebook/mbart-large-50",
        "zero-shot": "facebook/mbart-large-50-many-to-many-mmt",
    }
    assert found["finetuned"].training["max_updates"] == 40000


@pytest.mark.parametrize(
    ("weights", "source", "target", "expected"),
    [
        ("mbart-large-50-many-to-many-mmt", "en", "zh", ("en_XX", "zh_CN")),
        ("mbart-large-50-one-to-many-mmt", "en", "fr", ("en_XX", "fr_XX")),
        ("mbart-large-50-many-to-one-mmt", "de", "en", ("de_DE", "en_XX")),
        ("mbart-large-50", "en", "nl", "set up for de, en, fr, zh, but the task is en to nl"),
        ("mbart-large-50-one-to-many-mmt", "fr", "en", "translates from English only, but the task is fr to en"),
        ("mbart-large-50-many-to-one-mmt", "en", "fr", "translates into English only"),
    ],
)
def test_languages(weights: str, source: str, target: str, expected: Any) -> None:
    config = Mbart50Config(weights=f"facebook/{weights}")
    if isinstance(expected, tuple):
        assert language_codes(config, source, target) == expected
    else:
        with pytest.raises(ConfigError, match=expected):
            language_codes(config, source, target)


def test_text_is_read_as_the_own_tokenizer_reads_it(folder: Path, tokenizer: MbartTokenizer, data: MbartData) -> None:
    lines = [*data.text("train", "law", "en"), "", "  bank   é ü", "a", "Bank, the party"]
    own = MBart50Tokenizer(str(folder / "sentencepiece.bpe.model"), src_lang="en_XX", tgt_lang="fr_XX")
    found = tokenizer.encode(lines, "en_XX")
    assert [ids.tolist() for ids in found] == own(lines)["input_ids"]
    assert [ids.tolist() for ids in tokenizer.encode(lines, "fr_XX")] == own(text_target=lines)["input_ids"]
    assert found[0][0] == own.lang_code_to_id["en_XX"] and found[0][-1] == 2
    assert tokenizer.text(found[0][1:-1].tolist()) == lines[0]


def test_text_cannot_name_special_tokens(tokenizer: MbartTokenizer) -> None:
    [ids] = tokenizer.encode(["bank </s> fr_XX <s> <pad>"], "en_XX")
    assert not set(ids[1:-1].tolist()) & {0, 1, 2} and max(ids[1:-1]) < min(ids[0], tokenizer.target_code_id)
    assert tokenizer.encode([], "en_XX") == []


def test_a_task_becomes_pairs_of_the_chosen_domains(toy_task: Path, tokenizer: MbartTokenizer) -> None:
    task = TaskData.load(toy_task)
    data = MbartData(task, tokenizer, ["law"], 20)
    train, test = data.split("train"), data.split("test")
    label = task.domains.index("law")
    assert len(train) == 20 and set(train.domains.tolist()) == {label}
    # Spread over the whole text, and pairs stay pairs.
    lines, translations = (task.text("train", "law", lang) for lang in ("en", "fr"))
    for row in range(20):
        number = row * len(lines) // 20
        assert tokenizer.text(train.source[row][1:-1].tolist()) == lines[number]
        assert tokenizer.text(train.target[row][1:-1].tolist()) == translations[number]
    assert len(test) == 10 and test.domains.tolist() == task.split("test").domains.tolist()
    assert len(MbartData(task, tokenizer, task.domains, 0).split("train")) == len(task.split("train"))


def test_loss_and_gradients_are_those_of_transformers(folder: Path, data: MbartData) -> None:
    model = load_pretrained(folder).double().eval()
    split = data.split("train")
    batch = collate(split, np.arange(5), bos=data.target_vocab.bos)
    LabelSmoothedCrossEntropy(0.2)(model(batch), batch).backward()
    found = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    # A sentence at a time, as the library's documentation does it: labels in, the decoder's input is made inside.
    total = torch.zeros((), dtype=torch.float64)
    for row in range(5):
        source, target = (torch.from_numpy(side[row].astype(np.int64))[None] for side in (split.source, split.target))
        logits = model.net(input_ids=source, labels=target).logits[0]
        total = total + F.cross_entropy(logits, target[0], label_smoothing=0.2, reduction="sum")
    with torch.no_grad():
        ours = LabelSmoothedCrossEntropy(0.2)(model(batch), batch)
    assert ours.item() == pytest.approx(total.item(), rel=1e-10)
    total.backward()
    for name, parameter in model.named_parameters():
        assert torch.allclose(found[name], parameter.grad, rtol=1e-8, atol=1e-10), name


def test_both_formats_of_weights_are_loaded_whole(pretrained_root: Path) -> None:
    for name in ("facebook/mbart-large-50", "facebook/mbart-large-50-many-to-many-mmt"):
        folder = folder_of(name, pretrained_root)
        own = MBartForConditionalGeneration.from_pretrained(folder).state_dict()
        model = load_pretrained(folder, dropout=0.3)
        assert all(torch.equal(value, model.net.state_dict()[key]) for key, value in own.items())
        assert model.net.config.dropout == 0.3 and model.net.model.encoder.layers[0].dropout == 0.3
        assert model.net.lm_head.weight is model.net.model.shared.weight


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (
            lambda weights: weights.update(final_logits_bias=torch.ones(1, 9999)[:, : weights["v"]]),
            "final_logits_bias is not",
        ),
        (lambda weights: weights.pop("model.encoder.layers.1.fc1.weight"), "lacks model.encoder.layers.1.fc1.weight"),
    ],
)
def test_weights_that_would_go_wrong_silently_are_refused(
    folder: Path, tmp_path: Path, break_it: Any, said: str
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    weights: dict[str, Any] = dict(load_file(copy / "model.safetensors"))
    weights["v"] = weights["model.shared.weight"].size(0)
    break_it(weights)
    del weights["v"]
    save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(DataError, match=said) as caught:
        load_pretrained(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", '{"model_type": "bart"}', "found model_type 'bart', expected 'mbart'"),
        ("config.json", "[", "cannot be read"),
        ("model.safetensors", "no weights", "cannot be loaded"),
        ("sentencepiece.bpe.model", "no pieces", "is not a sentencepiece model"),
    ],
)
def test_damaged_files_are_one_line(folder: Path, tmp_path: Path, name: str, content: str, said: str) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / name).write_text(content)
    with pytest.raises(DataError, match=said) as caught:
        load_pretrained(copy)
        MbartTokenizer(copy, "en_XX", "fr_XX")
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_a_model_has_as_many_positions_as_its_weights(folder: Path) -> None:
    model = Mbart(MBartForConditionalGeneration(MBartConfig.from_pretrained(folder)))
    assert (model.max_source_length, model.max_target_length) == (40, 40)
