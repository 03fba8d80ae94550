"""The figures: what they are computed from, what is in their files, the same bytes twice."""

import json
from itertools import pairwise

import numpy as np
import pytest
from chosen_cases import chosen_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.text import Text
from PIL import Image

from mdnmt.errors import DataError
from mdnmt.exhibits import analysis_files, figure_style, save_figure
from mdnmt.exhibits.figures import curves, proportion_histograms, tsne
from mdnmt.exhibits.figures.proportion_heatmap import HeatmapSpec
from mdnmt.exhibits.registry import parse_figure
from mdnmt.exhibits.rows import AnalysedRun
from mdnmt.fingerprint import sha256_file
from mdnmt.train.metrics_log import write_curves

DOMAINS = ["law", "news", "talks"]


@pytest.fixture
def analysed(tmp_path):
    """Return an analysis directory of a toy run with 2 layers and 3 domains."""
    generator = np.random.default_rng(0)
    folder = tmp_path / "analysis"
    folder.mkdir()

    def proportions(words):
        raw = generator.random((2, words, 3))
        return raw / raw.sum(-1, keepdims=True)

    sentences = []
    for number in range(9):
        source = ["the", "cost", "$5_x^", "mi@@", "lk", "&lt;b&gt;", *["word"] * number, "</s>"]
        target = ["<s>", "le", "pr@@", "ix"]
        sentences.append(
            {
                "domain": DOMAINS[number % 3],
                "source_tokens": source,
                "target_tokens": target,
                "encoder": proportions(len(source)).tolist(),
                "decoder": proportions(len(target)).tolist(),
                "attention": proportions(len(source)).tolist(),
            }
        )
    (folder / "sentences.json").write_text(json.dumps(sentences))
    (folder / "meta.json").write_text(json.dumps({"domains": DOMAINS, "source_lang": "en", "target_lang": "fr"}))
    words = {
        "encoder_domain": generator.integers(0, 3, 60),
        "encoder_word": generator.integers(-1, 9, 60),
        "encoder_position": np.arange(60) % 7,
        "encoder_occurrence": np.arange(60),
    }
    np.savez(folder / "proportions.npz", encoder=proportions(60).astype("f4"), **words)
    np.savez(folder / "attention.npz", encoder=proportions(60).astype("f4"), **words)
    lexicon = {"words": [*"abcdefghi"], "counts": generator.integers(0, 9, (9, 3)).tolist(), "totals": [40, 50, 60]}
    (folder / "lexicon.json").write_text(json.dumps({"source": lexicon}))
    (folder / "gates.json").write_text(json.dumps({name: [[0.2, 0.8], [0.5, 0.5]] for name in DOMAINS}))
    domain = np.repeat(np.arange(3), 12)
    centres = generator.normal(0, 3, (3, 8))
    np.savez(
        folder / "vectors.npz", vectors=(centres[domain] + generator.normal(0, 1, (36, 8))).astype("f4"), domain=domain
    )
    return folder


def curve_file(path, values):
    """Write a curves.tsv of records like the trainer's; `values` are perplexities by update."""
    records = []
    for update, value in values.items():
        place = {"update": update, "epoch": update / 200, "domain": "all"}
        records.append({**place, "split": "train", "loss": 7.5, "learning_rate": 0.1, "tokens_per_second": 9.0})
        measured = {"loss": 4.4, "nll": 4.2, "ppl": value, "accuracy": 0.25, "bleu": 3.0}
        records += [{**place, "domain": domain, "split": "valid", **measured} for domain in ("all", "law")]
        records[-1]["ppl"] = 99.0
    write_curves(records, path)
    return str(path)


def spec_of(kind, analysed, tmp_path):
    run = {"label": "E/DC $x_1$", "analysis": str(analysed)}
    scores = tmp_path / "scores.json"
    scores.write_text(json.dumps({"domains": {}, "mean": {"bleu": 20.0}}))
    counts = {name: {"words": 4, "right": 3, "confused": 1} for name in DOMAINS}
    judged = {"systems": [{"method": "edc", "label": "E/DC", "seed": 1, "domains": counts}]}
    (tmp_path / "ambiguity.json").write_text(json.dumps(judged))
    return {
        "proportion_heatmap": {"run": run, "domain": "news"},
        "proportion_words": {"run": run, "domain": "news"},
        "domain_attention": {"run": run, "domain": "news", "min_count": 1},
        "gate_use": {"analysed": [run]},
        "option_sweep": {"points": [
            {"value": 0.05, "label": "0.05", "runs": [{"scores": str(scores), "analysis": str(analysed), "seed": 1}]}]},
        "ambiguity": {"ambiguity": str(tmp_path / "ambiguity.json"), "systems": [{"label": "E/DC", "method": "edc"}]},
        "proportion_histograms": {"run": run},
        "tsne": {"systems": [run, {"label": "DSA", "missing": "needs a corpus"}]},
        "curves": {"systems": [{"label": "a", "runs": [
            {"curves": curve_file(tmp_path / "c.tsv", {100: 5.0, 200: 4.0}), "seed": 1}]}]},
    }[kind] | {"kind": kind, "title": "A title"}  # fmt: skip


