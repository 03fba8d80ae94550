"""The tidy table: what each kind of file gives, and that nothing wrong gets in or out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mdnmt import fsio, results
from mdnmt.errors import ConfigError, DataError
from mdnmt.numbers import table
from mdnmt.numbers.sources import COLUMNS, NumberSource

RUN = "runs/tiny/mixed/seed1-0123abcd"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "results"


def scores(path: Path, law: float, n: int = 5) -> Path:
    entry = {"bleu": {"score": law, "signature": "nrefs:1"}, "num_sentences": n}
    fsio.write_sealed(path, {"domains": {"law": entry}})
    return path


def source(path: Path, **changes: Any) -> NumberSource:
    known = {"task": "tiny", "method": "mixed", "label_condition": "gold", "seed": 1, "split": "test"}
    return NumberSource.model_validate({"kind": "scores", "path": path, **known, **changes})


def made(folder: Path, law: float = 21.25) -> pd.DataFrame:
    path = scores(folder / RUN / "test-0123abcd" / "scores.json", law)
    copied = scores(folder / "tasks" / "tiny-0123abcd" / "copied-0123abcd" / "scores.json", 3.0)
    sources = (
        source(path, run=folder / RUN),
        source(copied, method="copy-source", seed=None, label_condition=""),
    )
    table.write(folder / "tiny", "tiny", table.collect(sources), [one.path for one in sources])
    return results.load("tiny", folder)


def test_a_score_is_a_row_with_everything_known_of_it(folder: Path) -> None:
    found = made(folder, 1 / 3)
    assert tuple(found.columns) == (*COLUMNS, "note")
    assert found.iloc[0].to_dict() == {
        "task": "tiny",
        "method": "mixed",
        "variant": "",
        "label_condition": "gold",
        "seed": 1,
        "split": "test",
        "domain": "law",
        "metric": "bleu",
        "at": "",
        "value": 1 / 3,  # all digits survive the file
        "n": 5,
        "signature": "nrefs:1",
        "run": RUN,
        "source": f"{RUN}/test-0123abcd/scores.json",
        "note": "",
    }
    copied = found.iloc[1]
    assert copied["seed"] is pd.NA and copied["run"] == "" and copied["source"].startswith("tasks/tiny-0123abcd/")


def test_validation_sets_as_one_text_are_the_domain_all(folder: Path) -> None:
    path = folder / RUN / "valid-0123abcd" / "scores.json"
    bleu = {"law": (21.25, 5), "news": (30.0, 3)}
    domains = {name: {"bleu": {"score": one, "signature": "s"}, "num_sentences": n} for name, (one, n) in bleu.items()}
    fsio.write_sealed(path, {"domains": domains, "concatenated": {"bleu": {"score": 7.0, "signature": "s"}}})
    found = table.collect((source(path, split="valid"),))
    assert found[["split", "domain", "value", "n"]].to_numpy().tolist() == [
        ["valid", "law", 21.25, 5],
        ["valid", "news", 30.0, 3],
        ["valid", "all", 7.0, 8],
    ]


def test_curves_say_after_which_update_and_leave_out_what_is_not_finite(folder: Path) -> None:
    run = folder / RUN
    run.mkdir(parents=True)
    header = "update\tepoch\tsplit\tdomain\tloss\tnll\tppl\taccuracy\tbleu\tlearning_rate"
    lines = [header, "3\t0.5\tvalid\tlaw\t1.5\t\tinf\t0.25\t8.5\t", "4\t0.75\ttrain\tall\tnan\t\t\t\t\t0.001"]
    (run / "curves.tsv").write_text("".join(f"{line}\n" for line in lines))
    fsio.write_sums(run, ["curves.tsv"])
    curves = source(run / "curves.tsv", kind="curves", split="", label_condition="", run=run)
    found = table.collect((curves,))
    assert found[["at", "split", "domain", "metric", "value"]].to_numpy().tolist() == [
        ["update=3", "valid", "law", "loss", 1.5],
        ["update=3", "valid", "law", "accuracy", 25.0],  # a percentage, as in scores.json
        ["update=3", "valid", "law", "bleu", 8.5],
        ["update=4", "train", "all", "learning_rate", 0.001],
    ]
    (run / "curves.tsv").write_text("\n".join(lines).replace("8.5", "9.5"))
    with pytest.raises(fsio.DamagedFile, match="was altered"):
        table.collect((curves,))


def test_resources_are_those_of_the_row_of_the_system(folder: Path) -> None:
    row = {"num_parameters": 7, "repeats": 2, "peak_memory_mb": None, "epoch_seconds": 2.5}
    path = folder / "tiny" / "measure" / "tiny.json"
    fsio.write_sealed(path, {"rows": {"mixed-law": {**row, "values": {"epoch_seconds": [2.0, 3.0]}}}})
    found = table.collect((source(path, kind="resources", variant="mixed-law", split=""),))
    by_name = found.set_index("metric")
    assert by_name["value"].to_dict() == {"num_parameters": 7.0, "epoch_seconds": 2.5}
    assert by_name.loc["epoch_seconds", "n"] == 2 and by_name.loc["num_parameters", "n"] is pd.NA
    with pytest.raises(DataError, match=r"tiny\.json: expected resources \(KeyError: 'mixed'\)"):
        table.collect((source(path, kind="resources", split=""),))


def test_one_domain_scored_on_two_numbers_of_sentences_is_refused(folder: Path) -> None:
    one = scores(folder / RUN / "test-0123abcd" / "scores.json", 1.0)
    other = scores(folder / RUN.replace("mixed", "wdc") / "test-0123abcd" / "scores.json", 1.0, n=4)
    with pytest.raises(DataError, match=r"wdc/.*: 4 test sentences for law of tiny, but 5 in runs/tiny/mixed/"):
        table.collect((source(one), source(other, method="wdc")))
    # Another split is another text.
    assert len(table.collect((source(one), source(other, split="valid")))) == 2


@pytest.mark.parametrize("what", ["missing", "no scores", "swapped"])
def test_a_file_that_is_not_right_gives_no_table(folder: Path, what: str) -> None:
    path = folder / RUN / "test-0123abcd" / "scores.json"
    if what == "no scores":
        fsio.write_sealed(path, {"other": 1})
    if what == "swapped":
        elsewhere = scores(folder / RUN.replace("mixed", "wdc") / "test-0123abcd" / "scores.json", 1.0)
        path.parent.mkdir(parents=True)
        shutil.copy(elsewhere, path)
    said = {"missing": "no such file", "no scores": "expected scores", "swapped": "not for this place"}
    with pytest.raises(DataError, match=said[what]) as caught:
        table.collect((source(path),))
    assert str(path) in str(caught.value)


def test_an_edited_table_is_refused(folder: Path) -> None:
    made(folder)
    path = folder / "tiny" / "numbers.csv"
    path.write_text(path.read_text().replace("21.25", "31.25"))
    with pytest.raises(DataError, match=r"was altered.*remove it and run snakemake"):
        results.load("tiny", folder)


def test_a_table_whose_scores_have_changed_since_is_refused(folder: Path) -> None:
    made(folder)
    scores(folder / RUN / "test-0123abcd" / "scores.json", 22.0)
    with pytest.raises(fsio.DamagedFile, match="was made from another"):
        results.load("tiny", folder)


def test_the_table_of_another_study_is_refused(folder: Path) -> None:
    made(folder)
    shutil.copytree(folder / "tiny", folder / "other")
    with pytest.raises(DataError, match="is the table of study 'tiny', expected 'other'"):
        results.load("other", folder)


def test_a_table_can_be_taken_elsewhere_without_the_runs(folder: Path, tmp_path: Path) -> None:
    here = made(folder)
    shutil.copytree(folder / "tiny", tmp_path / "laptop" / "tiny")
    pd.testing.assert_frame_equal(results.load("tiny", tmp_path / "laptop"), here)


def test_a_study_that_is_not_made_says_how_it_is(folder: Path) -> None:
    with pytest.raises(DataError, match="no such file; snakemake --cores all --config study=tiny makes it"):
        results.load("tiny", folder)


def test_published_numbers_are_those_of_the_files(tmp_path: Path) -> None:
    config = Path(__file__).resolve().parents[3] / "config"
    found = results.load_published(config)
    lines = [
        line
        for path in config.glob("published/*.tsv")
        for line in path.read_text().splitlines()[1:]
        if line.strip() and not line.startswith(("#", "table\t"))
    ]
    assert len(found) == len(lines)
    cell = found.query("exhibit == 'T1' and row == 'EN-FR/TED' and column == 'Train'").iloc[0]
    assert (cell["paper"], cell["value"], cell["printed"], cell["recommended"]) == ("jiang2020", 516000, "516K", 226000)
    assert found["star"].any() and found["recommended"].isna().any()
    assert len(results.load_published(tmp_path)) == len(found)  # of the package, beside the user's own
    (tmp_path / "published").mkdir()
    (tmp_path / "published" / "p.tsv").write_text("nonsense\n")
    with pytest.raises(ConfigError, match=r"p\.tsv"):
        results.load_published(tmp_path)


SYSTEMS = {"mixed": {"method": "mixed", "runs": {1: RUN}}, "single-law": {"method": "single", "variant": "single-law"}}


def test_significance_tests_are_rows_against_their_baseline(folder: Path) -> None:
    tested = {"delta": -1.5, "low": -2.0, "high": -1.0, "p": 0.01, "p_corrected": 0.04, "verdict": "worse"}
    path = folder / "tiny" / "significance" / "one.json"
    systems = {"single-law": {"law": {"bleu": tested}}, "opus": {"law": {"bleu": {"delta": 2.0, "p": None}}}}
    fsio.write_sealed(path, {"baseline": "mixed", "systems": systems})
    found = table.collect((source(path, kind="significance", method="", seed=None, systems=SYSTEMS),))
    own = found[found["method"] == "single"]
    assert dict(zip(own["metric"], own["value"], strict=True)) == {
        "bleu_delta": -1.5,
        "bleu_low": -2.0,
        "bleu_high": -1.0,
        "bleu_p": 0.01,
        "bleu_p_corrected": 0.04,
    }
    assert set(own["variant"]) == {"single-law"} and set(own["at"]) == {"against=mixed"} and own["seed"].isna().all()
    other = found[found["method"] == "opus"]  # a system that is not trained here; a p-value that was not computed
    assert list(other["metric"]) == ["bleu_delta"]


def test_measures_of_figures_are_rows_that_say_where_and_are_there_once(folder: Path) -> None:
    def measure(**changes: Any) -> dict[str, Any]:
        known = {"method": "mixed", "label": "Mixed", "seed": 1, "name": "gate", "value": 0.25, "at": {}}
        return {**known, **changes}

    paths = [folder / "tiny" / "figures" / f"{name}.json" for name in ("one", "two")]
    where = {"side": "encoder", "layer": 2, "domain": "law"}
    fsio.write_sealed(paths[0], {"measures": [measure(at=where), measure(name="printed", value=9.0)]})
    fsio.write_sealed(paths[1], {"measures": [measure(at=where), measure(seed=None, value=0.5)]})
    sources = [source(path, kind="measures", method="", seed=None, split="", systems=SYSTEMS) for path in paths]
    found = table.collect(tuple(sources))
    assert list(found["value"]) == [0.25, 0.5]
    first = found.iloc[0]
    assert (first["domain"], first["at"], first["seed"]) == ("law", "layer=2;side=encoder", 1)
    assert first["run"] == RUN and first["source"].endswith("figures/one.json")
    assert found.iloc[1]["domain"] == "all" and found.iloc[1]["run"] == ""
