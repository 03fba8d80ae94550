"""What a method is told of the domain changes its translations as it should, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.decode.labels import labels_under, read_predicted, wrong_labels
from mdnmt.decode.translator import Translator
from mdnmt.errors import ConfigError, DataError
from mdnmt.methods import validate
from mdnmt.models.context import DomainContext
from mdnmt.models.transformer import Transformer
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
DOMAINS = ("law", "news", "speech", "thesis")
SOURCES = [[5, 6, 7, 2], [8, 2]]


def test_wrong_labels_are_never_right_equally_frequent_and_always_the_same() -> None:
    told = wrong_labels(DOMAINS, "news", 91)
    assert set(told) == {"law", "speech", "thesis"} and wrong_labels(DOMAINS, "news", 91) == told
    assert set(Counter(told).values()) == {30, 31}
    assert told[:3] * 30 != told[:90]  # in no order
    assert wrong_labels(DOMAINS, "law", 91) != [name.replace("law", "news") for name in told]
    with pytest.raises(DataError, match="law is the task's only domain"):
        wrong_labels(["law"], "law", 3)


def test_what_is_told() -> None:
    guesses = {"law": ["news", "law", "law"]}
    assert labels_under("given", DOMAINS, "law", 2) == ["law", "law"]
    assert labels_under("missing", DOMAINS, "law", 2) is None
    assert labels_under("predicted", DOMAINS, "law", 2, guesses) == ["news", "law"]
    for found in (guesses, None):
        with pytest.raises(DataError, match=r"predicted labels for 4 test sentences of law; give --predicted"):
            labels_under("predicted", DOMAINS, "law", 4, found)


def test_a_file_that_is_not_of_predicted_labels(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"domains": ["a"], "test": {"a": {"labels": [1]}}}', '{"domains": []}'):
        (tmp_path / "labels.json").write_text(text)
        with pytest.raises(DataError, match=r"labels\.json.*`mdnmt predict-labels`"):
            read_predicted(tmp_path / "labels.json")


@pytest.fixture(scope="module")
def tagged(told_task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run that learnt that the tag decides how the words of both domains are translated."""
    sizes = {"model_dim": 32, "ffn_dim": 64, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    data = TaskData.load(told_task)
    spec = RunSpec(
        task_fingerprint=data.fingerprint,
        builder="domain_tag",
        architecture=validate("domain_tag", {**sizes, "norm": "pre", "dropout": 0.0}, where="test").model_dump(),
        training=Training.model_validate(
            {"max_updates": 300, "max_tokens": 200, "learning_rate": 0.01, "warmup_updates": 20, "precision": "fp32"}
            | {"validate_every": 300, "validation_bleu_sentences": 0, "average_checkpoints": 1}
        ),
        domains=data.domains,
        seed=3,
    )
    folder = tmp_path_factory.mktemp("tagged")
    train_run(spec, told_task, folder, device="cpu")
    return folder


def test_the_domain_that_is_told_decides_the_words(tagged: Path) -> None:
    translator, decoding = Translator(tagged, CPU), Decoding(beam_size=2)
    for told, ending in (("economy", "e"), ("law", "l")):
        [[best, *_]] = translator.translate(["court bank"], decoding, told)
        assert {word[-1] for word in best.text.split()} == {ending}
    with pytest.raises(ConfigError, match="--domain"):
        translator.translate(["bank"], decoding)
    assert translator.translate(["bank"], Decoding(beam_size=2, labels="missing"))[0][0].text


def decoded(run: Path, task: Path, out: Path, labels: str, *more: str) -> dict[str, list[str]]:
    spec = json.dumps({"beam_size": 2, "labels": labels})
    words = ["--run", str(run), "--task", str(task), "--spec", spec, "--out", str(out), "--device", "cpu", *more]
    assert main(["decode", "--threads", "1", *words]) == 0
    return {name: (out / f"hyp.{name}.txt").read_text().splitlines() for name in ("economy", "law")}


@pytest.mark.slow
def test_the_verb_tells_each_sentence_its_label(tagged: Path, told_task: Path, tmp_path: Path) -> None:
    data, translator = TaskData.load(told_task), Translator(tagged, CPU)

    def expected(labels: Any, told: dict[str, Any]) -> dict[str, list[str]]:
        config = Decoding(beam_size=2, labels=labels)
        found = {name: translator.translate(data.text("test", name, "en"), config, told[name]) for name in told}
        return {name: [best[0].text for best in lines] for name, lines in found.items()}

    def labels_file(**labels: list[int]) -> list[str]:
        path = tmp_path / "labels.json"
        test = {name: {"labels": of_domain} for name, of_domain in labels.items()}
        path.write_text(json.dumps({"domains": ["economy", "law"], "test": test}))
        return ["--predicted", str(path)]

    right, swapped = {"economy": "economy", "law": "law"}, {"economy": "law", "law": "economy"}
    given = decoded(tagged, told_task, tmp_path / "given", "given")
    wrong = decoded(tagged, told_task, tmp_path / "wrong", "wrong")
    assert given == expected("given", right) != wrong == expected("wrong", swapped)
    assert decoded(tagged, told_task, tmp_path / "m", "missing") == expected("missing", dict.fromkeys(right))
    of_law = ["law", "economy", "law", "law", "economy"]
    guesses = labels_file(economy=[0] * 5, law=[1, 0, 1, 1, 0])
    found = decoded(tagged, told_task, tmp_path / "p", "predicted", *guesses)
    assert found == expected("predicted", {"economy": "economy", "law": of_law})
    # The likelihood of the references is that of the same told domain.
    nll = [json.loads((tmp_path / name / "likelihood.json").read_text())["domains"] for name in ("given", "wrong")]
    assert sum(nll[0]["law"]["nll"]) < sum(nll[1]["law"]["nll"])


def test_predicted_labels_are_asked_for(
    tagged: Path, told_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--run", str(tagged), "--task", str(told_task), "--out", str(tmp_path), "--device", "cpu"]
    decode = ["decode", "--spec", '{"labels": "predicted"}', *words]
    assert main(decode) == DataError.exit_code
    assert "give --predicted the file that `mdnmt predict-labels` makes" in capsys.readouterr().err
    assert main([*decode, "--split", "valid"]) == ConfigError.exit_code
    assert "--split valid: predicted labels exist only for test sentences" in capsys.readouterr().err


def test_the_verb_translates_validation_text(tagged: Path, told_task: Path, tmp_path: Path) -> None:
    data, translator = TaskData.load(told_task), Translator(tagged, CPU)
    found = decoded(tagged, told_task, tmp_path / "valid", "given", "--split", "valid")
    config = Decoding(beam_size=2)
    for name, lines in found.items():
        sources = data.text("valid", name, "en")
        assert sources != data.text("test", name, "en")
        assert lines == [best[0].text for best in translator.translate(sources, config, name)]
    pieces = json.loads((tmp_path / "valid" / "likelihood.json").read_text())["domains"]["law"]["pieces"]
    split = data.split("valid")
    rows = [row for row in range(len(split)) if split.domains[row] == data.domains.index("law")]
    assert pieces == [len(split.target[row]) for row in rows]


def encoded(model: Transformer, make_batch: Any, domain: int | None) -> Any:
    batch = make_batch(SOURCES, [[5, 2]] * 2, [0, 0])
    context = DomainContext(domain_B=None if domain is None else torch.full((2,), domain))
    memory = model.encode(batch.source_BS, batch.source_mask_BS, context)
    return model.decoder(model.target_embedding(batch.target_BT), memory, context)


def mean_logit(logits_KN: Any) -> Any:
    return logits_KN.sigmoid().mean(0).logit()


# What the model must be like for a domain's label to say as much as none does.
INSTEAD: dict[str, tuple[str, dict[str, Any], str, Any]] = {
    "ldspslv": ("latent_depth", {"initial_logit": 0.0}, "block_choice.logits", mean_logit),
    "private": ("latent_depth", {"mode": "shared_or_private"}, "block_choice.logits", lambda logits: -logits.abs()),
    "domain-only": ("dmoe", {}, "domain.weight", lambda vectors: vectors.mean(0)),
    "mix": ("dmoe", {"gate_input": "mix"}, "domain.weight", lambda vectors: vectors.mean(0)),
    "concat": ("dmoe", {"gate_input": "mix", "fusion": "concat"}, "domain.weight", lambda vectors: vectors.mean(0)),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_without_a_label_a_model_takes_the_mean_domain(name: str, random_method: Any, make_batch: Any) -> None:
    builder, options, ending, change = INSTEAD[name]
    model = random_method(builder, num_domains=3, **options).model
    missing = encoded(model, make_batch, None)
    assert not torch.allclose(missing, encoded(model, make_batch, 1))
    with torch.no_grad():
        for parameter_name, parameter in model.named_parameters():
            if parameter_name.endswith(ending):
                parameter.copy_(change(parameter).expand_as(parameter))
    torch.testing.assert_close(missing, encoded(model, make_batch, 1))


def test_without_a_label_no_adapter_is_used(random_method: Any, make_batch: Any) -> None:
    model, plain = random_method("adapters", num_domains=3).model, random_method("transformer").model
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if ".adapters." not in name})
    with torch.inference_mode():
        assert torch.equal(encoded(model, make_batch, None), encoded(plain, make_batch, 0))


@pytest.mark.parametrize("position", ["first", "last"])
def test_without_a_label_there_is_no_tag(position: str, random_method: Any, make_batch: Any) -> None:
    model = random_method("domain_tag", num_domains=3, tag_position=position).model
    plain = random_method("transformer").model
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if name != "domain_tag.weight"})
    assert torch.equal(encoded(model, make_batch, None), encoded(plain, make_batch, 0))