KINDS = (
    "proportion_heatmap",
    "proportion_words",
    "proportion_histograms",
    "domain_attention",
    "tsne",
    "curves",
    "gate_use",
    "ambiguity",
    "option_sweep",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", chosen_cases(KINDS, "domain_attention", "tsne", "option_sweep"))
def test_files_carry_their_provenance_and_are_the_same_twice(kind, analysed, tmp_path):
    spec = parse_figure(json.dumps(spec_of(kind, analysed, tmp_path)))
    for name in ("one", "two"):
        save_figure.save(spec, *(tmp_path / name / f"figure.{kind}" for kind in ("png", "pdf", "numbers")))
    assert (tmp_path / "one/figure.png").read_bytes() == (tmp_path / "two/figure.png").read_bytes()
    assert (tmp_path / "one/figure.numbers").read_bytes() == (tmp_path / "two/figure.numbers").read_bytes()
    numbers = json.loads((tmp_path / "one/figure.numbers").read_text())
    assert (numbers["kind"], numbers["title"]) == (kind, "A title") and numbers["measures"]
    for measure in numbers["measures"]:
        assert set(measure) == {"method", "label", "seed", "name", "at", "value"}
    pdf = (tmp_path / "one/figure.pdf").read_bytes()
    assert pdf == (tmp_path / "two/figure.pdf").read_bytes()
    assert b"CreationDate" not in pdf and b"spec_sha256" in pdf
    with Image.open(tmp_path / "one/figure.png") as picture:
        text = picture.text
        assert 900 <= picture.size[0] <= 1100
    made = json.loads(text["Provenance"])
    assert text["Title"] == "A title" and len(text["Description"]) > 20
    assert len(made["spec_sha256"]) == 64 and "matplotlib" in made["packages"]
    assert sorted(made["inputs_sha256"].values()) == sorted(sha256_file(path) for path in spec.inputs())
    assert str(tmp_path) not in json.dumps(made)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_to_draw_gives_a_page_that_says_why(kind, tmp_path):
    absent = {"label": "DSA", "missing": "needs UM-Corpus: register"}
    part = {
        "tsne": {"systems": [absent]},
        "curves": {"systems": [absent]},
        "gate_use": {"analysed": [absent]},
        "ambiguity": {"systems": [absent | {"method": "dsa"}]},
        "option_sweep": {"points": [absent | {"value": 0.5}]},
    }.get(kind, {"run": absent})
    spec = parse_figure(json.dumps({"kind": kind, "title": "T", **part}))
    save_figure.save(spec, tmp_path / "x.png", tmp_path / "x.pdf", tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_text())["measures"] == []
    with Image.open(tmp_path / "x.png") as picture:
        assert "needs UM-Corpus: register" in picture.text["Description"]


def test_words_are_joined_from_pieces_and_averaged():
    words = analysis_files.whole_words(
        ["mi@@", "lk", "a&amp;b", "</s>"], [[[1.0, 0.0], [0.0, 1.0], [0.2, 0.8], [0.5, 0.5]]]
    )
    assert words.words == ["milk", "a&amp;b", "(end)"]
    assert words.proportions.tolist() == [[[0.5, 0.5], [0.2, 0.8], [0.5, 0.5]]]
    with pytest.raises(DataError, match="2 pieces but proportions of shape"):
        analysis_files.whole_words(["a", "b"], [[[1.0]]])


def test_the_sentence_is_chosen_by_rule_not_by_looks():
    sentences = [{"domain": d, "source_tokens": ["w"] * n} for d, n in (("a", 3), ("b", 14), ("a", 12), ("a", 16))]
    assert analysis_files.choose(sentences, None, 22) == 1
    assert analysis_files.choose(sentences, "a", 22) == 2
    assert analysis_files.choose(sentences, "a", 4) == 0
    assert analysis_files.choose(sentences, "z", 22) is None


def test_heatmap_words_do_not_overlap_and_stay_inside(analysed):
    spec = HeatmapSpec(title="T", run=AnalysedRun(label="x", analysis=analysed), sentence=8)
    with figure_style.style():
        figure, _ = spec.draw()
        figure.canvas.draw()
        checked = 0
        for axes in figure.axes:
            boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
            checked += len(boxes)
            assert all(left.x1 <= right.x0 + 0.5 for left, right in pairwise(boxes))
            assert all(box.y0 >= 0 and box.x0 >= 0 for box in boxes)
    assert checked > 10


def test_a_sentence_that_is_not_there_is_refused(analysed):
    spec = HeatmapSpec(title="T", run=AnalysedRun(label="x", analysis=analysed), sentence=99)
    with pytest.raises(DataError, match="9 sentences, number 99"):
        spec.draw()


def test_gold_proportion_is_that_of_the_words_own_domain():
    p_LNK = np.array([[[0.7, 0.3], [0.4, 0.6]]])
    domain_N = np.array([0, 1])
    assert proportion_histograms.gold_proportions(p_LNK, domain_N, 0).tolist() == [[0.7]]
    assert proportion_histograms.gold_proportions(p_LNK, domain_N, 1).tolist() == [[0.6]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=80), st.integers(1, 20), st.integers(0, 3))
