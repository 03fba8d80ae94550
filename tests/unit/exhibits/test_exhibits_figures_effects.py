"""The figure of differences to the baseline, from scores whose right numbers can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from figures_fit import offences
from scipy.stats import dunnett, ttest_ind

from mdnmt.errors import DataError
from mdnmt.exhibits import figure_style, save_figure
from mdnmt.exhibits.baseline_differences import effects
from mdnmt.exhibits.figure_request import figure_spec
from mdnmt.exhibits.figures.effects import EffectsSpec
from mdnmt.exhibits.registry import parse_figure
from mdnmt.studies.resolve import resolve
from mdnmt.studies.result_paths import ResultPaths

ROOT = Path(__file__).resolve().parents[3]
DOMAINS = ("law", "news")


def row(folder: Path, method: str, seeds: list[tuple[float, float]], **more: Any) -> dict[str, Any]:
    """Return a row; `seeds` are (BLEU on law, BLEU on news) of each seed."""
    runs = []
    for number, values in enumerate(seeds, start=1):
        path = folder / f"{method}-{number}.json"
        scored = {name: {"num_sentences": 9, "bleu": {"score": value}} for name, value in zip(DOMAINS, values)}  # noqa: B905
        path.write_text(json.dumps({"domains": scored}))
        runs.append({"scores": str(path), "seed": number})
    return {"group": "", "label": f"The {method}", "method": method, "runs": runs, **more}


def spec(*rows: dict[str, Any], **more: Any) -> EffectsSpec:
    columns = [{"name": name, "label": name} for name in DOMAINS]
    systems = {"label": "A et al., Table 1", "columns": columns, "baseline": "mixed", "metric": "bleu", "rows": rows}
    found = parse_figure(json.dumps({"kind": "effects", "title": "T", "tables": [{**systems, **more}]}))
    assert isinstance(found, EffectsSpec)
    return found


def printed(**values: float) -> dict[str, Any]:
    return {"printed": {f"bleu/{name}": {"value": value} for name, value in values.items()}}


def test_differences_are_of_means_over_domains_with_welchs_interval(tmp_path: Path) -> None:
    base = [(10.0, 20.0), (11.0, 20.0), (10.0, 23.0)]
    better = [(14.0, 21.0), (12.0, 22.0), (13.0, 20.0)]
    (found,) = effects(spec(row(tmp_path, "mixed", base), row(tmp_path, "dsa", better)).tables[0])
    left, right = ([sum(seed) / 2 for seed in seeds] for seeds in (better, base))
    assert found.row.label == "The dsa" and found.num_seeds == 3 and found.printed is None
    assert found.ours == pytest.approx(sum(left) / 3 - sum(right) / 3)
    low, high = ttest_ind(left, right, equal_var=False).confidence_interval(0.95)
    assert found.ours - (found.reach or 0) == pytest.approx(low) and found.ours + (found.reach or 0) == pytest.approx(
        high
    )


def test_every_file_that_is_read_is_among_the_inputs(tmp_path: Path) -> None:
    scored = row(tmp_path, "mixed", [(10.0, 20.0)])
    valid = tmp_path / "valid.json"
    domain = {"num_sentences": 9, "bleu": {"score": 1.0}}
    valid.write_text(json.dumps({"domains": dict.fromkeys(DOMAINS, domain), "concatenated": domain}))
    scored["runs"][0]["development"] = str(valid)
    figure = spec(scored)
    assert valid in figure.inputs()
    valid.unlink()
    with pytest.raises(DataError, match=r"valid\.json: no such file"):
        effects(figure.tables[0])


def test_dunnetts_intervals_are_of_all_systems_with_three_seeds_together(tmp_path: Path) -> None:
    base = [(10.0, 20.0), (11.0, 20.0), (10.0, 23.0), (12.0, 21.0)]
    better, other = [(14.0, 21.0), (12.0, 22.0), (13.0, 20.0)], [(10.0, 22.0), (11.0, 22.0), (12.0, 23.0)]
    rows = row(tmp_path, "mixed", base), row(tmp_path, "dsa", better), row(tmp_path, "mtl", other)
    table = spec(*rows, row(tmp_path, "one", [(12.0, 20.0)])).tables[0]
    dsa, mtl, one = effects(table, "dunnett")
    assert one.ours is not None and one.reach is None and one.p is None, "one seed is in no family"
    averages = [[sum(seed) / 2 for seed in seeds] for seeds in (base, better, other)]
    control, *systems = averages
    tested = dunnett(*systems, control=control, rng=np.random.default_rng(7))
    interval = tested.confidence_interval(0.95)
    for effect, low, p in zip((dsa, mtl), interval.low, tested.pvalue, strict=True):
        assert effect.ours is not None and effect.reach is not None
        assert effect.ours - effect.reach == pytest.approx(low, abs=0.01)
        assert effect.p == pytest.approx(p, abs=0.005)
    welch = effects(table)[0]
    assert welch.p is None and welch.reach != dsa.reach and welch.ours == dsa.ours


def test_two_seeds_have_no_interval_and_a_missing_domain_no_difference(tmp_path: Path) -> None:
    base = row(tmp_path, "mixed", [(10.0, 20.0)] * 3)
    two, lacking = row(tmp_path, "dsa", [(11.0, 20.0)] * 2), row(tmp_path, "single", [(10.0, 1.0)])
    path = Path(lacking["runs"][0]["scores"])
    path.write_text(json.dumps({"domains": {"law": {"num_sentences": 9, "bleu": {"score": 9.0}}}}))
    dsa, single = effects(spec(base, two, lacking).tables[0])
    assert (dsa.ours, dsa.reach, dsa.num_seeds) == (0.5, None, 2)
    assert single.ours is None
    assert effects(spec(two).tables[0]) == [], "without the baseline there is no difference"


def test_the_printed_difference_is_that_of_averages_or_of_the_domains_that_are_there(tmp_path: Path) -> None:
    seeds = [(10.0, 20.0)] * 3
    base = row(tmp_path, "mixed", seeds, **printed(avg=25.0, law=20.0, news=28.0))
    average = row(tmp_path, "dsa", seeds, **printed(avg=26.5))
    domains = row(tmp_path, "damha", seeds, **printed(law=22.0, news=30.0))
    nothing = row(tmp_path, "mtl", seeds)
    found = {one.row.method: one.printed for one in effects(spec(base, average, domains, nothing).tables[0])}
    assert found == {"dsa": 1.5, "damha": 1.0, "mtl": None}


def test_of_two_sizes_the_better_baseline_is_the_one_that_counts(tmp_path: Path) -> None:
    def record(name: str, bleu: float) -> dict[str, Any]:
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"validation": {"all": {"bleu": bleu}}}))
        return {"choice": 0, "records": [str(path)]}

    narrow = row(tmp_path, "mixed", [(10.0, 20.0)] * 3, **record("narrow", 15.0))
    wide = row(tmp_path, "mixed-enlarged", [(12.0, 20.0)] * 3, **record("wide", 16.0))
    (found,) = effects(spec(narrow, wide, row(tmp_path, "dsa", [(13.0, 20.0)] * 3)).tables[0])
    assert found.ours == 0.5


def test_the_drawing_and_its_numbers_say_the_same_and_stay_on_the_page(tmp_path: Path) -> None:
    base = row(tmp_path, "mixed", [(10.0, 20.0), (10.5, 20.0), (10.0, 20.5)], **printed(avg=25.0))
    long = row(tmp_path, "dsa", [(12.0, 20.0), (12.5, 21.0), (13.0, 20.0)], **printed(avg=26.0))
    long["label"] = "DAMHA + DMoE (domain-only, loss)"
    figure_of = spec(base, long, row(tmp_path, "copy", [(1.0, 2.0)]))
    with figure_style.style():
        figure, words = figure_of.draw()
        assert list(offences(figure)) == []
    assert "DAMHA + DMoE (domain-only, loss) +1.25 ±0.83 (printed +1.00)" in words
    save_figure.save(figure_of, tmp_path / "f.png", None, tmp_path / "f.json")
    measures = json.loads((tmp_path / "f.json").read_text())["measures"]
    assert {one["name"] for one in measures} == {"difference", "half_width", "printed"}
    assert {one["at"]["table"] for one in measures} == {"A et al., Table 1"}


def test_nothing_scored_gives_a_page_that_says_why(tmp_path: Path) -> None:
    with figure_style.style():
        _, words = spec(row(tmp_path, "mixed", []), row(tmp_path, "dsa", [])).draw()
    assert words == "Not drawn: no system with its baseline was scored on all domains"


def test_the_replication_shows_its_tables_with_their_printed_numbers_on_other_text() -> None:
    study = resolve(ROOT / "config", "replication", Path("no-corpora"))
    found = figure_spec(study, "mdnmt-effects", ResultPaths(study, Path("results")))
    assert isinstance(found, EffectsSpec)
    assert [one.label for one in found.tables] == [
        "Jiang et al., Table 3",
        "Zhang et al., Table 3 (EN-FR)",
        "Song et al., Table 5",
    ]
    numbers = [row for one in found.tables[1:] for row in one.rows if row.printed]
    assert len(numbers) > 10
    assert found.inputs()


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("is_printed", [True, False])
def test_the_detail_explains_the_marks_that_are_drawn_and_no_others(
    tmp_path: Path, seeds: int, is_printed: bool
) -> None:
    numbers = printed(law=1.0, news=2.0) if is_printed else {}
    rows = [row(tmp_path, name, [(10.0 + seed, 20.0) for seed in range(seeds)], **numbers) for name in ("mixed", "dsa")]
    figure, _ = spec(*rows).draw()
    told = " ".join(" ".join(text.get_text() for text in figure.texts).split())
    assert ("Printed:" in told, "Hollow:" in told, "Bars:" in told) == (is_printed, seeds < 3, seeds >= 3)


def test_the_form_of_archives_from_before_november_2026_is_read(tmp_path: Path) -> None:
    today = spec(row(tmp_path, "mixed", [(10.0, 20.0)]), row(tmp_path, "dsa", [(11.0, 20.0)]))
    (systems,) = today.model_dump(mode="json")["tables"]
    table = {"title": "Test BLEU", **systems, "metrics": [systems["metric"], "chrf"]}
    earlier = {"label": systems["label"], "table": {key: table[key] for key in table if key not in ("label", "metric")}}
    assert parse_figure(json.dumps({"kind": "effects", "title": "T", "tables": [earlier]})) == today
