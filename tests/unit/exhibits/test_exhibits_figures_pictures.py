"""What pictures show: the right numbers in the right cells, at the papers' size, with every text on the page."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from mdnmt.exhibits import figure_style
from mdnmt.exhibits.figures import domain_attention
from mdnmt.exhibits.registry import parse_figure

DOMAINS = ["laws", "spoken", "thesis", "news-commentary"]
COLUMNS = [{"name": name, "label": name.capitalize()} for name in DOMAINS]
LAYERS, WORDS = 6, 400
TEXT = "the effect of iso@@ prenal@@ in on the cardi@@ ac myocytes of laboratory rats was studied"
SOURCE = TEXT.split()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an analysis at the size of the papers' models: six layers, four domains, long names."""
    generator = np.random.default_rng(0)

    def shares(*shape: int) -> Any:
        return generator.dirichlet([0.4] * len(DOMAINS), shape)

    arrays: dict[str, Any] = {}
    for side in ("encoder", "decoder"):
        arrays[side] = shares(LAYERS, WORDS).astype("f4")
        arrays |= {f"{side}_domain": np.arange(WORDS) // 100, f"{side}_word": generator.integers(-1, 30, WORDS)}
        arrays |= {f"{side}_position": np.arange(WORDS) % 20, f"{side}_occurrence": np.arange(WORDS)}
    words = [f"word{chr(97 + n % 26) * (n // 2)}" for n in range(30)]
    lexicon = {"words": words, "counts": generator.integers(0, 90, (30, 4)).tolist(), "totals": [900] * 4}
    sentence = {
        "domain": "thesis",
        "source_tokens": [*SOURCE, "</s>"],
        "target_tokens": ["<s>", *SOURCE],
        "encoder": shares(LAYERS, len(SOURCE) + 1).tolist(),
        "decoder": shares(LAYERS, len(SOURCE) + 1).tolist(),
        "attention": shares(LAYERS, len(SOURCE) + 1).tolist(),
    }
    files: dict[str, Any] = {
        "meta": {"domains": DOMAINS, "slots": []},
        "lexicon": {"source": lexicon, "target": lexicon},
        "sentences": [sentence],
        "gates": {name: shares(LAYERS).tolist() for name in DOMAINS},
    }
    for name, value in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(value))
    for name in ("proportions", "attention"):
        np.savez(tmp_path / f"{name}.npz", **arrays)
    vectors = generator.normal(0, 1, (40, 8)).astype("f4")
    np.savez(tmp_path / "vectors.npz", vectors=vectors, domain=np.arange(40) % 4)
    (tmp_path / "scores.json").write_text(json.dumps({"domains": {}, "mean": {"bleu": 21.25}}))
    counts = {name: {"words": 10 + n, "right": 3 + n, "confused": 1} for n, name in enumerate(DOMAINS)}
    judged = [{"method": method, "label": "", "seed": 1, "domains": counts} for method in ("a", "b")]
    (tmp_path / "ambiguity.json").write_text(json.dumps({"systems": judged}))
    columns = "update\tepoch\tsplit\tdomain\tloss\tnll\tppl\taccuracy\tbleu\tlearning_rate\n"
    rows = [f"{n * 100}\t{n / 3}\tvalid\tall\t{9 - n}\t{8 - n}\t{900 / n}\t0.{n}\t{n}\t\n" for n in range(1, 9)]
    rows += [f"{n * 100}\t{n / 3}\ttrain-sample\tall\t{9 - n}\t{8 - n}\t{900 / n}\t0.{n}1\t\t\n" for n in range(1, 9)]
    (tmp_path / "curves.tsv").write_text(columns + "".join(rows))
    return tmp_path


def run(folder: Path, label: str = "DAMHA + DMoE (mix + loss)") -> dict[str, Any]:
    return {"label": label, "method": "m", "analysis": str(folder), "seed": 1}


