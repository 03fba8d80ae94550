"""`mdnmt translate` with a domain for each line, given or predicted: one mixed text in one call, in its own order."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases

from mdnmt.analysis import run_domain_classifier
from mdnmt.analysis.domain_classifier import train
from mdnmt.analysis.run_domain_classifier import RunDomainClassifier, load, save
from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.decode.translator import Translator
from mdnmt.errors import DataError
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
# The first two need the label to translate; DSA with guided learning reads it only in training, WALDM predicts it.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "domain-tag": ("domain_tag", {}),
    "damha-dmoe-domain": ("dmoe", {"damha": True, "encoder_ffn": "dmoe", "gate_input": "domain"}),
    "dsa-guided": ("domain_aware_attention", {"guidance_weight": 1.0}),
    "waldm": ("waldm", {"mixed_sides": "both"}),
}
NEED_LABELS = ("domain-tag", "damha-dmoe-domain")
TEXT = {
    "economy": ["rate price growth", "survey index rate bank growth price survey", "growth", "index price"],
    "law": ["court rule", "party judge order court rule", "order", "judge bank court party order judge rule party"],
}
# Alternating domains, and an empty line, which has a label too.
LINES = [line for pair in zip(TEXT["economy"], TEXT["law"], strict=True) for line in pair] + [""]
DOMAINS = ["economy", "law"] * 4 + ["law"]

Translate = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def results(toy_task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of results with the task's data."""
    folder = tmp_path_factory.mktemp("results")
    shutil.copytree(toy_task, folder / "tasks" / f"toy-{TaskData.load(toy_task).fingerprint}")
    return folder


@pytest.fixture
def run_of(results: Path, make_spec: Any, toy_task: Path) -> Callable[[str], Path]:
    """Return a function: family -> a finished run, trained once for the whole file."""

    def run(family: str) -> Path:
        folder = results / "runs" / "toy" / family / "seed3-0123abcd"
        if not RunPaths(folder).record.exists():
            builder, options = FAMILIES[family]
            spec = make_spec(builder, architecture=options, max_updates=60, validate_every=60)
            train_run(spec, toy_task, folder, device="cpu")
        return folder

    return run


@pytest.fixture
def translate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Translate:
    """Return a function (run, lines, options ...) -> status, output, standard error."""

    def call(run: Path, lines: list[str], *options: str) -> tuple[int, str, str]:
        text = "".join(f"{line}\n" for line in lines).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
        capsys.readouterr()
        status = main(["translate", "--device", "cpu", "--run", str(run), "--threads", "1", *options])
        return status, *capsys.readouterr()

    return call


def labels_file(folder: Path, labels: list[str]) -> str:
    path = folder / "labels.txt"
    path.write_text("".join(f"{label}\n" for label in labels))
    return str(path)


def refuse_to_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(*given: Any) -> None:
        raise AssertionError("weights were read")

    monkeypatch.setattr("mdnmt.decode.translator.load_model", loaded)


