"""A run stopped anywhere and resumed equals the one never stopped, bit for bit; the damaged and foreign are refused."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from chosen_cases import chosen_cases

import mdnmt.train.trainer as trainer_module
from mdnmt.checkpoints.store import CheckpointStore
from mdnmt.cli import main
from mdnmt.errors import CheckpointError, DataError, Interrupted, LeaseError
from mdnmt.paths import RunPaths
from mdnmt.train.lease import RunLease
from mdnmt.train.metrics_log import read_metrics
from mdnmt.train.optimiser import Optimiser
from mdnmt.train.run import train_run
from mdnmt.train.trainer import RuntimeOptions

UPDATES = 12
# Two epochs are begun, lines of training (5) and validations (4) cross, dropout draws from the generator.
FORMS: dict[str, dict[str, Any]] = {
    "transformer": {
        "builder": "transformer",
        "architecture": {"share_embeddings": "all", "attention_dropout": 0.1, "activation_dropout": 0.1},
        "max_tokens": 400,
    },
    "waldm": {
        "builder": "waldm",
        "architecture": {"norm": "post"},
        "accumulate_batches": 2,
        "validation_bleu_sentences": 3,
    },
    "waldm-bf16": {
        "builder": "waldm",
        "max_tokens": 400,
        "precision": "bf16",
        "average_checkpoints": 0,
        "validation_metric": "bleu",
        "validation_bleu_sentences": 3,
    },
    # What changes with the number of the update, random choices of blocks, counts of the training text.
    "ldspslv": {"builder": "latent_depth", "max_tokens": 400},
    "dmoe": {
        "builder": "dmoe",
        "architecture": {"gate_input": "mix", "balance_losses": "both"},
        "accumulate_batches": 2,
        "precision": "bf16",
        "validation_bleu_sentences": 3,
    },
    # The formulas that a GPU computes: attention, dropout, mixing; experts.
    "waldm-plain": {
        "builder": "waldm",
        "architecture": {"attention_dropout": 0.1},
        "max_tokens": 400,
        "kernels": "plain",
    },
    "dmoe-plain": {
        "builder": "dmoe",
        "architecture": {"gate_input": "mix"},
        "max_tokens": 400,
        "precision": "bf16",
        "kernels": "plain",
    },
    # Domains drawn by temperature, batches of so many sentences, both weights written.
    "sampled": {
        "builder": "transformer",
        "batch_sentences": 30,
        "domain_sampling": {"temperature": 5},
        "final_weights": "best",
    },
    "dsa-guided": {"builder": "domain_aware_attention", "architecture": {"guidance_weight": 1.0}, "max_tokens": 400},
}


def train(spec: Any, task: Path, folder: Path, **runtime: Any) -> RunPaths:
    train_run(spec, task, folder, device="cpu", threads=1, runtime=RuntimeOptions(**runtime))
    return RunPaths(folder)


@contextmanager
def signal_after(update: int) -> Iterator[None]:
    """Send this process a real SIGTERM in the middle of an update: after its gradients, before its weights change."""
    with pytest.MonkeyPatch.context() as patch:
        original = trainer_module.learning_rate
        sent = []

        def schedule(number: int, recipe: Any) -> float:
            if number == update and not sent:
                sent.append(number)
                signal.raise_signal(signal.SIGTERM)
            return original(number, recipe)

        patch.setattr(trainer_module, "learning_rate", schedule)
        yield
        assert sent == [update]


def outcome(paths: RunPaths) -> dict[str, bytes]:
    """Return all bytes that must not depend on where a run was stopped."""
    last = sorted(paths.checkpoints.glob("update-*"))[-1]
    assert last.name == f"update-{UPDATES:08d}"
    files = [paths.model, paths.curves, *(path for path in last.iterdir() if path.name != "manifest.json")]
    assert {path.name for path in files} >= {"optimizer.safetensors", "generators.safetensors", "state.json"}
    found = {path.name if path.parent == paths.folder else f"last/{path.name}": path.read_bytes() for path in files}
    record = json.loads(paths.record.read_text())
    kept = ("averaged_updates", "best_update", "validation", "model_sha256", "updates", "epochs")
    found["record"] = json.dumps({key: record[key] for key in kept}).encode()
    return found


def points(paths: RunPaths) -> dict[Any, Any]:
    """Return every measurement but its time."""
    return {
        (record["update"], record["split"], record["domain"]): {
            key: value for key, value in record.items() if key not in {"seconds", "tokens_per_second"}
        }
        for record in read_metrics(paths.metrics)
        if "split" in record
    }


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunPaths]:
    return {name: RunPaths(tmp_path_factory.mktemp("whole") / name) for name in FORMS}


@pytest.fixture
def form(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def spec(form: str, make_spec: Any) -> Any:
    return make_spec(**FORMS[form], max_updates=UPDATES)


@pytest.fixture
def whole(form: str, spec: Any, wholes: dict[str, RunPaths], toy_task: Path) -> RunPaths:
    """Return the run never stopped, made once for the whole file."""
    if not wholes[form].record.exists():
        train(spec, toy_task, wholes[form].folder)
        assert json.loads(wholes[form].record.read_text())["epochs"] > 0
    return wholes[form]


# One that writes a line of training, and the last; the next test visits all, with every form.
@pytest.mark.slow
@pytest.mark.parametrize("form", ["dmoe"], indirect=True)
@pytest.mark.parametrize("update", chosen_cases([5, UPDATES], 5))
def test_stopped_once(spec: Any, whole: RunPaths, toy_task: Path, tmp_path: Path, update: int) -> None:
    with signal_after(update):
        if update < UPDATES:
            with pytest.raises(Interrupted, match=f"SIGTERM: saved at update {update} of {UPDATES}"):
                train(spec, toy_task, tmp_path)
        else:
            train(spec, toy_task, tmp_path)  # the last one: there is nothing left to come back for
    torch.manual_seed(12345)  # another process would begin with other generators
    paths = train(spec, toy_task, tmp_path)
    assert outcome(paths) == outcome(whole)
    assert points(paths) == points(whole)


@pytest.mark.slow
@pytest.mark.parametrize("form", chosen_cases(FORMS, "transformer", "waldm-bf16", "dmoe"), indirect=True)
def test_stopped_after_every_update(spec: Any, whole: RunPaths, toy_task: Path, tmp_path: Path) -> None:
    for update in range(1, UPDATES):
        with signal_after(update), pytest.raises(Interrupted):
            train(spec, toy_task, tmp_path)
    paths = train(spec, toy_task, tmp_path)
    assert outcome(paths) == outcome(whole)
    assert points(paths) == points(whole)
    record = json.loads(paths.record.read_text())
    assert record["resumes"] == UPDATES - 1


class Death(BaseException):
    """Ends a run at once, as a kill would: nothing is caught, nothing more is saved."""


# Its gate, losses, accumulation and bf16 are most of what a resume could lose.
@pytest.mark.slow
@pytest.mark.parametrize("form", ["dmoe"], indirect=True)
@pytest.mark.parametrize(
    "place", chosen_cases(["before the save", "in the save", "after the save", "at the end"], "in the save")
)
def test_killed_around_a_checkpoint(
    spec: Any, whole: RunPaths, toy_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    original = CheckpointStore.save

    def save(self: CheckpointStore, update: int, *contents: Any) -> Any:
        if update == 8 and place == "before the save":
            raise Death
        path = original(self, update, *contents)
        if update == 8 and place == "after the save":
            raise Death
        return path

    def die(*args: Any, **kwargs: Any) -> None:
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(CheckpointStore, "save", save)
        if place == "in the save":
            written = []

            def encode(state: Any) -> bytes:
                written.append(state["update"])
                if state["update"] == 8:
                    raise Death
                return json.dumps(state, indent=2, sort_keys=True).encode() + b"\n"

            patch.setattr("mdnmt.checkpoints.store._encode_state", encode)
        if place == "at the end":
            patch.setattr("mdnmt.train.run.write_curves", die)
        with pytest.raises(Death):
            train(spec, toy_task, tmp_path)
    assert not RunPaths(tmp_path).record.exists()
    paths = train(spec, toy_task, tmp_path)
    assert outcome(paths) == outcome(whole)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dmoe"], indirect=True)
def test_a_finished_run_started_again_changes_nothing(
    spec: Any, whole: RunPaths, toy_task: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole.folder, tmp_path / "copy")
    paths = train(spec, toy_task, tmp_path / "copy")
    assert outcome(paths) == outcome(whole)


@pytest.mark.slow
def test_weights_overwritten_in_place_do_not_come_back_as_the_runs_own(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    """The model and its second name beside the checkpoint are one file: `cp` over the one changes both."""
    spec = make_spec(max_updates=8)
    paths = train(spec, toy_task, tmp_path / "run")
    other = train(make_spec(max_updates=8, seed=4), toy_task, tmp_path / "other")
    before = paths.model.read_bytes(), paths.curves.read_bytes()
    paths.model.write_bytes(other.model.read_bytes())
    paths.model.unlink()
    for _ in ("with sums", "finished by an earlier version"):
        with pytest.raises(CheckpointError, match=f"remove the folder {paths.checkpoints}, then start"):
            train(spec, toy_task, paths.folder)
        assert not paths.model.exists()
        (paths.checkpoints / "sums.json").unlink(missing_ok=True)
    shutil.rmtree(paths.checkpoints)
    train(spec, toy_task, paths.folder)
    assert (paths.model.read_bytes(), paths.curves.read_bytes()) == before


# Every kind of damage to every file: tests/unit/checkpoints/test_checkpoint_store.py.
@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    chosen_cases(
        [("model.safetensors", "truncated"), ("optimizer.safetensors", "flipped"), ("state.json", "missing")],
        ("model.safetensors", "truncated"),
    ),
)
def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(
    make_spec: Any, toy_task: Path, tmp_path: Path, wholes: dict[str, RunPaths], capsys: pytest.CaptureFixture[str],
    case: tuple[str, str],
) -> None:  # fmt: skip
    name, damage = case
    spec = make_spec(**FORMS["waldm"], max_updates=UPDATES)
    if not wholes["waldm"].record.exists():
        train(spec, toy_task, wholes["waldm"].folder)
    with signal_after(7), pytest.raises(Interrupted):
        train(spec, toy_task, tmp_path)
    victim = RunPaths(tmp_path).checkpoints / "update-00000007" / name
    data = victim.read_bytes()
    if damage == "truncated":
        victim.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        victim.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
    else:
        victim.unlink()
    capsys.readouterr()
    paths = train(spec, toy_task, tmp_path)
    out, err = capsys.readouterr()
    assert f"checkpoint refused: {victim}" in err
    assert "taking update 4 instead" in err
    assert "resumed at update 4 of 12" in out
    assert (paths.checkpoints / "refused-update-00000007").is_dir()
    assert outcome(paths) == outcome(wholes["waldm"])


@pytest.mark.slow
def test_with_every_checkpoint_damaged_nothing_is_begun_anew(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec(max_updates=UPDATES)
    with signal_after(6), pytest.raises(Interrupted):
        train(spec, toy_task, tmp_path)
    for path in RunPaths(tmp_path).checkpoints.glob("*/model.safetensors"):
        path.write_bytes(b"")
    with pytest.raises(CheckpointError, match="none of 2 checkpoints is whole") as caught:
        train(spec, toy_task, tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"learning_rate": 1e-3}, {"seed": 4}, {"domains": ["law"]}])
def test_checkpoints_of_another_run_are_refused(
    make_spec: Any, toy_task: Path, tmp_path: Path, change: dict[str, Any]
) -> None:
    spec = make_spec(max_updates=UPDATES)
    with signal_after(2), pytest.raises(Interrupted):
        train(spec, toy_task, tmp_path)
    other = make_spec(max_updates=UPDATES, **change)
    assert other.fingerprint != spec.fingerprint
    before = sorted(RunPaths(tmp_path).checkpoints.rglob("*"))
    with pytest.raises(CheckpointError, match=f"belongs to run {spec.fingerprint}, this is run {other.fingerprint}"):
        train(other, toy_task, tmp_path)
    assert sorted(RunPaths(tmp_path).checkpoints.rglob("*")) == before


def test_data_of_another_fingerprint_are_refused(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    spec = make_spec().model_copy(update={"task_fingerprint": "00000000"})
    with pytest.raises(DataError, match=r"holds data .* but the run was planned for 00000000"):
        train(spec, toy_task, tmp_path / "run")
    assert not RunPaths(tmp_path / "run").checkpoints.exists()


def test_altered_data_are_refused(make_spec: Any, toy_task: Path, tmp_path: Path) -> None:
    shutil.copytree(toy_task, tmp_path / "task")
    array = tmp_path / "task" / "train.fr.tokens.npy"
    data = array.read_bytes()
    array.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(DataError, match=r"train\.fr\.tokens\.npy: was altered"):
        train(make_spec(), tmp_path / "task", tmp_path / "run")


@pytest.mark.slow
def test_a_second_trainer_is_refused_and_the_first_unharmed(
    make_spec: Any, toy_task: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec, paths = make_spec(max_updates=UPDATES), RunPaths(tmp_path)
    command = ["train", "--spec", spec.model_dump_json(), "--task", str(toy_task), "--out", str(tmp_path)]
    tried = []

    class Meddler(Optimiser):
        def step(self, learning_rate: float) -> None:
            super().step(learning_rate)
            if not tried:
                before = paths.metrics.read_bytes(), paths.lease.read_bytes()
                tried.append(main([*command, "--device", "cpu"]))
                assert (paths.metrics.read_bytes(), paths.lease.read_bytes()) == before

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trainer_module, "Optimiser", Meddler)
        train(spec, toy_task, tmp_path)
    assert tried == [75]
    err = capsys.readouterr().err
    assert "is held by host" in err and err.count("\n") == 1
    alone = train(spec, toy_task, tmp_path / "alone")
    assert paths.model.read_bytes() == alone.model.read_bytes()
    with RunLease(paths.lease), pytest.raises(LeaseError):
        train(spec, toy_task, tmp_path)


@pytest.mark.slow
def test_a_damaged_checkpoint_of_the_average_is_an_error_that_says_what_to_do(
    make_spec: Any, toy_task: Path, tmp_path: Path
) -> None:
    spec = make_spec(max_updates=UPDATES)
    whole = train(spec, toy_task, tmp_path / "whole")
    with signal_after(11), pytest.raises(Interrupted):
        train(spec, toy_task, tmp_path / "run")
    paths = RunPaths(tmp_path / "run")
    damaged = paths.checkpoints / "update-00000008" / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-5])
    victim = paths.checkpoints / "weights-00000008" / "model.safetensors"  # its place when it is averaged
    with pytest.raises(CheckpointError, match="remove it and all later checkpoints") as caught:
        train(spec, toy_task, paths.folder)
    assert str(victim) in str(caught.value) and "\n" not in str(caught.value)
    shutil.rmtree(paths.checkpoints)  # there is none before it
    train(spec, toy_task, paths.folder)
    assert outcome(paths) == outcome(whole)
