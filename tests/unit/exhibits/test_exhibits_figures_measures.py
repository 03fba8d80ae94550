"""The numbers beside the figures, from small analyses whose right numbers can be worked out by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from mdnmt.exhibits import figure_numbers, save_figure
from mdnmt.exhibits.registry import parse_figure
from mdnmt.train.metrics_log import write_curves

Values = dict[tuple[Any, ...], float]
DOMAINS = ["law", "news"]
LEXICON = {
    "words": ["and", "bank", "judge", "paper", "rare"],
    "counts": [[500, 450], [20, 22], [80, 0], [0, 90], [1, 1]],
    "totals": [1000, 1000],
}


@pytest.fixture
def make_analysis(tmp_path: Path) -> Callable[..., str]:
    """Return a function that writes an analysis; `words` are (number, position, domain, [layers][K])."""

    def make(name: str, words: Sequence[tuple[int, int, int, Any]], kind: str = "proportions", **more: Any) -> str:
        folder = tmp_path / name
        folder.mkdir()
        values = np.array([word[3] for word in words], dtype="f4").swapaxes(0, 1)
        occurrence = more.pop("occurrence", range(len(words)))
        arrays = {"encoder": values, "encoder_occurrence": np.array(occurrence)}
        for place, part in enumerate(("word", "position", "domain")):
            arrays[f"encoder_{part}"] = np.array([word[place] for word in words])
        empty = {"proportions", "attention"} - {kind}
        np.savez(folder / f"{kind}.npz", **arrays)
        for other in empty:
            np.savez(folder / f"{other}.npz")
        for file, value in {"lexicon": {"source": LEXICON}, "meta": {"domains": DOMAINS, "slots": []}, **more}.items():
            (folder / f"{file}.json").write_text(json.dumps(value))
        return str(folder)

    return make


def measured(spec: dict[str, Any], tmp_path: Path) -> Values:
    """Return what is written beside a figure: (method, seed, name, values of `at` by their keys' order) -> value."""
    path = tmp_path / "numbers.json"
    save_figure.save(parse_figure(json.dumps({"title": "T", **spec})), None, None, path)
    rows = json.loads(path.read_text())["measures"]
    found = {(row["method"], row["seed"], row["name"], *row["at"].values()): row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def proportions(run: dict[str, Any], tmp_path: Path) -> Values:
    found = measured(
        {"kind": "proportion_histograms", "run": {"label": "E", "method": "m", "seed": 1, **run}}, tmp_path
    )
    return {(key[2], *key[3:]): value for key, value in found.items()}


def even(*own: float) -> list[list[float]]:
    """Return the proportions of a word of the first domain, one a layer."""
    return [[share, 1 - share] for share in own]


def test_entropy_of_words_and_of_the_end(make_analysis: Any, tmp_path: Path) -> None:
    words = [(0, 0, 0, even(0.5, 1.0)), (1, 1, 0, even(1.0, 1.0)), (-1, 2, 0, even(0.5, 0.5)), (-2, 0, 0, even(0, 0))]
    found = proportions({"analysis": make_analysis("a", words)}, tmp_path)
    assert found["entropy", 1, "encoder"] == pytest.approx(0.5)
    assert found["entropy", 2, "encoder"] == pytest.approx(0.0)
    assert found["proportion", 1, "encoder"] == pytest.approx((0.5 + 1.0) / 2)  # of words alone
    assert found["proportion", 2, "encoder"] == pytest.approx(1.0)
    assert found["entropy_end", 1, "encoder"] == found["entropy_end", 2, "encoder"] == pytest.approx(1.0)


def test_variances_are_of_the_share_of_the_sentences_own_domain(make_analysis: Any, tmp_path: Path) -> None:
    words = [(0, 0, 0, even(0.2, 0.4)), (1, 1, 0, even(0.4, 0.4)), (0, 0, 1, even(0.5, 0.1)), (1, 1, 1, even(0.5, 0.3))]
    found = proportions({"analysis": make_analysis("a", words)}, tmp_path)
    # law: 0.2, 0.4; news: 0.5, 0.5 in the first layer, 0.9, 0.7 in the second.
    assert found["variance_words", 1, "encoder"] == pytest.approx((0.01 + 0.0) / 2)
    assert found["variance_words", 2, "encoder"] == pytest.approx((0.0 + 0.01) / 2)
    assert found["variance_layers", "encoder"] == pytest.approx((0.01 + 0.0 + 0.04 + 0.01) / 4)


def test_pieces_of_a_word_count_as_one(make_analysis: Any, tmp_path: Path) -> None:
    words = [(0, 0, 0, even(0.0)), (1, 1, 0, even(1.0)), (1, 2, 0, even(0.0))]
    found = proportions({"analysis": make_analysis("a", words, occurrence=[0, 1, 1])}, tmp_path)
    assert found["entropy", 1, "encoder"] == pytest.approx(0.5)  # 0 and 1, not 0, 0, 0
    assert found["variance_words", 1, "encoder"] == pytest.approx(0.0625)


def test_positions_of_a_word_are_compared_within_a_domain(make_analysis: Any, tmp_path: Path) -> None:
    law = [(0, 0, 0, even(0.2)), (0, 0, 0, even(0.4)), (0, 5, 0, even(0.7)), (1, 3, 0, even(0.9)), (1, 3, 0, even(0.1))]
    found = proportions({"analysis": make_analysis("a", [*law, (0, 9, 1, even(0.0))])}, tmp_path)
    assert found["variance_positions", 1, "encoder"] == pytest.approx(0.04)  # of 0.3 and 0.7: word 1 has one place


def test_the_share_goes_with_how_often_the_domain_uses_the_word(make_analysis: Any, tmp_path: Path) -> None:
    shares = {0: (0.5, 0.2), 1: (0.4, 0.9), 2: (0.9, 0.1), 3: (0.1, 0.7), 4: (0.99, 0.99)}
    words = [(number, place, 0, even(*own)) for number, own in shares.items() for place in range(3)]
    found = proportions({"analysis": make_analysis("a", [*words, (2, 0, 0, even(0.9, 0.1))])}, tmp_path)
    # How much of a word's use is law: judge > and > bank > paper; `rare` is seen too seldom to know.
    assert found["frequency_correlation", 1, "encoder"] == pytest.approx(1.0)
    assert found["frequency_correlation", 2, "encoder"] == pytest.approx(spearmanr([3, 2, 4, 1], [2, 4, 1, 3])[0])


def test_words_are_sorted_by_training_text_alone(make_analysis: Any, tmp_path: Path) -> None:
    words = [
        (0, 0, 0, even(0.3)),
        (1, 1, 0, even(0.5)),
        (2, 2, 0, even(0.8)),
        (3, 3, 1, even(0.4)),
        (4, 0, 0, even(0.9)),
    ]
    lexicon = {**LEXICON, "words": [*LEXICON["words"], *(f"w{n}" for n in range(3))]}
    lexicon["counts"] = [*LEXICON["counts"], [30, 30], [3, 3], [99, 99]]  # no letters alone, so no class
    found = proportions({"analysis": make_analysis("a", words, lexicon={"source": lexicon})}, tmp_path)
    # With so few words, all that both domains use are function words.
    assert found["proportion_function", 1, "encoder"] == pytest.approx((0.3 + 0.5 + 0.9) / 3)
    assert found["proportion_specific", 1, "encoder"] == pytest.approx((0.8 + 0.6) / 2)
    assert ("proportion_shared", 1, "encoder") not in found


def test_shared_words_are_no_function_words(make_analysis: Any, tmp_path: Path) -> None:
    names = [chr(97 + n) for n in range(20)]
    lexicon = {
        "source": {
            "words": [*names, "bank", "seldom", "judge"],
            "counts": [[100, 100]] * 20 + [[20, 22], [2, 2], [40, 14]],
            "totals": [5000, 5000],
        }
    }
    words = [(20, 0, 0, even(0.5)), (0, 1, 0, even(0.1)), (21, 2, 0, even(0.9)), (22, 3, 0, even(0.9))]
    found = proportions({"analysis": make_analysis("a", words, lexicon=lexicon)}, tmp_path)
    assert found["proportion_shared", 1, "encoder"] == pytest.approx((0.5 + 0.9) / 2)  # bank, judge (entropy 0.83)
    assert found["proportion_function", 1, "encoder"] == pytest.approx(0.1)


def test_every_seed_is_measured_and_seeds_are_compared(make_analysis: Any, tmp_path: Path) -> None:
    one = make_analysis("one", [(0, 0, 0, even(0.2)), (1, 1, 0, even(0.4))])
    two = make_analysis("two", [(0, 0, 0, even(0.4)), (1, 1, 0, even(0.4))])
    run = {"label": "E", "method": "m", "analysis": one, "seed": 1, "repeats": [{"analysis": two, "seed": 7}]}
    found = measured({"kind": "proportion_words", "run": run}, tmp_path)
    assert found["m", 1, "variance_words", 1, "encoder"] == pytest.approx(0.01)
    assert found["m", 7, "variance_words", 1, "encoder"] == pytest.approx(0.0)
    assert found["m", None, "variance_seeds", 1, "encoder"] == pytest.approx((0.01 + 0.0) / 2)
    alone = measured({"kind": "proportion_words", "run": {**run, "repeats": []}}, tmp_path)
    assert not [key for key in alone if key[2] == "variance_seeds"]


def test_a_method_without_proportions_has_no_measures_of_them(make_analysis: Any, tmp_path: Path) -> None:
    folder = make_analysis("a", [(0, 0, 0, even(0.2))], kind="attention")
    assert proportions({"analysis": folder}, tmp_path) == {}


def test_attention_by_domain_and_by_class_of_word(make_analysis: Any, tmp_path: Path) -> None:
    def twice(*shares: float) -> list[list[float]]:
        return [[*shares], [*shares[::-1]]] if shares[0] == 0.5 else [[*shares]] * 2

    words = [
        (0, 0, 0, twice(0.5, 0.5, 0.0)[:1] * 2),
        (2, 1, 0, twice(1.0, 0.0, 0.0)),
        (3, 0, 1, twice(0.0, 1.0, 0.0)),
        (1, 1, 1, [[0.6, 0.4, 0.0], [0.2, 0.8, 0.0]]),
        (-1, 2, 1, twice(0.0, 0.0, 1.0)),
    ]
    run = {"label": "G", "method": "dsa", "seed": 1, "analysis": make_analysis("a", words, kind="attention")}
    found = {key[2:]: value for key, value in measured({"kind": "domain_attention", "run": run}, tmp_path).items()}
    assert [found["attention", "law", slot] for slot in (1, 2, 3)] == pytest.approx([0.75, 0.25, 0.0])
    assert [found["attention", "news", slot] for slot in (1, 2, 3)] == pytest.approx([0.2, 0.8, 0.0])
    half = math.log(2) / math.log(3)
    mixed = -(0.4 * math.log(0.4) + 0.6 * math.log(0.6)) / math.log(3)  # of the mean over layers
    assert found["entropy",] == pytest.approx((half + mixed) / 4)
    assert found["entropy_function",] == pytest.approx((half + mixed) / 2)
    assert found["entropy_specific",] == pytest.approx(0.0)
    # One-sided use: paper > judge > and > bank; one-sided attention: paper = judge > bank > and.
    assert found["specificity_correlation",] == pytest.approx(spearmanr([4, 3, 2, 1], [3.5, 3.5, 1, 2])[0])
    assert found["largest_function",] == pytest.approx((0.5 + 0.6) / 2)  # and, bank
    assert found["largest_specific",] == pytest.approx(1.0)
    assert not [key for key in found if key[0].startswith("own_slot")]  # no slot is tied to a domain


@pytest.mark.parametrize(("slots", "own"), [(["law", "news"], 0.7), (["news", "law"], 0.2)])
def test_attention_to_the_slot_of_the_domain_that_uses_the_word(
    make_analysis: Any, tmp_path: Path, slots: list[str], own: float
) -> None:
    # judge is of law, paper of news; both in sentences of the other domain. The first slot has most of judge.
    words = [(2, 0, 1, [[0.8, 0.1, 0.1]] * 2), (3, 1, 0, [[0.2, 0.5, 0.3], [0.4, 0.7, 0.0]])]
    meta = {"domains": DOMAINS, "slots": slots}
    run = {"label": "G", "method": "dsa", "seed": 1, "analysis": make_analysis("a", words, kind="attention", meta=meta)}
    found = {key[2:]: value for key, value in measured({"kind": "domain_attention", "run": run}, tmp_path).items()}
    assert found["own_slot_specific",] == pytest.approx(own)
    assert found["entropy_specific",] < 0.8  # the same in both cases: entropy does not see which slot it is


def test_gates_of_real_text(make_analysis: Any, tmp_path: Path) -> None:
    used = {"law": [[1.0, 0.0], [0.9, 0.1]], "news": [[0.0, 1.0], [0.9, 0.1]]}
    folder = make_analysis("a", [(0, 0, 0, even(0.5))], gates=used)
    none = make_analysis("b", [(0, 0, 0, even(0.5))], gates={})
    systems = [
        {"label": "Mix", "method": "mix", "analysis": folder, "seed": 1},
        {"label": "Baseline", "method": "mixed", "analysis": none, "seed": 1},
    ]
    found = measured({"kind": "gate_use", "analysed": systems}, tmp_path)
    assert {key[0] for key in found} == {"mix"}
    assert [found["mix", 1, "gate", "law", expert, 2] for expert in (1, 2)] == [0.9, 0.1]
    assert [found["mix", 1, "gate", "news", expert, 1] for expert in (1, 2)] == [0.0, 1.0]
    by_layer = {key[2:]: value for key, value in found.items() if key[2] != "gate"}
    assert by_layer["use_entropy", 1] == pytest.approx(1.0)
    assert by_layer["divergence", 1] == pytest.approx(1.0)
    assert by_layer["largest", 1] == pytest.approx(0.5)
    assert by_layer["use_entropy", 2] == pytest.approx(-(0.9 * math.log2(0.9) + 0.1 * math.log2(0.1)))
    assert by_layer["divergence", 2] == pytest.approx(0.0)
    assert by_layer["largest", 2] == pytest.approx(0.9)


def curve(path: Path, perplexity: dict[int, float], bleu: dict[int, float] | None = None) -> str:
    records = []
    for update, value in perplexity.items():
        accuracy = {"accuracy": 1 / value, "bleu": (bleu or {}).get(update)}
        records.append({"update": update, "epoch": 1, "split": "valid", "domain": "all", "ppl": value, **accuracy})
    records.append({"update": 10, "epoch": 1, "split": "train", "domain": "all", "loss": 6.5})
    write_curves(records, path)
    return str(path)


def test_curves_say_where_they_end_and_when_they_get_there(tmp_path: Path) -> None:
    slow = {100: 50.0, 200: 30.0, 300: 20.0, 400: 10.0}
    fast = {100: 30.0, 200: 10.5, 300: 9.0, 400: 9.0}
    files = {
        ("mixed", 1): curve(tmp_path / "a.tsv", slow, {100: 1.0, 200: 3.0, 300: 2.0, 400: 4.0}),
        ("mixed", 2): curve(tmp_path / "b.tsv", {400: 20.0}),
        ("edc", 1): curve(tmp_path / "c.tsv", fast, {400: 9.0}),
        ("edc", 2): curve(tmp_path / "d.tsv", {200: 20.9, 400: 18.0}),
        ("edc", 3): curve(tmp_path / "e.tsv", {400: 11.0}, {400: 8.0}),
    }
    systems = [
        {
            "label": method,
            "method": method,
            "runs": [{"curves": file, "seed": seed} for (name, seed), file in files.items() if name == method],
        }
        for method in ("mixed", "edc")
    ]
    found = measured({"kind": "curves", "systems": systems, "panels": ["valid_ppl"]}, tmp_path)
    assert found["mixed", 1, "final_valid_ppl"] == 10.0 and found["mixed", 1, "final_train_loss"] == 6.5
    assert found["mixed", 1, "updates"] == 400
    assert found["mixed", 1, "updates_to"] == 400 and found["edc", 1, "updates_to"] == 200  # 10.5 is within 5 %
    assert found["edc", 2, "updates_to"] == 200  # of the same seed
    assert ("edc", 3, "updates_to") not in found  # no such seed of the first system: its first one counts
    assert found["mixed", 1, "slope_last_tenth"] == pytest.approx(10 / 14 - 1)  # 14 at update 360
    assert found["edc", 1, "slope_last_tenth"] == pytest.approx(0.0)
    assert found["mixed", 1, "accuracy_bleu_correlation"] == pytest.approx(spearmanr([1, 2, 3, 4], [1, 3, 2, 4])[0])
    ends = [(1 / 10, 4.0), (1 / 9, 9.0), (1 / 11, 8.0)]
    assert found["", None, "accuracy_bleu_correlation"] == pytest.approx(spearmanr(*zip(*ends, strict=True))[0])
    assert not [key for key in found if key[2] == "final_train_accuracy"]


@pytest.mark.parametrize(
    ("perplexity", "share"),
    [
        ({100: 800.0, 200: 400.0, 300: 200.0, 400: 100.0, 500: 98.0}, 0.0),  # the same share in every interval
        ({100: 800.0, 200: 200.0, 300: 120.0, 400: 102.0, 500: 100.0}, 0.0),  # always more slowly
        ({100: 800.0, 200: 790.0, 300: 785.0, 400: 100.0, 500: 100.0}, 0.4),
        ({100: 800.0, 200: 810.0, 300: 100.0, 400: 99.0}, 0.25),  # it rises
        ({100: 800.0, 150: 300.0, 250: 298.0, 400: 100.0, 500: 100.0}, 0.2),
        ({100: 800.0, 200: 130.0, 300: 130.0, 400: 100.0}, 0.0),  # not early: within half of the last
        ({100: 800.0, 200: 800.0, 300: 800.0}, 0.0),  # nothing is learnt, and nothing falls faster later
    ],
)
def test_a_plateau_is_left_by_a_faster_fall(tmp_path: Path, perplexity: dict[int, float], share: float) -> None:
    runs = [{"curves": curve(tmp_path / "a.tsv", perplexity), "seed": 1}]
    found = measured({"kind": "curves", "systems": [{"label": "M", "method": "m", "runs": runs}]}, tmp_path)
    assert found["m", 1, "plateau"] == pytest.approx(share)


def test_two_validations_show_no_plateau(tmp_path: Path) -> None:
    runs = [{"curves": curve(tmp_path / "a.tsv", {100: 800.0, 200: 100.0}), "seed": 1}]
    found = measured({"kind": "curves", "systems": [{"label": "M", "method": "m", "runs": runs}]}, tmp_path)
    assert ("m", 1, "plateau") not in found


def test_an_option_is_measured_as_the_layers_use_it(make_analysis: Any, tmp_path: Path) -> None:
    folder = make_analysis("a", [(0, 0, 0, even(0.9, 0.2)), (1, 0, 1, even(0.2, 0.1))])
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({"domains": {}, "mean": {"bleu": 21.5}}))
    run = {"scores": str(scores), "analysis": folder, "seed": 3}
    points = [{"value": value, "label": str(value), "method": f"m{value}", "runs": [run]} for value in (0, 1)]
    points.append({"value": 0.5, "label": "0.5", "method": "m.5", "runs": [{**run, "analysis": None}]})
    baseline = {"value": 0, "label": "Mixed", "method": "mixed", "runs": [{"scores": str(scores), "seed": 3}]}
    found = measured({"kind": "option_sweep", "points": points, "baseline": baseline}, tmp_path)
    assert found["m1", 3, "entropy", 1] == pytest.approx(1.0)
    each = [-(p * math.log2(p) + (1 - p) * math.log2(1 - p)) for p in (0.9, 0.2, 0.2, 0.1)]
    assert found["m0", 3, "entropy", 0] == pytest.approx(np.mean(each), abs=1e-6)
    assert found["m0", 3, "prediction", 0] == pytest.approx(0.75)
    assert found["m0", 3, "bleu", 0] == found["m.5", 3, "bleu", 0.5] == found["mixed", 3, "bleu"] == 21.5
    assert ("m.5", 3, "entropy", 0.5) not in found


def test_ambiguous_words_by_domain(tmp_path: Path) -> None:
    counts = {"law": {"words": 8, "right": 6, "confused": 1}, "news": {"words": 0, "right": 0, "confused": 0}}
    path = tmp_path / "ambiguity.json"
    path.write_text(json.dumps({"systems": [{"method": "edc", "label": "x", "seed": 2, "domains": counts}]}))
    systems = [{"label": "E/DC", "method": "edc"}, {"label": "Mixed", "method": "mixed"}]
    found = measured({"kind": "ambiguity", "ambiguity": str(path), "systems": systems}, tmp_path)
    assert found == {
        ("edc", 2, "num_words", "law"): 8.0,
        ("edc", 2, "accuracy", "law"): 0.75,
        ("edc", 2, "confused", "law"): 0.125,
        ("edc", 2, "num_words", "news"): 0.0,
    }


def test_sentence_vectors_of_every_seed(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for name, apart in (("near", 0.0), ("far", 9.0)):
        (tmp_path / name).mkdir()
        domain = np.repeat([0, 1], 20)
        vectors = generator.normal(0, 1, (40, 4)) + apart * domain[:, None]
        np.savez(tmp_path / name / "vectors.npz", vectors=vectors.astype("f4"), domain=domain)
    run = {"label": "M", "method": "m", "analysis": str(tmp_path / "near"), "seed": 1}
    found = measured(
        {"kind": "tsne", "systems": [{**run, "repeats": [{"analysis": str(tmp_path / "far"), "seed": 2}]}]}, tmp_path
    )
    assert found["m", 1, "silhouette"] < 0.2 and found["m", 2, "silhouette"] > 0.7
    assert found["m", 1, "probe_accuracy"] < 0.8 and found["m", 2, "probe_accuracy"] == 1.0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=30))
def test_rank_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = zip(*pairs, strict=True)
    found = figure_numbers.rank_correlation(one, other)
    if len(set(one)) < 2 or len(set(other)) < 2:
        assert math.isnan(found)
    else:
        assert found == pytest.approx(spearmanr(one, other)[0])


def test_divergence_is_in_bits_and_a_mean_over_pairs() -> None:
    assert figure_numbers.divergence([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]) == pytest.approx(2 / 3)
    assert math.isnan(figure_numbers.divergence([[1.0, 0.0]]))
    assert figure_numbers.entropy([[1.0]]).tolist() == [0.0]