def test_subsample_keeps_a_bounded_seeded_part_of_each_domain(domains, most, seed):
    domain_N = np.array(domains)
    kept = tsne.subsample(domain_N, most, seed)
    assert kept.tolist() == tsne.subsample(domain_N, most, seed).tolist()
    assert len(set(kept.tolist())) == len(kept)
    for domain in set(domains):
        assert (domain_N[kept] == domain).sum() == min(most, domains.count(domain))


def test_separated_domains_are_measured_as_separate():
    generator = np.random.default_rng(0)
    domain = np.repeat([0, 1], 20)
    far = generator.normal(0, 0.1, (40, 4)) + 10 * domain[:, None]
    silhouette, probe = tsne.separation(far, domain, seed=1)
    assert silhouette > 0.9 and probe == 1.0
    near_silhouette, near_probe = tsne.separation(generator.normal(0, 1, (40, 4)), domain, seed=1)
    assert near_silhouette < 0.2 and near_probe < 0.8
    assert tsne.separation(far, np.zeros(40, dtype=int), seed=1) == (None, None)


def test_curves_are_averaged_where_all_seeds_have_a_value():
    line = curves.combine([{100: 4.0, 200: 2.0, 300: 9.0}, {100: 6.0, 200: 3.0}])
    assert (line.updates, line.middle, line.low, line.high) == ([100, 200], [5.0, 2.5], [4.0, 2.0], [6.0, 3.0])
    assert line.places == [100.0, 200.0]
    assert curves.combine([]).updates == []


def test_curves_stand_at_the_mean_epoch_of_their_seeds():
    line = curves.combine([{100: 4.0, 200: 2.0}, {100: 6.0, 200: 3.0}], [{100: 0.5, 200: 1.0}, {100: 0.75, 200: 1.5}])
    assert (line.updates, line.places) == ([100, 200], [0.625, 1.25])
    assert curves.combine([{100: 4.0, 200: 2.0}], [{100: 0.5}]).updates == [100]  # an epoch that is not there


def test_curves_read_the_whole_task_and_leave_empty_cells_out(tmp_path):
    found = curves.read_curves(tmp_path / curve_file(tmp_path / "c.tsv", {100: 5.0, 200: 4.0}))
    assert found == {
        ("train", "loss"): {100: 7.5, 200: 7.5},
        ("train", "epoch"): {100: 0.5, 200: 1.0},
        ("valid", "epoch"): {100: 0.5, 200: 1.0},
        ("valid", "loss"): {100: 4.4, 200: 4.4},
        ("valid", "ppl"): {100: 5.0, 200: 4.0},
        ("valid", "accuracy"): {100: 0.25, 200: 0.25},
        ("valid", "bleu"): {100: 3.0, 200: 3.0},
        ("valid", "nll"): {100: 4.2, 200: 4.2},
        ("train", "learning_rate"): {100: 0.1, 200: 0.1},
    }


def drawn(spec):
    """Return the figure, its words and every text on it."""
    with figure_style.style():
        figure, words = parse_figure(json.dumps(spec)).draw()
        figure.canvas.draw()
    return figure, words, " ".join(text.get_text() for text in figure.findobj(Text)).replace("\n", " ")