@pytest.mark.slow
@pytest.mark.parametrize("family", chosen_cases(FAMILIES, "domain-tag", "waldm"))
@pytest.mark.parametrize("batch_lines", ["64", "3"])
def test_a_mixed_text_is_translated_as_each_domain_alone(
    family: str, batch_lines: str, run_of: Any, translate: Translate, tmp_path: Path
) -> None:
    run, alone = run_of(family), {}
    for domain in TEXT:
        chosen = [number for number, name in enumerate(DOMAINS) if name == domain]
        status, out, err = translate(run, [LINES[number] for number in chosen], "--domain", domain, "--nbest", "2")
        assert (status, err) == (0, "")
        found: dict[int, list[str]] = {}
        for line in out.splitlines():
            number, _, rest = line.partition("\t")
            found.setdefault(chosen[int(number) - 1], []).append(rest)
        alone |= found
    # The scores too, to four decimals.
    expected = "".join(f"{number + 1}\t{rest}\n" for number in sorted(alone) for rest in alone[number])
    options = ("--nbest", "2", "--batch-lines", batch_lines)
    labels = labels_file(tmp_path, DOMAINS)
    assert translate(run, LINES, "--domains", labels, *options) == (0, expected, "")
    status, out, err = translate(run, LINES, "--predict-domain", *options)
    assert (status, out) == (0, expected)
    assert err.splitlines()[-1] == "predicted domains: economy 4, law 4"
    swapped = labels_file(tmp_path, ["law" if name == "economy" else "economy" for name in DOMAINS])
    assert (translate(run, LINES, "--domains", swapped, *options)[1] != expected) == (family in NEED_LABELS)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (DOMAINS[:-1], "labels.txt: has 8 labels, expected 9, one for each line of the text"),
        ([*DOMAINS, "law"], "labels.txt: has 10 labels, expected 9"),
        ([], "labels.txt: has 0 labels, expected 9"),
        (
            ["law", "laww", *DOMAINS[2:]],
            "labels.txt, line 2: no domain 'laww' in this run (did you mean 'law'?); there ",
        ),
        (["law", "", *DOMAINS[2:]], "labels.txt, line 2: empty; expected a domain: economy, law"),
        (["caf\udce9"], "labels.txt: not UTF-8"),
    ],
)
def test_wrong_labels_are_refused_before_the_weights_are_read(
    labels: list[str], said: str, run_of: Any, translate: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path = run_of("domain-tag"), tmp_path / "labels.txt"
    refuse_to_load(monkeypatch)
    path.write_bytes("".join(f"{label}\n" for label in labels).encode(errors="surrogateescape"))
    status, out, err = translate(run, LINES, "--domains", str(path))
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_that_needs_labels_is_refused_without_any_option(
    family: str, run_of: Any, translate: Translate, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(family)
    if family in NEED_LABELS:
        refuse_to_load(monkeypatch)
        status, out, err = translate(run, LINES)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "choose one (in a command: --domain, --domains or --predict-domain): economy, law" in err
    else:
        assert translate(run, LINES)[0] == 0


def test_one_source_of_labels_at_a_time(translate: Translate, tmp_path: Path) -> None:
    sources = {"--domain": ["law"], "--domains": ["labels.txt"], "--predict-domain": []}
    for one, other in combinations(sources, 2):
        status, out, err = translate(tmp_path, LINES, one, *sources[one], other, *sources[other])
        assert (status, out, err.count("\n")) == (2, "", 1) and one in err and other in err


def test_labels_from_windows(run_of: Any, translate: Translate, tmp_path: Path) -> None:
    run, path = run_of("domain-tag"), tmp_path / "labels.txt"
    expected = translate(run, LINES, "--domains", labels_file(tmp_path, DOMAINS))
    assert expected[0] == 0
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(DOMAINS).encode())  # no line end after the last label
    assert translate(run, LINES, "--domains", str(path)) == expected


def test_predictions_stream(run_of: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each batch is written before the next line is read."""
    run, written = run_of("domain-tag"), []

    class Input(io.BytesIO):
        def __next__(self) -> bytes:
            written.append(capsys.readouterr().out.count("\n"))
            return super().__next__()

    class Stdin:
        buffer = Input("".join(f"{line}\n" for line in LINES[:3]).encode())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert main(["translate", "--device", "cpu", "--run", str(run), "--predict-domain", "--batch-lines", "1"]) == 0
    assert written == [0, 1, 1, 1]


def test_the_run_s_folder_is_enough_once_the_classifier_is_there(
    run_of: Any, results: Path, toy_task: Path, translate: Translate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, elsewhere = run_of("domain-tag"), tmp_path / "elsewhere"
    for kept in results.rglob("domain-classifier-*"):
        kept.unlink()
    shutil.copytree(run, elsewhere)
    refuse_to_load(monkeypatch)
    status, out, err = translate(elsewhere, LINES, "--predict-domain")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "has no data to train this classifier" in err and "--task" in err and "--domain or --domains" in err
    monkeypatch.undo()
    calls: list[TaskData] = []
    monkeypatch.setattr(run_domain_classifier, "train", lambda data: calls.append(data) or train(data))
    assert RunDomainClassifier(elsewhere, toy_task).predict(LINES[:-1]) == DOMAINS[:-1]
    assert RunDomainClassifier(elsewhere).predict(LINES[:-1]) == DOMAINS[:-1]
    assert len(calls) == 1  # the second time it was read from the run's folder
    # Other runs of the same task share it.
    for family in ("domain-tag", "waldm"):
        assert RunDomainClassifier(run_of(family)).predict(["court"]) == ["law"]
    assert len(calls) == 2
    for kept in toy_task.glob("domain-classifier-*"):
        kept.unlink()


def test_the_data_of_another_task_is_refused(run_of: Any, told_task: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(run_of("domain-tag"), elsewhere, ignore=shutil.ignore_patterns("domain-classifier-*"))
    with pytest.raises(DataError, match=r"but the run was trained on .*; name the run's own task with --task"):
        RunDomainClassifier(elsewhere, told_task)
    assert not list(told_task.glob("domain-classifier-*"))


def test_a_saved_classifier_computes_the_same(toy_task: Path, tmp_path: Path) -> None:
    model, _ = train(TaskData.load(toy_task))
    path = tmp_path / "classifier.safetensors"
    save(model, path)
    lines = [*LINES, "bank", "Bank of England", "中文 法院"]
    assert (load(path).predict_proba(lines) == model.predict_proba(lines)).all()
    data = path.read_bytes()
    for damaged in (data[:-1], data[:-1] + bytes([data[-1] ^ 1]), b""):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="remove it, and it is trained again"):
            load(path)


@pytest.mark.slow
def test_labels_do_not_change_with_the_batch(run_of: Any) -> None:
    """All sentences in one batch of the search, and each alone, give equal translations."""
    translator = Translator(run_of("damha-dmoe-domain"), CPU)
    together = translator.translate(LINES, Decoding(), DOMAINS)
    for line, domain, expected in zip(LINES, DOMAINS, together, strict=True):
        [found] = translator.translate([line], Decoding(), domain)
        assert found[0].pieces == expected[0].pieces
        assert found[0].score == pytest.approx(expected[0].score, abs=1e-5)