def spec(kind: str, folder: Path) -> dict[str, Any]:
    absent = {"label": "mBART-50 (fine-tuned)", "method": "x", "missing": "needs weights that are not there"}
    three = [run(folder, label) for label in ("Mix", "Domain-only", "Mix + Loss")]
    curves = {"method": "m", "runs": [{"curves": str(folder / "curves.tsv"), "seed": 1}]}
    scored = [{"scores": str(folder / "scores.json"), "analysis": str(folder), "seed": 1}]
    points = [{"value": value, "label": f"eps = {value}", "runs": [*scored]} for value in (0, 0.05, 0.25, 0.5, 1)]
    more: dict[str, Any] = {
        "proportion_heatmap": {"run": run(folder)},
        "proportion_words": {"run": run(folder)},
        "proportion_histograms": {"run": run(folder)},
        "domain_attention": {"run": run(folder)},
        "tsne": {"systems": [*three, absent]},
        "gate_use": {"analysed": [*three, absent]},
        "curves": {
            "systems": [*({"label": f"Domain mixing {n}", **curves} for n in range(7)), absent],
            "panels": ["train_loss", "train_accuracy", "valid_loss", "valid_accuracy"],
            "x": "epochs",
        },
        "ambiguity": {
            "ambiguity": str(folder / "ambiguity.json"),
            "systems": [{"label": "Mixed (enlarged)", "method": "a"}, {"label": "E/DC", "method": "b"}, absent],
        },
        "option_sweep": {
            "points": [*points, {**absent, "value": 0.75}],
            "baseline": {"value": 0, "label": "Mixed", "runs": scored},
        },
    }
    task = "English to Chinese, four domains of the registry"
    found = {"kind": kind, "title": "A title of some length, as papers have it", "task": task, **more[kind]}
    return found if kind in ("curves", "option_sweep") else {"domains": COLUMNS, **found}


def drawn(described: dict[str, Any]) -> tuple[Figure, str]:
    with figure_style.style():
        figure, words = parse_figure(json.dumps({"title": "T", **described})).draw()
        FigureCanvasAgg(figure).draw()
    return figure, words


KINDS = (
    "proportion_heatmap",
    "proportion_words",
    "proportion_histograms",
    "domain_attention",
    "tsne",
    "gate_use",
    "curves",
    "ambiguity",
    "option_sweep",
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_is_on_the_page_at_the_papers_size(kind: str, folder: Path) -> None:
    figure, _ = drawn(spec(kind, folder))
    width, height = figure.get_size_inches() * figure.dpi
    shown = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]  # type: ignore[attr-defined]
    assert len(shown) > 8
    for text in shown:
        box = text.get_window_extent()  # type: ignore[attr-defined]
        outside = box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
        # Ticks beyond an axis' end are not drawn.
        is_tick = not text.get_text().strip("0123456789.")  # type: ignore[attr-defined]
        assert is_tick or not outside, text.get_text()  # type: ignore[attr-defined]
    # And titles of panels do not run into each other.
    boxes = [axes._left_title.get_window_extent() for axes in figure.axes if axes.get_title(loc="left")]  # type: ignore[attr-defined]
    for one, other in pairwise(sorted(boxes, key=lambda box: (round(-box.y0), box.x0))):
        assert one.x1 <= other.x0 + 0.5 or abs(one.y0 - other.y0) > 5


def cells(figure: Figure) -> list[Any]:
    return [np.asarray(axes.get_images()[0].get_array()) for axes in figure.axes if axes.get_images()]


def test_one_strip_shows_the_sentences_own_domain(folder: Path) -> None:
    figure, words = drawn(spec("proportion_words", folder))
    (strip,) = cells(figure)
    sentence = json.loads((folder / "sentences.json").read_text())[0]
    own_LT = np.array(sentence["encoder"])[:, :, DOMAINS.index("thesis")]
    # isoprenalin is three pieces, cardiac two.
    joined = np.stack([own_LT[:, at].mean(axis=1) for at in ([0], [1], [2], [3, 4, 5], [6], [7], [8, 9])], axis=1)
    np.testing.assert_allclose(strip[:, :7], joined)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()][:4] == ["the", "effect", "of", "isoprenalin"]
    assert "one sentence of Thesis" in words


def test_words_attend_to_vectors_by_the_mean_over_layers(folder: Path) -> None:
    figure, _ = drawn(spec("domain_attention", folder))
    (shown_NT,) = cells(figure)
    sentence = json.loads((folder / "sentences.json").read_text())[0]
    np.testing.assert_allclose(shown_NT[:, :3], np.array(sentence["attention"]).mean(axis=0).T[:, :3])
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [f"Vector {n}" for n in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("slots", "names"),
    [([], ["Vector 1", "Vector 2", "Vector 3", "Vector 4"]), (DOMAINS[:3], ["Laws", "Spoken", "Thesis", "(spare)"])],
)
def test_vectors_are_called_by_their_domain_where_training_ties_them(
    slots: list[str], names: list[str], folder: Path
) -> None:
    (folder / "meta.json").write_text(json.dumps({"domains": DOMAINS, "slots": slots}))
    figure, words = drawn(spec("domain_attention", folder))
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == names
    assert "(spare):" not in words and f"{names[0]}: " in words


