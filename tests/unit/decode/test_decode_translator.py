"""A run read from disk translates text, the same bytes each time, and says clearly what it cannot."""

from __future__ import annotations

import io
import itertools
import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.decode.batching import translate_ids
from mdnmt.decode.translator import Translator
from mdnmt.errors import CheckpointError, ConfigError, DataError
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.tasks.text.tokenise import _detokenizer, _tokenizer
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
LINES = ["bank rate price", "", "court rule party judge bank", "bank", "growth zebra"]
FORMS = {"transformer": {"share_embeddings": "all"}, "waldm": {"mixed_sides": "both"}}


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tmp_path_factory.mktemp(f"run-{name}") for name in FORMS}


# A test that is about the model's computation is parametrised with both forms; what is read, written and refused is
# the same for all models.
both_forms = pytest.mark.parametrize("run", FORMS, indirect=True)


@pytest.fixture
def run(request: pytest.FixtureRequest, runs: dict[str, Path], make_spec: Any, toy_task: Path) -> Path:
    """Return a finished run, trained once for the whole file."""
    form = getattr(request, "param", "waldm")
    folder = runs[form]
    if not RunPaths(folder).record.exists():
        spec = make_spec(form, architecture=FORMS[form], max_updates=20, validate_every=10)
        train_run(spec, toy_task, folder, device="cpu")
    return folder


def translate(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: bytes, *arguments: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))
    capsys.readouterr()
    status = main(["translate", "--device", "cpu", *arguments])
    return status, *capsys.readouterr()


def joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.slow
@both_forms
def test_the_verb_and_the_class_agree_and_every_load_gives_the_same(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Translator(run, CPU).translate(LINES, Decoding())
    again = Translator(run, CPU).translate(LINES, Decoding())
    assert found == again
    assert [len(one) for one in found] == [1] * len(LINES)
    assert found[1][0].text == "" and found[1][0].pieces == ()
    assert len({one[0].text for one in found}) > 1
    outputs = {
        translate(capsys, monkeypatch, joined(LINES), "--run", str(run), "--batch-lines", count)
        for count in ("64", "1", "2")
    }
    assert outputs == {(0, "".join(f"{one[0].text}\n" for one in found), "")}
    # A last line without its newline, and lines that end as on Windows.
    assert translate(capsys, monkeypatch, joined(LINES)[:-1].replace(b"\n", b"\r\n"), "--run", str(run)) in outputs


def test_a_run_needs_nothing_but_its_own_folder(run: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(run, moved, ignore=shutil.ignore_patterns("ckpt", "metrics.jsonl"))
    assert Translator(moved, CPU).translate(LINES, Decoding()) == Translator(run, CPU).translate(LINES, Decoding())


@both_forms
def test_the_n_best(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    options = ("--run", str(run), "--nbest", "3", "--beam-size", "4", "--batch-lines", "2", "--length-penalty", "0.5")
    status, out, err = translate(capsys, monkeypatch, joined(LINES), *options)
    assert (status, err) == (0, "")
    expected = Translator(run, CPU).translate(LINES, Decoding(beam_size=4, nbest=3, length_penalty=0.5))
    rows = [line.split("\t") for line in out.splitlines()]
    flat = [(number, one) for number, found in enumerate(expected, 1) for one in found]
    assert [(row[0], row[2]) for row in rows] == [(str(number), one.text) for number, one in flat]
    assert [float(row[1]) for row in rows] == pytest.approx([one.score for _, one in flat], abs=2e-4)
    for number, found in enumerate(expected):
        assert len(found) == (3 if LINES[number] else 1)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


@both_forms
def test_the_domain_is_checked(run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, out, err = translate(capsys, monkeypatch, joined(LINES), "--run", str(run), "--domain", "laww")
    assert (status, out) == (2, "")
    assert "did you mean 'law'?" in err and err.count("\n") == 1
    # Neither of these methods sees the label when it translates (Jiang et al. 2020: the predicted D mixes everything).
    with_domain = translate(capsys, monkeypatch, joined(LINES), "--run", str(run), "--domain", "law")
    assert with_domain == translate(capsys, monkeypatch, joined(LINES), "--run", str(run))
    with pytest.raises(ConfigError):
        Translator(run, CPU).label("laww")


def test_every_sentence_is_translated_with_the_label_of_its_own_domain(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def watched(*arguments: Any, domains: Any, **options: Any) -> Any:
        seen.append(domains.tolist() if domains is not None else None)
        return translate_ids(*arguments, domains=domains, **options)

    monkeypatch.setattr("mdnmt.decode.translator.translate_ids", watched)
    translator = Translator(run, CPU)
    # An empty line is not translated, and must not shift the domains of those behind it.
    lines = ["bank rate", "", "bank court", "price"]
    for domain in ("law", "economy", ["economy", "law", "law", "economy"], None):
        translator.translate(lines, Decoding(beam_size=1, max_length_extra=2), domain)
    assert seen == [[1, 1, 1], [0, 0, 0], [0, 1, 0], None]


@pytest.mark.slow
def test_bytes_that_are_not_text_are_named_by_line(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for word, said in ((b"b\xffnk", "not UTF-8"), (b"ba\0nk", "contains a NUL character")):
        for count in ("1", "2", "64"):
            text = b"bank\nrate\n" + word + b"\n"
            status, _, err = translate(capsys, monkeypatch, text, "--run", str(run), "--batch-lines", count)
            assert status == 2 and f"standard input, line 3: {said}" in err


def test_a_sentence_too_long_is_named_by_its_line_of_the_input(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = joined(["bank"] * 4 + ["bank " * 1500] + ["bank"])
    for count in ("64", "2"):
        status, _, err = translate(capsys, monkeypatch, text, "--run", str(run), "--batch-lines", count)
        assert status == 2 and "line 5: has 1500 pieces, the model takes 1023" in err


@pytest.mark.slow
def test_the_test_set_of_a_task(run: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = json.dumps({"beam_size": 3, "nbest": 2, "max_sentences": 4})
    arguments = ["decode", "--run", str(run), "--task", str(toy_task), "--device", "cpu"]
    assert main([*arguments, "--spec", spec, "--out", str(tmp_path)]) == 0
    data, translator = TaskData.load(toy_task), Translator(run, CPU)
    for domain in data.domains:
        expected = translator.translate(data.text("test", domain, "en")[:4], Decoding(beam_size=3, nbest=2))
        assert (tmp_path / f"hyp.{domain}.txt").read_bytes() == joined([one[0].text for one in expected])
        lines = [json.loads(line) for line in (tmp_path / f"nbest.{domain}.jsonl").read_text().splitlines()]
        assert [[one["text"] for one in line] for line in lines] == [[o.text for o in found] for found in expected]


@pytest.mark.slow
@both_forms
def test_the_arrays_give_what_segmenting_the_text_gives(
    run: Path, toy_task: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, translator = TaskData.load(toy_task), Translator(run, CPU)
    split, decoding = data.split("test"), Decoding(beam_size=2)
    seen: list[list[list[int]]] = []
    real = translator.translate_ids

    def watched(sources: Any, *rest: Any) -> Any:
        seen.append([source.tolist() for source in sources])
        return real(sources, *rest)

    monkeypatch.setattr(translator, "translate_ids", watched)
    for label, domain in enumerate(data.domains):
        arrays = [split.source[row] for row in range(len(split)) if split.domains[row] == label]
        from_text = translator.translate(data.text("test", domain, "en"), decoding, domain)
        assert from_text == real(arrays, decoding, domain)
        assert seen[label] == [array.tolist() for array in arrays] and len(arrays) == 5


@pytest.mark.slow
def test_without_the_packages_that_segment(
    run: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode(folder: str) -> tuple[int, str]:
        arguments = ["decode", "--run", str(run), "--task", str(toy_task), "--device", "cpu"]
        status = main([*arguments, "--spec", '{"beam_size": 2}', "--out", str(tmp_path / folder)])
        return status, capsys.readouterr().err

    assert decode("whole") == (0, "")
    for module in [name for name in sys.modules if name.partition(".")[0] == "subword_nmt"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "subword_nmt", None)
    assert decode("without") == (0, "")  # what is binarised needs no codes
    for path in (tmp_path / "whole").iterdir():
        assert (tmp_path / "without" / path.name).read_bytes() == path.read_bytes()
    needs = "needs the package {0}, which is not installed; pip install {0}\n"
    status, _, err = translate(capsys, monkeypatch, b"bank\n", "--run", str(run))
    assert (status, err) == (2, "mdnmt translate: " + needs.format("subword-nmt"))
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    _tokenizer.cache_clear()
    _detokenizer.cache_clear()
    assert decode("neither") == (2, "mdnmt decode: " + needs.format("sacremoses"))
    assert not (tmp_path / "neither").exists()


def test_the_test_set_of_another_task_is_refused(
    run: Path, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "run"
    shutil.copytree(run, other)
    (RunPaths(other).segmentation / "sums.json").unlink()
    for path in RunPaths(other).segmentation.glob("vocab.*.txt"):
        tokens = path.read_text().splitlines()
        path.write_text("".join(f"{token}\n" for token in [*tokens[:-2], tokens[-1], tokens[-2]]))
    assert main(["decode", "--run", str(other), "--task", str(toy_task), "--out", str(tmp_path / "out")]) == 2
    assert f"{toy_task}: its source vocabulary is not that of {other}" in capsys.readouterr().err


def test_what_is_no_finished_run_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, _, err = translate(capsys, monkeypatch, b"bank\n", "--run", str(tmp_path))
    assert status == 2 and "no finished run" in err and err.count("\n") == 1
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    model = RunPaths(damaged).model
    whole = model.read_bytes()
    model.write_bytes(whole[:-1])
    with pytest.raises(CheckpointError):
        Translator(damaged, CPU)
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(CheckpointError):
        Translator(damaged, CPU)
    RunPaths(damaged).record.write_text("{")
    with pytest.raises(DataError):
        Translator(damaged, CPU)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--beam-size", "0"], "beam_size"),
        (["--nbest", "10", "--beam-size", "3"], "a beam of 3 (beam_size) gives no more than 3 translations, found 10"),
        (["--batch-lines", "0"], "found --batch-lines 0, expected 1 or more"),
        (["--batch-lines", "-1"], "found --batch-lines -1, expected 1 or more"),
        (["--threads", "0"], "found 0 CPU threads, expected 1 or more"),
        (["--device", "gpu"], "no device 'gpu'; there are: auto, cpu"),
        (["--device", "cuda:99"], "no device 'cuda:99'; there are: auto, cpu"),
        (["--device", "meta"], "no device 'meta'; there are: auto, cpu"),
    ],
)
def test_options_that_cannot_be(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, options: list[str], said: str
) -> None:
    status, out, err = translate(capsys, monkeypatch, b"bank\n", "--run", str(run), *options)
    assert (status, out) == (2, "")
    assert said in err and err.count("\n") == 1


def test_measuring_nothing_is_refused(run: Path, toy_task: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--runs", json.dumps({"row": str(run)}), "--task", str(toy_task), "--repeats", "0", "--out", "m"]
    assert main(["measure", *arguments]) == 2
    assert "found --repeats 0, expected 1 or more" in capsys.readouterr().err


def test_translations_are_utf8_whatever_the_locale(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mdnmt.decode.translator.plain_text", lambda *given: "déjà 中")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bank\n"), encoding="ascii"))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    assert main(["translate", "--device", "cpu", "--run", str(run)]) == 0
    assert written.getvalue() == "déjà 中\n".encode()


def test_weights_are_rounded_once_not_at_every_call(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        "mdnmt.decode.translator.prepare_for_decoding", lambda model, precision: asked.append(precision) or model
    )
    translator = Translator(run, torch.device("cpu"))
    for precision in ("int8", "int8", "fp32"):
        translator.translate(["bank"], Decoding(precision=precision), ["law"])
    assert asked == ["int8", "fp32"]


@pytest.fixture
def _python_takes_ctrl_c() -> Iterator[None]:
    # Tests that a shell runs in the background inherit that SIGINT is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_python_takes_ctrl_c")
@pytest.mark.parametrize("place", ["translating", "writing"])
def test_ctrl_c_leaves_whole_lines(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    class Output(io.BytesIO):
        """The second batch meets Ctrl-C in the middle of a write."""

        def write(self, data: Any) -> int:
            if place == "writing" and self.tell():
                super().write(data[:3])
                signal.raise_signal(signal.SIGINT)
                return super().write(data[3:])
            return super().write(data)

    original, calls, written = Translator.translate, itertools.count(), Output()

    def interrupted(self: Translator, *given: Any) -> Any:
        if next(calls) == 1 and place == "translating":
            signal.raise_signal(signal.SIGINT)
        return original(self, *given)

    monkeypatch.setattr(Translator, "translate", interrupted)
    monkeypatch.setattr("mdnmt.decode.translator.plain_text", lambda *given: "déjà vu")
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="utf-8"))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"bank\n" * 8)))
    assert main(["translate", "--device", "cpu", "--run", str(run), "--batch-lines", "2"]) == 130
    assert written.getvalue().decode() == "déjà vu\n" * {"translating": 2, "writing": 4}[place]
    assert capsys.readouterr().err == "mdnmt translate: stopped by Ctrl-C\n"


@pytest.mark.parametrize("name", ["stdin", "stdout"])
def test_a_closed_stream_is_one_line(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, name, None)
    assert main(["translate", "--device", "cpu", "--run", "nowhere"]) == 2
    assert f"standard {name[3:]}put is closed" in capsys.readouterr().err
