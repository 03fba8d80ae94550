"""Learning rates: a sweep becomes variants, its finished runs become a table, and a study reads that table."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mdnmt.cli import main
from mdnmt.config.learning_rates import LearningRates, sweep_name
from mdnmt.config.loader import load_model
from mdnmt.errors import EXIT_USER, ConfigError, DataError
from mdnmt.fsio import write_sealed
from mdnmt.studies.resolve import resolve
from mdnmt.studies.study import Study
from mdnmt.studies.swept_rates import as_yaml, swept_rates

HERE = Path("config")
SMALL = {"model_dim": 16, "ffn_dim": 32, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    folder = tmp_path / "config"
    folder.mkdir()
    for name in ("tasks", "corpora", "methods", "papers", "published", "claims"):
        (folder / name).symlink_to((HERE / name).resolve())
    (folder / "studies").mkdir()
    (folder / "learning-rates").mkdir()
    (folder / "corpora.lock.yaml").write_text((HERE / "corpora.lock.yaml").read_text(encoding="utf-8"))
    (folder / "tasks.lock.yaml").write_text((HERE / "tasks.lock.yaml").read_text(encoding="utf-8"))
    return folder


def study(folder: Path, **keys: object) -> Study:
    value = {"title": "t", "description": "d", "tasks": ["synthetic-2"], "options": [{"set": {"architecture": SMALL}}]}
    text = yaml.safe_dump({**value, **keys})
    (folder / "studies" / "some.yaml").write_text(text, encoding="utf-8")
    return resolve(folder, "some", folder / "corpora-there")


def rates(found: Study) -> dict[str, float]:
    return {run.method: run.planned.training.learning_rate for run in found.runs if run.planned}


SWEEP = {"methods": ["mixed", "dsa"], "rate_sweep": [0.0005, 0.004]}


def finish(found: Study, results: Path, losses: dict[str, float]) -> None:
    for run in found.runs:
        folder = results / "runs" / run.task / run.directory / f"seed{run.seed}-{run.fingerprint}"
        folder.mkdir(parents=True)
        record = {"validation": {"all": {"loss": losses[run.method]}}}
        write_sealed(folder / "run.json", record)


def test_a_sweep_trains_each_method_with_each_rate(config: Path) -> None:
    found = rates(study(config, **SWEEP))
    assert found == {
        "mixed": 0.0005,
        "dsa": 0.0005,
        "mixed-rate-0-0005": 0.0005,
        "mixed-rate-0-004": 0.004,
        "dsa-rate-0-0005": 0.0005,
        "dsa-rate-0-004": 0.004,
    }
    assert sweep_name("dsa", 1.0) == "dsa-rate-1"


def test_the_lowest_loss_wins_and_of_equal_losses_the_lower_rate(config: Path, tmp_path: Path) -> None:
    options = [{"set": {"architecture": SMALL, "training": {"learning_rate": 0.001}}}]
    sweep = study(config, **SWEEP, options=options)
    losses = {"mixed": 3.0, "mixed-rate-0-0005": 3.2, "mixed-rate-0-004": 2.9}
    losses |= {"dsa": 2.5, "dsa-rate-0-0005": 2.5, "dsa-rate-0-004": 2.6}
    finish(sweep, tmp_path / "results", losses)
    table = swept_rates(sweep, tmp_path / "results")
    assert {name: row.learning_rate for name, row in table.methods.items()} == {"mixed": 0.004, "dsa": 0.0005}
    path = config / "learning-rates" / "some.yaml"
    path.write_text(as_yaml(table), encoding="utf-8")
    assert load_model(path, LearningRates) == table

    reads = {"set": {"learning_rates": {"file": "some", "same_as": {"domain-tag": "mixed"}}}}
    variants = {"smooth": {"method": "domain-tag", "label": "s"}, "own": {"method": "dsa", "label": "o"}}
    variants["own"]["training"] = {"learning_rate": 0.25}  # type: ignore[assignment]
    one = {"match": {"method": "mixed"}, "set": {"training": {"learning_rate": 0.125}}}
    methods = ["mixed", "dsa", "domain-tag", "mtl"]
    small = {"set": {"architecture": SMALL}}
    found = rates(study(config, methods=methods, variants=variants, options=[small, reads, one]))
    expected = {"mixed": 0.125, "dsa": 0.0005, "domain-tag": 0.004, "mtl": 0.0005, "smooth": 0.004, "own": 0.25}
    assert found == expected
    # Later entries win, and a study that sweeps rates itself takes none.
    found = rates(study(config, methods=methods, options=[small, one, reads]))
    assert found == {"mixed": 0.004, "dsa": 0.0005, "domain-tag": 0.004, "mtl": 0.0005}
    found = rates(study(config, methods=["mixed"], options=[small, reads], rate_sweep=[0.001]))
    assert found == {"mixed": 0.0005, "mixed-rate-0-001": 0.001}


def test_a_sweep_that_is_not_finished_chooses_nothing(config: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"run\.json: no such file; train this run first"):
        swept_rates(study(config, **SWEEP), tmp_path)
    with pytest.raises(ConfigError, match="found no rate_sweep"):
        swept_rates(study(config, methods=["mixed"]), tmp_path)


def test_on_request_finished_methods_are_chosen_and_earlier_rows_are_kept(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = study(config, methods=["mixed", "dsa", "mtl"], rate_sweep=[0.001, 0.002])
    losses = {"mixed": 3.0, "mixed-rate-0-001": 2.8, "mixed-rate-0-002": 2.9}
    finish(sweep, tmp_path / "results", {run.method: losses.get(run.method, 2.0) for run in sweep.runs})
    for run in tmp_path.glob("results/runs/*/dsa-rate-0-002/*/run.json"):
        run.unlink()
    table = swept_rates(sweep, tmp_path / "results", finished_only=True)
    assert table.methods.keys() == {"mixed", "mtl"} and table.methods["mixed"].learning_rate == 0.001

    out = config / "learning-rates" / "some.yaml"
    row = "{learning_rate: 0.5, validation_loss: {0.5: 1.0}}"
    out.write_text(f"study: some\nmethods: {{mixed: {row}, dsa: {row}}}\n", encoding="utf-8")
    command = ["rates", "some", "--folder", str(tmp_path), "--results", str(tmp_path / "results")]
    assert main(command) == EXIT_USER and "dsa-rate-0-002" in capsys.readouterr().err
    assert main([*command, "--finished"]) == 0
    written = {name: row.learning_rate for name, row in load_model(out, LearningRates).methods.items()}
    assert written == {"mixed": 0.001, "dsa": 0.5, "mtl": 0.0005}


def test_mistakes_are_named(config: Path) -> None:
    table = "study: some\nmethods: {mixed: {learning_rate: 0.002, validation_loss: {0.002: 1.0}}}\n"
    (config / "learning-rates" / "some.yaml").write_text(table, encoding="utf-8")
    for same_as, said in (({"dsa": "mtl"}, "'mtl' has no rate"), ({"mixed": "mixed"}, "has its own rate")):
        with pytest.raises(ConfigError, match=said):
            options = [{"set": {"learning_rates": {"file": "some", "same_as": same_as}}}]
            study(config, methods=["mixed"], options=options)
    with pytest.raises(ConfigError, match="table of learning rates"):
        study(config, methods=["mixed"], options=[{"set": {"learning_rates": {"file": "other"}}}])


def test_every_method_of_the_replication_has_a_rate_of_its_own_or_of_another_one() -> None:
    found = resolve(HERE, "replication", Path("resources/corpora"))
    [chosen] = [entry.set.learning_rates for entry in found.config.options if entry.set.learning_rates]
    sweep = resolve(HERE, chosen.file, Path("resources/corpora"))
    swept = set(sweep.config.methods)
    given = swept | set(chosen.same_as)
    for run in found.runs:
        variant = found.config.variants.get(run.method)
        method = variant.method if variant else run.method
        assert method in given or method.startswith(("mbart50", "nllb200")), method
    assert set(chosen.same_as.values()) <= swept
    assert {run.seed for run in sweep.runs}.isdisjoint(run.seed for run in found.runs)