def test_top_words_are_those_with_the_highest_mean(folder: Path) -> None:
    values = np.zeros((1, 6, 2))
    values[0, :, 0] = [0.9, 0.1, 0.8, 0.6, 1.0, 0.7]
    values[..., 1] = 1 - values[..., 0]
    arrays = {"encoder": values, "encoder_word": np.array([0, 0, 1, 1, 2, -1]), "encoder_domain": np.zeros(6, int)}
    arrays |= {"encoder_position": np.arange(6), "encoder_occurrence": np.arange(6)}
    np.savez(folder / "attention.npz", **arrays)
    lexicon = {"source": {"words": ["bank", "oil", "rare", "5"], "counts": [[1, 1]] * 4, "totals": [9, 9]}}
    (folder / "lexicon.json").write_text(json.dumps(lexicon))
    words = domain_attention._source_words(folder)
    assert words is not None
    assert domain_attention.top_words(words, 5, 2) == [["oil", "bank"], ["bank", "oil"]]
    assert domain_attention.top_words(words, 1, 1) == [["rare"], ["bank"]]


@pytest.mark.slow
def test_each_domain_has_its_experts_layer_by_layer(folder: Path) -> None:
    figure, words = drawn(spec("gate_use", folder))
    gates = json.loads((folder / "gates.json").read_text())
    shown = cells(figure)
    assert len(shown) == 12  # three systems, four domains
    for image, name in zip(shown, DOMAINS * 3, strict=True):
        np.testing.assert_allclose(image, gates[name])
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [f"L{n}" for n in range(1, 7)]
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == [f"E{n}" for n in range(1, 5)]
    assert words.count("experts in use") == 3


def test_a_panel_that_nothing_was_recorded_for_says_so(folder: Path) -> None:
    figure, _ = drawn(spec("curves", folder))
    said = {axes.get_title(loc="left"): [text.get_text() for text in axes.texts] for axes in figure.axes}
    assert said == {
        "Training loss": ["not recorded"],
        "Training token accuracy (%)": [],
        "Validation loss": [],
        "Validation token accuracy (%)": [],
    }


@pytest.mark.parametrize("panels", [["valid_ppl"], ["valid_ppl", "valid_bleu", "valid_accuracy"]])
def test_curves_have_the_panels_that_are_asked_for(panels: list[str], folder: Path) -> None:
    figure, _ = drawn({**spec("curves", folder), "panels": panels})
    assert len([axes for axes in figure.axes if axes.lines]) == len(panels)


@pytest.mark.slow
def test_dots_stand_at_the_share_that_is_right(folder: Path) -> None:
    figure, words = drawn(spec("ambiguity", folder))
    dots = [line for line in figure.axes[0].lines if line.get_linestyle() == "None"]
    for number, line in enumerate(dots):
        np.testing.assert_allclose(np.asarray(line.get_xdata()), [100 * (3 + number) / (10 + number)] * 2)
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["Laws (10)", "Spoken (11)", "Thesis (12)", "News-commentary (13)"]
    assert "Mixed (enlarged): Laws 30.0 %" in words


def test_an_option_has_a_mark_for_each_seed_and_a_line_through_their_means(folder: Path) -> None:
    described = spec("option_sweep", folder)
    other = folder / "other.json"
    other.write_text(json.dumps({"domains": {}, "mean": {"bleu": 23.25}}))
    described["points"][1]["runs"].append({"scores": str(other), "seed": 2})
    figure, words = drawn(described)
    line = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == 5)  # type: ignore[arg-type]
    assert list(line.get_xdata()) == [0, 0.05, 0.25, 0.5, 1]  # type: ignore[arg-type]
    assert list(line.get_ydata()) == [21.25, 22.25, 21.25, 21.25, 21.25]  # type: ignore[arg-type]
    assert "1.00 at 1." in words  # at 1, evenness is whole


@pytest.mark.slow
def test_a_script_that_no_font_has_is_said_to_be_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_style, "_families", lambda: ["DejaVu Sans"])
    sentences = json.loads((folder / "sentences.json").read_text())
    assert "Boxes" not in "".join(text.get_text() for text in drawn(spec("domain_attention", folder))[0].texts)
    sentences[0]["source_tokens"][0] = "\u80be\u4e0a"
    (folder / "sentences.json").write_text(json.dumps(sentences))
    for kind in ("domain_attention", "proportion_words"):
        said = " ".join(text.get_text() for text in drawn(spec(kind, folder))[0].texts).replace("\n", " ")
        assert "Boxes: no installed font has these characters" in said
    monkeypatch.setattr(figure_style, "_families", lambda: ["DejaVu Sans", "Noto Sans CJK SC"])
    assert figure_style.font_note(["\u80be"]) == ""
