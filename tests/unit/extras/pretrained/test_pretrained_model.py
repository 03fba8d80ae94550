"""A model is loaded whole and computes what transformers computes, for each of the four classes."""

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
from transformers import AutoModelForSeq2SeqLM

from mdnmt.config.method import load_method
from mdnmt.errors import ConfigError, DataError
from mdnmt.extras.pretrained.config import PretrainedConfig, validate
from mdnmt.extras.pretrained.model import count_parameters, load_pretrained
from mdnmt.extras.pretrained.run import tokenizer_of
from mdnmt.extras.pretrained.task_text import PretrainedData
from mdnmt.extras.pretrained.tokenizer import PretrainedTokenizer
from mdnmt.extras.pretrained.weights import folder_of
from mdnmt.models.losses import LabelSmoothedCrossEntropy
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate

CONFIG = Path(__file__).resolve().parents[4] / "config"
KINDS = ("mbart50", "nllb", "m2m100", "marian")
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


def config_of(kind: str, **options: Any) -> PretrainedConfig:
    return PretrainedConfig.model_validate({"weights": f"tiny/{kind}", **options})


def data_of(kind: str, toy_task: Path, root: Path, domains: Any = None, pairs: int = 20) -> PretrainedData:
    task, config = TaskData.load(toy_task), config_of(kind)
    tokenizer = tokenizer_of(config, folder_of(config, root), "en", "fr")
    return PretrainedData(task, tokenizer, domains or task.domains, pairs)


def test_the_published_size_has_610_9_million_parameters(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mbart", **PUBLISHED}))
    assert count_parameters(tmp_path, PretrainedConfig()) == 610_879_488


def test_the_methods_name_the_real_models() -> None:
    found = {name: load_method(CONFIG, f"mbart50-{name}") for name in ("finetuned", "zero-shot")}
    configs = {name: validate(method.architecture, where=name) for name, method in found.items()}
    assert {config.use: config.weights for config in configs.values()} == {
        "fine-tune": "facebook/mbart-large-50",
        "zero-shot": "facebook/mbart-large-50-many-to-many-mmt",
    }
    assert found["finetuned"].training["max_updates"] == 40000


def test_a_task_becomes_pairs_of_the_chosen_domains(toy_task: Path, pretrained_root: Path) -> None:
    task = TaskData.load(toy_task)
    data = data_of("mbart50", toy_task, pretrained_root, ["law"])
    train, test = data.split("train"), data.split("test")
    label = task.domains.index("law")
    assert len(train) == 20 and set(train.domains.tolist()) == {label}
    # Spread over the whole text, and pairs stay pairs.
    lines, translations = (task.text("train", "law", lang) for lang in ("en", "fr"))
    for row in range(20):
        number = row * len(lines) // 20
        assert data.tokenizer.text(train.source[row][1:-1].tolist()) == lines[number]
        assert data.tokenizer.text(train.target[row][1:-1].tolist()) == translations[number]
    assert len(test) == 10 and test.domains.tolist() == task.split("test").domains.tolist()
    assert len(data_of("mbart50", toy_task, pretrained_root, pairs=0).split("train")) == len(task.split("train"))


@pytest.mark.parametrize("kind", KINDS)
def test_logits_loss_and_gradients_are_those_of_transformers(kind: str, toy_task: Path, pretrained_root: Path) -> None:
    config = config_of(kind)
    folder = folder_of(config, pretrained_root)
    model = load_pretrained(folder, config).double().eval()
    own = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.float64).eval()
    data = data_of(kind, toy_task, pretrained_root)
    split = data.split("train")
    batch = collate(split, np.arange(5), bos=data.target_vocab.bos)
    output = model(batch)
    ours = LabelSmoothedCrossEntropy(0.2)(output, batch)
    ours.backward()
    # A sentence at a time, as the library's documentation does it: labels in, the decoder's input is made inside.
    total, begin, logits_NV = torch.zeros((), dtype=torch.float64), 0, output.logits()
    for row in range(5):
        source, target = (torch.from_numpy(side[row].astype(np.int64))[None] for side in (split.source, split.target))
        logits_TV = own(input_ids=source, labels=target).logits[0]
        assert torch.allclose(logits_NV[begin : begin + target.size(1)], logits_TV, rtol=1e-10, atol=1e-12)
        begin += target.size(1)
        total = total + F.cross_entropy(logits_TV, target[0], label_smoothing=0.2, reduction="sum")
    total.backward()
    assert begin == len(logits_NV) and ours.item() == pytest.approx(total.item(), rel=1e-10)
    theirs = dict(own.named_parameters())
    for name, parameter in model.net.named_parameters():
        if parameter.requires_grad:
            assert torch.allclose(parameter.grad, theirs[name].grad, rtol=1e-8, atol=1e-10), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_lora_adds_nothing_at_first_and_trains_and_saves_only_its_additions(
    kind: str, toy_task: Path, pretrained_root: Path
) -> None:
    config = config_of(kind, use="lora", lora_rank=3, lora_alpha=12.0)
    folder = folder_of(config, pretrained_root)
    model, plain = (load_pretrained(folder, one).double().eval() for one in (config, config_of(kind)))
    data = data_of(kind, toy_task, pretrained_root)
    batch = collate(data.split("train"), np.arange(5), bos=data.target_vocab.bos)
    assert torch.equal(model(batch).logits(), plain(batch).logits())
    trained = {name: one for name, one in model.named_parameters() if one.requires_grad}
    # Queries and values of two encoder layers, and of the two attentions of one decoder layer: B A, of rank 3.
    assert sum(one.numel() for one in trained.values()) == (2 + 2) * 2 * (3 * 16 + 16 * 3)
    assert model.state_dict().keys() == trained.keys()
    generator = torch.Generator().manual_seed(1)
    for one in trained.values():
        one.data.normal_(generator=generator)
    LabelSmoothedCrossEntropy(0.1)(model(batch), batch).backward()
    assert all(one.grad is not None and bool(one.grad.any()) for one in trained.values())
    assert all(one.grad is None for name, one in model.named_parameters() if name not in trained)
    # W + alpha / rank B A (Hu et al. 2022, sec. 4.1), written into the weights of the plain model.
    for name, factor_RD in trained.items():
        if "lora_A" in name:
            weight = plain.get_parameter(name.replace("lora_A.default.", ""))
            weight.data += 12.0 / 3 * trained[name.replace("lora_A", "lora_B")] @ factor_RD
    assert torch.allclose(model(batch).logits(), plain(batch).logits(), rtol=1e-9, atol=1e-9)
    other = load_pretrained(folder, config).double().eval()
    other.load_state_dict(model.state_dict())
    assert torch.equal(other(batch).logits(), model(batch).logits())
    with pytest.raises(RuntimeError, match="expected the additions of LoRA"):
        other.load_state_dict(plain.state_dict())


