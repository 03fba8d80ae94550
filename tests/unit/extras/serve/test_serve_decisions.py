"""The numbers of the page are those of `mdnmt analyse`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from page_server import service_of, serving, translate

from mdnmt.analysis.model_internals import PLACES
from mdnmt.cli import main
from mdnmt.decode.translator import Translator
from mdnmt.extras.serve.decisions import decisions
from mdnmt.tasks.task_data import TaskData

CPU = torch.device("cpu")
ROUNDING = 0.51 * 10**-PLACES  # of the values that `analyse` stores
SIDES = ("encoder", "memory", "decoder")
FILES = {"waldm": "proportions.npz", "dsa": "attention.npz"}


def analysed(run: Path, task: Path, out: Path) -> Path:
    """Run the verb on the first validation sentence of each domain."""
    spec = json.dumps({"proportion_sentences": 1, "vector_sentences": 1, "sample_sentences": 1})
    places = ["--run", str(run), "--task", str(task), "--out", str(out)]
    assert main(["analyse", *places, "--spec", spec, "--device", "cpu", "--threads", "1"]) == 0
    return out


def of_sentence(translator: Translator, data: TaskData, label: int, slots: tuple[str, ...] = ()) -> dict[str, Any]:
    split = data.split("valid")
    row = int(np.flatnonzero(split.domains == label)[0])
    source, target = split.source[row], split.target[row]
    eos = translator.target_vocab.eos
    ids = [int(one) for one in target if one != eos]
    found = decisions(
        translator, np.append(source[source != eos], eos).astype(np.int32), ids, data.domains[label], slots
    )
    assert found is not None
    return found


@pytest.mark.parametrize("form", list(FILES))
def test_they_equal_analyse(form: str, finished: Callable[[str], Path], toy_task: Path, tmp_path: Path) -> None:
    data, translator = TaskData.load(toy_task), Translator(finished(form), CPU)
    arrays = np.load(analysed(finished(form), toy_task, tmp_path) / FILES[form])
    for label in range(len(data.domains)):
        found = of_sentence(translator, data, label)
        for text, chosen in (("source", SIDES[:2]), ("target", SIDES[2:])):
            wanted = np.concatenate([arrays[side][:, arrays[f"{side}_domain"] == label] for side in chosen])
            assert np.asarray(found[text]["values"]).shape == wanted.shape
            np.testing.assert_allclose(found[text]["values"], wanted, rtol=0, atol=ROUNDING)
            assert len(found[text]["rows"]) == len(wanted) and len(found[text]["tokens"]) == wanted.shape[1]


@pytest.mark.parametrize("form", ["dmoe", "dmoe-domain"])
def test_gates_equal_analyse(form: str, finished: Callable[[str], Path], toy_task: Path, tmp_path: Path) -> None:
    data, translator = TaskData.load(toy_task), Translator(finished(form), CPU)
    gates = json.loads((analysed(finished(form), toy_task, tmp_path) / "gates.json").read_text())
    for label, domain in enumerate(data.domains):
        found = of_sentence(translator, data, label)
        assert found["target"]["rows"] == [] and found["components"] == ["expert 1", "expert 2"]
        mean = np.asarray(found["source"]["values"]).mean(axis=1)
        np.testing.assert_allclose(mean, gates[domain], rtol=0, atol=1e-6)


def test_they_equal_analyse_over_http(finished: Callable[[str], Path], toy_task: Path, tmp_path: Path) -> None:
    data = TaskData.load(toy_task)
    arrays = np.load(analysed(finished("waldm"), toy_task, tmp_path) / "proportions.npz")
    text = data.text("valid", data.domains[1], data.source_lang)[0]
    with serving(service_of(finished("waldm"))) as port:
        status, events = translate(port, text=text, runs=[0], domain=data.domains[1])
    assert status == 200
    wanted = np.concatenate([arrays[side][:, arrays[f"{side}_domain"] == 1] for side in ("encoder", "memory")])
    found = events[1]["decisions"]
    np.testing.assert_allclose(found["source"]["values"], wanted, rtol=0, atol=ROUNDING)
    assert found["components"] == list(data.domains)
    assert found["source"]["rows"] == ["encoder layer 1", "encoder layer 2", "encoder output"]
    assert found["source"]["tokens"][-1] == "</s>" and found["target"]["tokens"][0] == "<s>"


def test_slots_have_the_names_that_training_gave_them(finished: Callable[[str], Path], toy_task: Path) -> None:
    data, translator = TaskData.load(toy_task), Translator(finished("dsa"), CPU)
    assert of_sentence(translator, data, 0)["components"] == ["slot 1", "slot 2", "slot 3"]
    assert of_sentence(translator, data, 0, data.domains)["components"] == [*data.domains, "slot 3"]


def test_a_plain_transformer_decides_nothing(finished: Callable[[str], Path]) -> None:
    assert decisions(Translator(finished("mixed"), CPU), np.array([5, 6, 2], dtype=np.int32), [5], None) is None
