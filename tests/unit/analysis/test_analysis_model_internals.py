"""What the analyses write is what the model does, word by word and sentence by sentence; what it costs is counted."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mdnmt.analysis.model_internals import PLACES, analyse
from mdnmt.analysis.resources import measure_run, parameters_of_a_domain
from mdnmt.cli import main
from mdnmt.config.decoding import Decoding
from mdnmt.config.study import AnalysisConfig
from mdnmt.decode.translator import Translator
from mdnmt.errors import MdnmtError
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.batches import collate, spread
from mdnmt.train.run import train_run

CPU = torch.device("cpu")
ROUNDING = 0.51 * 10**-PLACES  # of the values that `analyse` stores
FEW = AnalysisConfig(proportion_sentences=3, vector_sentences=4, sample_sentences=2)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tmp_path_factory.mktemp(f"analysed-{name}") for name in ("transformer", "waldm")}


@pytest.fixture
def runs(folders: dict[str, Path], make_spec: Any, toy_task: Path) -> dict[str, Path]:
    for builder, folder in folders.items():
        if not (folder / "run.json").exists():
            train_run(make_spec(builder, max_updates=4), toy_task, folder, device="cpu")
    return folders


def test_proportions_are_those_of_each_real_word_of_the_chosen_sentences(
    runs: dict[str, Path], toy_task: Path, tmp_path: Path
) -> None:
    data, translator = TaskData.load(toy_task), Translator(runs["waldm"], CPU)
    analyse(translator, data, FEW, tmp_path)
    arrays = np.load(tmp_path / "proportions.npz")
    split = data.split("valid")
    rows = np.concatenate([spread(np.flatnonzero(split.domains == label), 3) for label in (0, 1)])
    # One sentence at a time, without padding: as bags of words, since batches may come in another order.
    for side, lengths in (("encoder", split.source.lengths), ("decoder", split.target.lengths)):
        expected, labels = [], []
        for row in rows:
            with torch.inference_mode():
                context = translator.model(collate(split, np.array([row]), bos=1)).context
            expected.append(
                torch.stack([layer.softmax(-1)[0] for layer in context.recorded("proportion", side)]).numpy()
            )
            labels += [int(split.domains[row])] * int(lengths[row])
        want = np.concatenate(expected, axis=1)
        assert arrays[side].shape == want.shape == (1, lengths[rows].sum(), 2)
        np.testing.assert_allclose(np.sort(arrays[side], axis=1), np.sort(want, axis=1), rtol=0, atol=ROUNDING)
        assert sorted(arrays[f"{side}_domain"].tolist()) == sorted(labels)
        # Each word keeps its own domain beside its own proportion.
        for label in (0, 1):
            mine = arrays[side][:, arrays[f"{side}_domain"] == label]
            np.testing.assert_allclose(mine.mean(1), want[:, np.array(labels) == label].mean(1), rtol=0, atol=ROUNDING)


def test_sentences_carry_a_proportion_for_every_piece(runs: dict[str, Path], toy_task: Path, tmp_path: Path) -> None:
    data = TaskData.load(toy_task)
    analyse(Translator(runs["waldm"], CPU), data, FEW, tmp_path)
    sentences = json.loads((tmp_path / "sentences.json").read_text())
    assert [sentence["domain"] for sentence in sentences] == ["economy"] * 2 + ["law"] * 2
    for sentence in sentences:
        assert np.shape(sentence["encoder"]) == (1, len(sentence["source_tokens"]), 2)
        assert np.shape(sentence["decoder"]) == (1, len(sentence["target_tokens"]), 2)
        assert sentence["source_tokens"][-1] == "</s>" and sentence["target_tokens"][0] == "<s>"


def test_vectors_are_the_mean_encoder_states_of_test_sentences(
    runs: dict[str, Path], toy_task: Path, tmp_path: Path
) -> None:
    data, translator = TaskData.load(toy_task), Translator(runs["transformer"], CPU)
    analyse(translator, data, FEW, tmp_path)
    found = np.load(tmp_path / "vectors.npz")
    split = data.split("test")
    rows = np.concatenate([spread(np.flatnonzero(split.domains == label), 4) for label in (0, 1)])
    want = {}
    for row in rows:
        ids = torch.from_numpy(split.source[int(row)].astype(np.int64)).unsqueeze(0)
        with torch.inference_mode():
            state = translator.model.start(ids, ids != 0).memory.output_BSD[0].mean(0)
        want.setdefault(int(split.domains[row]), []).append(state.numpy())
    for label, vectors in want.items():
        mine = found["vectors"][found["domain"] == label]
        np.testing.assert_allclose(np.sort(mine, axis=0), np.sort(np.stack(vectors), axis=0), rtol=0, atol=ROUNDING)
        np.testing.assert_array_equal(mine, mine.round(PLACES))
    assert np.load(tmp_path / "proportions.npz").files == []  # a Transformer has none


def test_spread_takes_from_the_whole_range() -> None:
    rows = np.arange(100, 110)
    assert spread(rows, 5).tolist() == [100, 102, 104, 106, 108]
    assert spread(rows, 20).tolist() == rows.tolist()


def test_measuring_counts_parameters_and_changes_nothing(runs: dict[str, Path], toy_task: Path) -> None:
    before = (runs["waldm"] / "model.safetensors").read_bytes()
    found = measure_run(runs["waldm"], toy_task, Decoding(beam_size=2), device=CPU, repeats=3)
    model = Translator(runs["waldm"], CPU).model
    assert found["num_parameters"] == sum(parameter.numel() for parameter in model.parameters())
    data = TaskData.load(toy_task)
    epoch_words = int(data.split("train").target.lengths.sum())
    values = found["values"]
    pairs = zip(values["epoch_seconds"], values["train_tokens_per_second"], strict=True)
    assert [seconds * rate for seconds, rate in pairs] == pytest.approx([epoch_words] * 3)
    assert all(value > 0 for name, value in found.items() if name not in ("values", "others_percent"))
    assert {name: statistics.median(values) for name, values in found["values"].items()}.items() <= found.items()
    assert all(len(values) == 3 for values in found["values"].values())
    assert (runs["waldm"] / "model.safetensors").read_bytes() == before


@pytest.mark.slow
def test_parameters_of_one_domain_are_those_that_no_other_shares(random_method: Any) -> None:
    adapters, plain = random_method("adapters", num_domains=3), random_method("transformer")
    own = sum(part.numel() for name, part in adapters.model.named_parameters() if ".adapters." in name)
    assert parameters_of_a_domain(adapters, 3) == {"parameters_per_domain": own / 3}
    total = sum(one.numel() for one in plain.model.parameters())
    assert parameters_of_a_domain(plain, 1) == {"parameters_per_domain": total}
    assert parameters_of_a_domain(plain, 3) == {}
    plain.model.encoder.requires_grad_(False)  # frozen, but all domains share the rest
    assert parameters_of_a_domain(plain, 3) == {}


@pytest.mark.slow
def test_the_verb_measures_each_run_in_a_process_of_its_own(
    runs: dict[str, Path], toy_task: Path, tmp_path: Path
) -> None:
    named = json.dumps({name: str(folder) for name, folder in runs.items()})
    out = tmp_path / "measure.json"
    arguments = ["--task", str(toy_task), "--repeats", "1", "--threads", "1", "--device", "cpu"]
    assert main(["measure", "--runs", named, "--out", str(out), *arguments]) == 0
    found = json.loads(out.read_text())
    assert set(found["rows"]) == set(runs) and found["hardware"]["cores"] == 1
    # Two measurements in one process would both report the larger one's peak.
    assert len({row["peak_memory_mb"] for row in found["rows"].values()}) == 2
    missing = json.dumps({"gone": str(tmp_path / "gone")})
    assert main(["measure", "--runs", missing, "--out", str(tmp_path / "no.json"), *arguments]) == MdnmtError.exit_code
    assert not (tmp_path / "no.json").exists()