def test_unknown_modules_of_lora_are_one_line(pretrained_root: Path) -> None:
    config = config_of("nllb", use="lora", lora_modules=["query"])
    with pytest.raises(ConfigError, match=r"lora_modules: .*query") as caught:
        load_pretrained(folder_of(config, pretrained_root), config)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_loaded_whole_with_the_dropout_of_the_options(kind: str, pretrained_root: Path) -> None:
    config = config_of(kind, dropout=0.25, attention_dropout=0.15)
    folder = folder_of(config, pretrained_root)
    own = AutoModelForSeq2SeqLM.from_pretrained(folder).state_dict()
    model = load_pretrained(folder, config)
    assert all(torch.equal(value, model.net.state_dict()[key]) for key, value in own.items())
    layer = model.net.model.encoder.layers[0]
    assert (layer.dropout, layer.self_attn.dropout) == (0.25, 0.15)
    assert model.net.lm_head.weight is model.net.model.shared.weight
    assert count_parameters(folder, config) == sum(one.numel() for one in model.parameters())
    assert (model.max_source_length, model.max_target_length) == (40, 40)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", '{"model_type": "bart"}', "found model_type 'bart', expected one of mbart, m2m_100, marian"),
        ("config.json", "[", "cannot be read"),
        ("model.safetensors", "no weights", "cannot be loaded"),
        ("sentencepiece.bpe.model", "no pieces", "its tokenizer cannot be loaded"),
        ("", "", "lacks model.encoder.layers.1.fc1.weight"),
    ],
)
def test_damaged_files_are_one_line(pretrained_root: Path, tmp_path: Path, name: str, content: str, said: str) -> None:
    config = config_of("mbart50")
    copy = Path(shutil.copytree(folder_of(config, pretrained_root), tmp_path / "copy"))
    if name:
        (copy / name).write_text(content)
    else:
        weights = load_file(copy / "model.safetensors")
        del weights["model.encoder.layers.1.fc1.weight"]
        save_file(weights, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(DataError, match=said) as caught:
        load_pretrained(copy, config)
        PretrainedTokenizer(copy, "en", "fr", {}, "tiny")
    assert "\n" not in str(caught.value)
