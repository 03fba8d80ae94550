"""Every kind of figure with 2, 12 and 30 domains and 12 systems: it can be read, or it says that it cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figures_fit import offences

from mdnmt.exhibits import figure_style
from mdnmt.exhibits.generated_words import KINDS as WORD_KINDS
from mdnmt.exhibits.registry import parse_figure
from mdnmt.train.metrics_log import write_curves

SYSTEMS = 12
LAYERS = 2
WORDS = ("the", "committee", "adopted", "unanimously", "recommendations", "of", "its", "members")


def names(domains: int) -> list[str]:
    return [f"domain{number}" for number in range(domains)]


def analysis(folder: Path, domains: int) -> str:
    """Write the analysis of a toy run, as `mdnmt analyse` does."""
    generator = np.random.default_rng(domains)
    folder.mkdir()

    def proportions(*shape: int) -> Any:
        raw = generator.random((*shape, domains))
        return raw / raw.sum(-1, keepdims=True)

    sentences = [
        {
            "domain": name,
            "source_tokens": [*WORDS, "</s>"],
            "target_tokens": ["<s>", *WORDS],
            **{side: proportions(LAYERS, len(WORDS) + 1).tolist() for side in ("encoder", "decoder", "attention")},
        }
        for name in names(domains)
    ]
    (folder / "sentences.json").write_text(json.dumps(sentences))
    meta = {"domains": names(domains), "slots": names(domains), "source_lang": "en", "target_lang": "fr"}
    (folder / "meta.json").write_text(json.dumps(meta))
    tokens = 20 * domains
    words = {
        "encoder_domain": np.repeat(np.arange(domains), 20),
        "encoder_word": generator.integers(0, len(WORDS), tokens),
        "encoder_position": np.arange(tokens) % 7,
        "encoder_occurrence": np.arange(tokens),
    }
    for file in ("proportions", "attention"):
        np.savez(folder / f"{file}.npz", encoder=proportions(LAYERS, tokens).astype("f4"), **words)
    counts = generator.integers(1, 9, (len(WORDS), domains))
    lexicon = {"words": list(WORDS), "counts": counts.tolist(), "totals": counts.sum(axis=0).tolist()}
    (folder / "lexicon.json").write_text(json.dumps({"source": lexicon}))
    gates = {
        name: proportions(LAYERS)[:, :4].tolist() if domains > 4 else [[0.2, 0.8]] * LAYERS for name in names(domains)
    }
    (folder / "gates.json").write_text(json.dumps(gates))
    domain = np.repeat(np.arange(domains), 6)
    centres = generator.normal(0, 3, (domains, 8))
    vectors = centres[domain] + generator.normal(0, 1, (len(domain), 8))
    np.savez(folder / "vectors.npz", vectors=vectors.astype("f4"), domain=domain)
    return str(folder)


def spec(kind: str, domains: int, folder: Path) -> dict[str, Any]:
    """Return the spec of a figure of this kind, with all that it reads in `folder`."""
    run = {"label": "DAMHA + DMoE (mix)", "analysis": analysis(folder / "analysis", domains)}
    labels = [f"System {number + 1} of {SYSTEMS}" for number in range(SYSTEMS)]
    several = [{**run, "label": label} for label in labels]
    shown: dict[str, Any] = {
        "title": "A figure with many domains",
        "kind": kind,
        "domains": [{"name": name, "label": f"Domain {name[6:]}"} for name in names(domains)],
    }
    if kind == "ambiguity":
        counts = {
            name: {"words": 40, "right": 10 + 2 * (k % 10), "confused": 1} for k, name in enumerate(names(domains))
        }
        judged = [{"method": label, "label": label, "seed": 1, "domains": counts} for label in labels]
        (folder / "ambiguity.json").write_text(json.dumps({"systems": judged}))
        systems = [{"label": label, "method": label} for label in labels]
        return {**shown, "ambiguity": str(folder / "ambiguity.json"), "systems": systems}
    if kind == "curves":
        place = {
            "epoch": 1.0,
            "domain": "all",
            "split": "valid",
            "loss": 4.4,
            "nll": 4.2,
            "accuracy": 0.25,
            "bleu": 3.0,
        }
        write_curves([{**place, "update": k, "ppl": 900.0 / k} for k in (100, 200)], folder / "c.tsv")
        runs = [{"curves": str(folder / "c.tsv"), "seed": 1}]
        return {**shown, "systems": [{"label": label, "runs": runs} for label in labels]}
    if kind == "learning_rates":
        losses = {rate: 4.0 + rate for rate in (0.001, 0.002, 0.004)}
        systems = [{"label": one, "method": one, "chosen": 0.001, "losses": losses} for one in labels]
        return {**shown, "systems": systems}
    if kind == "option_sweep":
        (folder / "scores.json").write_text(json.dumps({"domains": {}, "mean": {"bleu": 20.0}}))
        runs = [{"scores": str(folder / "scores.json"), "analysis": run["analysis"], "seed": 1}]
        points = [{"value": k / SYSTEMS, "label": str(k), "runs": runs} for k in range(SYSTEMS)]
        return {**shown, "points": points}
    if kind == "word_sweep":
        words = {
            "domains": {"d": {kind: {"words": 10, "right": 7} for kind in WORD_KINDS}},
            "gates": {},
            "proportions": {},
        }
        (folder / "words.json").write_text(json.dumps(words))
        runs = [{"scores": str(folder / "words.json"), "seed": 1}]
        rows = [{"group": "", "label": one, "method": one, "runs": runs} for one in labels]
        return {**shown, "num_domains": domains, "systems": rows}
    if kind == "effects":
        rows = []
        for number, one in enumerate(labels):
            found = {name: {"num_sentences": 9, "bleu": {"score": 20.0 + number}} for name in names(domains)}
            (folder / f"{number}.json").write_text(json.dumps({"domains": found}))
            runs = [{"scores": str(folder / f"{number}.json"), "seed": 1}]
            rows.append({"group": "", "label": one, "method": one, "runs": runs})
        systems = {"label": "A et al., Table 1", "columns": shown["domains"], "rows": rows, "metric": "bleu"}
        return {**shown, "tables": [{**systems, "baseline": labels[0]}]}
    return {
        **shown,
        **{
            "tsne": {"systems": several, "max_sentences": 6},
            "gate_use": {"analysed": several},
            "domain_attention": {"run": run, "min_count": 1},
        }.get(kind, {"run": run}),
    }


# Those whose picture grows with the domains, or with the systems.
OF_DOMAINS = ("ambiguity", "domain_attention", "gate_use", "proportion_heatmap", "proportion_histograms", "tsne")
OF_SYSTEMS = ("curves", "effects", "learning_rates", "option_sweep", "word_sweep")
CASES = [
    *((kind, domains) for kind in OF_DOMAINS for domains in (2, 30)),
    *((kind, 30) for kind in (*OF_SYSTEMS, "proportion_words")),
]
UNREADABLE = [("ambiguity", 30), ("gate_use", 30), ("proportion_histograms", 30), ("tsne", 30), ("word_sweep", 30)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "domains"), CASES)
def test_it_can_be_read_or_says_that_it_cannot(kind: str, domains: int, tmp_path: Path) -> None:
    described = spec(kind, domains, tmp_path)
    if kind in ("effects", "learning_rates", "option_sweep", "word_sweep", "curves"):
        described.pop("domains")
    if kind in ("gate_use", "tsne"):  # panels one below the other: two are enough to see them side by side
        key = {"gate_use": "analysed", "tsne": "systems"}[kind]
        described[key] = described[key][:2]
    with figure_style.style():
        figure, words = parse_figure(json.dumps(described)).draw()
        assert offences(figure) == []
    assert words.startswith("Not drawn: ") is ((kind, domains) in UNREADABLE)
    if (kind, domains) in UNREADABLE:
        assert "cannot be told apart" in words and list(parse_figure(json.dumps(described)).measures())


def test_no_two_series_look_alike() -> None:
    assert len({figure_style.mark(number) for number in range(49)}) == 49
    assert len({figure_style.stroke(number) for number in range(28)}) == 28
