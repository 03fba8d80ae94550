"""Text is read as a model's own tokenizer reads it, with the codes of the task's languages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from unit.extras.pretrained.conftest import CODES, KINDS, with_languages

from mdnmt.errors import ConfigError
from mdnmt.extras.pretrained.config import PretrainedConfig
from mdnmt.extras.pretrained.language_codes import code_of
from mdnmt.extras.pretrained.tokenizer import PretrainedTokenizer, language_tokens, load_tokenizer
from mdnmt.extras.pretrained.weights import folder_of
from mdnmt.tasks.task_data import TaskData


def folder(kind: str, root: Path) -> Path:
    return folder_of(PretrainedConfig(weights=f"tiny/{kind}"), root)


@pytest.mark.parametrize("kind", KINDS)
def test_text_is_read_as_by_transformers(kind: str, pretrained_root: Path, toy_task: Path) -> None:
    data = TaskData.load(toy_task)
    lines = [*data.text("train", "law", "en"), "", "  bank   é ü", "a", "Bank, the party"]
    own = with_languages(folder(kind, pretrained_root), kind)
    tokenizer = PretrainedTokenizer(folder(kind, pretrained_root), "en", "fr", {}, "tiny")
    found, targets = tokenizer.encode(lines), tokenizer.encode(lines, target=True)
    assert [ids.tolist() for ids in found] == own(lines)["input_ids"]
    assert [ids.tolist() for ids in targets] == own(text_target=lines)["input_ids"]
    assert tokenizer.text(found[0][tokenizer.given : -1].tolist()) == lines[0]
    if CODES[kind][1]:
        source, target = (own.convert_tokens_to_ids(language_tokens(own)[code]) for code in CODES[kind])
        assert (found[0][0], targets[0][0], tokenizer.target_code_id) == (source, target, target)
    assert found[0][-1] == tokenizer.eos and tokenizer.encode([]) == []
    assert [tokenizer.is_empty(ids) for ids in found].count(True) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_text_cannot_name_special_tokens(kind: str, pretrained_root: Path) -> None:
    tokenizer = PretrainedTokenizer(folder(kind, pretrained_root), "en", "fr", {}, "tiny")
    own = load_tokenizer(folder(kind, pretrained_root))
    codes = own.convert_tokens_to_ids(list(language_tokens(own).values()))
    [ids] = tokenizer.encode(["bank </s> fr_XX fra_Latn __fr__ <s> <pad> <mask>"])
    special = {*own.all_special_ids, *codes} - {own.unk_token_id}
    assert not special & set(ids[tokenizer.given : -1].tolist())


NLLB = ("arb_Arab", "ary_Arab", "deu_Latn", "eng_Latn", "yue_Hant", "zho_Hans", "zho_Hant")


@pytest.mark.parametrize(
    ("lang", "known", "given", "expected"),
    [
        ("de", ("de_DE", "en_XX"), {}, "de_DE"),
        ("pt-BR", ("pt_XX", "pt_BR"), {}, "pt_BR"),
        ("de", NLLB, {}, "deu_Latn"),
        ("zh", NLLB, {}, "zho_Hans"),
        ("zh_Hant", NLLB, {}, "zho_Hant"),
        ("yue", NLLB, {}, "yue_Hant"),
        ("zh", ("en", "zh"), {}, "zh"),
        ("ar", NLLB, {}, "several codes for 'ar', arb_Arab, ary_Arab; choose one"),
        ("ar", NLLB, {"ar": "ary_Arab"}, "ary_Arab"),
        ("ar", NLLB, {"ar": "arz_Arab"}, "no language 'arz_Arab'; it has arb_Arab"),
        ("nl", NLLB, {}, "tiny has no language 'nl'; it has arb_Arab, .*; choose one: `codes: {nl: CODE}`"),
        ("en", (), {}, ""),
    ],
)
def test_codes_of_languages(lang: str, known: Any, given: dict[str, str], expected: str) -> None:
    if " " not in expected:
        assert code_of(lang, known, given, "tiny") == expected
    else:
        with pytest.raises(ConfigError, match=expected):
            code_of(lang, known, given, "tiny")


@pytest.mark.parametrize("kind", ["mbart50", "nllb", "m2m100"])
def test_the_languages_of_the_project_are_known_to_all(kind: str, pretrained_root: Path) -> None:
    known = list(language_tokens(load_tokenizer(folder(kind, pretrained_root))))
    assert len({code_of(lang, known, {}, kind) for lang in ("de", "en", "fr", "zh")}) == 4


def test_a_marian_model_names_its_target_in_the_source_or_is_of_one_pair(pretrained_root: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folder("marian", pretrained_root), tmp_path / "many"))
    vocab = json.loads((copy / "vocab.json").read_text())
    (copy / "vocab.json").write_text(json.dumps(vocab | {">>fra<<": len(vocab), ">>deu<<": len(vocab) + 1}))
    tokenizer = PretrainedTokenizer(copy, "en", "de", {}, "tiny")
    first, rest = tokenizer.encode(["bank"])[0][0], tokenizer.encode(["bank"])[0][1:]
    assert first == len(vocab) + 1 and not tokenizer.is_empty(tokenizer.encode(["bank"])[0])
    alone = PretrainedTokenizer(folder("marian", pretrained_root), "en", "fr", {}, "tiny")
    assert rest.tolist() == alone.encode(["bank"])[0].tolist()
    assert tokenizer.is_empty(tokenizer.encode([""])[0]) and tokenizer.encode(["bank"], target=True)[0][0] != first
    one = Path(shutil.copytree(folder("marian", pretrained_root), tmp_path / "one"))
    settings = json.loads((one / "tokenizer_config.json").read_text())
    (one / "tokenizer_config.json").write_text(json.dumps(settings | {"source_lang": "en", "target_lang": "de"}))
    PretrainedTokenizer(one, "en", "de", {}, "tiny")
    with pytest.raises(ConfigError, match="tiny translates en to de, but the task has 'fr'"):
        PretrainedTokenizer(one, "en", "fr", {}, "tiny")