def test_every_panel_of_the_curves_is_drawn_from_what_the_trainer_writes(tmp_path):
    runs = [{"curves": curve_file(tmp_path / "c.tsv", {100: 500.0, 200: 40.0}), "seed": 1}]
    figure, words, text = drawn({"kind": "curves", "title": "T", "systems": [{"label": "a", "runs": runs}]})
    assert "not recorded" not in text
    lines = {axes.get_title(loc="left"): axes.lines[0].get_ydata().tolist() for axes in figure.axes}
    assert lines == {
        "Training loss": [7.5, 7.5],
        "Validation perplexity (log scale)": [500.0, 40.0],
        "Validation token accuracy (%)": [25.0, 25.0],
        "Validation BLEU": [3.0, 3.0],
    }
    assert "Validation perplexity at the end: a 40.00 after 200 updates" in words


def test_an_axis_of_epochs_and_accuracy_on_the_training_sample(tmp_path):
    file = curve_file(tmp_path / "c.tsv", {100: 500.0, 200: 40.0})
    with (tmp_path / "c.tsv").open("a") as lines:
        lines.write("100\t0.5\ttrain-sample\tall\t5.0\t4.9\t134\t0.5\t\t\n")
        lines.write("200\t1.0\ttrain-sample\tall\t4.0\t3.9\t49\t0.75\t\t\n")
    system = {"label": "a", "runs": [{"curves": file, "seed": 1}]}
    panels = ["train_loss", "train_accuracy"]
    spec = {"kind": "curves", "title": "T", "systems": [system], "panels": panels}
    figure, _, text = drawn(spec | {"x": "epochs"})
    loss, accuracy = (axes.lines[0] for axes in figure.axes)
    assert loss.get_ydata().tolist() == [7.5, 7.5]  # that of the batches, not that of the sample
    assert (accuracy.get_xdata().tolist(), accuracy.get_ydata().tolist()) == ([0.5, 1.0], [50.0, 75.0])
    assert "epochs" in text and "updates" not in text
    assert drawn(spec)[0].axes[1].lines[0].get_xdata().tolist() == [100, 200]


@pytest.mark.parametrize("kind", ["proportion_heatmap", "proportion_histograms", "tsne"])
def test_a_figure_names_its_model_seed_and_task(kind, analysed, tmp_path):
    spec = spec_of(kind, analysed, tmp_path) | {"task": "English to German"}
    run = spec["systems"][0] if kind == "tsne" else spec["run"]
    assert "seed 7" not in drawn(spec)[2]
    run["seed"] = 7
    _, words, text = drawn(spec)
    named = "of the model of seed 7" if kind == "tsne" else "E/DC $x_1$, seed 7"
    assert named in " ".join(text.split()) and named in words
    assert "English to German" in text


def test_panels_of_different_seeds_name_them(analysed, tmp_path):
    spec = spec_of("tsne", analysed, tmp_path)
    spec["systems"] = [spec["systems"][0] | {"seed": seed} for seed in (7, 8)]
    _, words, text = drawn(spec)
    assert "E/DC $x_1$, seed 8" in " ".join(text.split()) and "of the model of seed" not in words


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_long_task_title_does_not_run_into_the_figure(kind, analysed, tmp_path):
    spec = spec_of(kind, analysed, tmp_path) | {"task": "A task with a very long title of its own " * 2}
    figure, _, _ = drawn(spec)
    detail = next(text for text in figure.texts if text.get_text().startswith("A task"))
    assert "\n" in detail.get_text()
    below = [legend.get_window_extent().y1 for legend in figure.legends]
    below += [axes.get_tightbbox().y1 for axes in figure.axes]
    assert detail.get_window_extent().y0 >= max(below) - 1


def test_the_task_stands_in_the_title_of_the_file(analysed, tmp_path):
    spec = spec_of("tsne", analysed, tmp_path) | {"task": "English to German"}
    save_figure.save(parse_figure(json.dumps(spec)), tmp_path / "x.png", None)
    with Image.open(tmp_path / "x.png") as picture:
        assert picture.text["Title"] == "A title (English to German)"


def test_tsne_states_the_perplexity_that_was_used(analysed, tmp_path):
    spec = spec_of("tsne", analysed, tmp_path)
    assert "perplexity 11.7;" in drawn(spec)[2]  # 36 sentences: (36 - 1) / 3
    assert "perplexity 5;" in drawn(spec | {"perplexity": 5})[2]


def test_broken_inputs_are_named(tmp_path):
    (tmp_path / "vectors.npz").write_bytes(b"PK no zip")
    with pytest.raises(DataError, match=r"vectors.npz: expected an .npz"):
        analysis_files.arrays(tmp_path / "vectors.npz")
    np.savez(tmp_path / "pickle.npz", vectors=np.array([{}], dtype=object))
    with pytest.raises(DataError, match="pickle"):
        analysis_files.arrays(tmp_path / "pickle.npz")
