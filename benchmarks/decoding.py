"""How fast a trained Transformer translates by beam search, beside other toolkits with the same weights.

    python benchmarks/decoding.py train-model --material DIR --size small [--norm pre] --out FOLDER
    python benchmarks/decoding.py compare --material DIR --size small --post-norm FOLDER [--pre-norm FOLDER]
        [--contestants mdnmt ctranslate2] [--rounds 3] [--threads 2] [--device cuda] [--json found.json] [--quick]

Each contestant is compared to ours with the same weights; "identical" is the share of its translations that are ours,
piece by piece. Loading a model is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import contest
from contest import Contestant, Held
from peers.common import SIZES

from mdnmt import fsio
from mdnmt.checkpoints.weights import load_model, save_model
from mdnmt.config.run import RunSpec
from mdnmt.config.training import Training
from mdnmt.paths import RunPaths
from mdnmt.tasks.task_data import TaskData
from mdnmt.train.run import train_run

CONTESTANTS = {
    "mdnmt": Contestant("mdnmt.py", None),
    "mdnmt-bf16": Contestant("mdnmt.py", None, precision="bf16"),
    "mdnmt-int8": Contestant("mdnmt.py", None, precision="int8"),
    "mdnmt-pre": Contestant("mdnmt.py", None, norm="pre"),
    "ctranslate2": Contestant("ctranslate2.py", "ctranslate2"),
    "ctranslate2-bf16": Contestant("ctranslate2.py", "ctranslate2", precision="bfloat16"),
    "ctranslate2-int8": Contestant("ctranslate2.py", "ctranslate2", precision="int8"),
    "hugging-face": Contestant("hugging_face.py", "hugging-face"),
    "sockeye": Contestant("sockeye.py", "sockeye"),
    "joeynmt": Contestant("joeynmt.py", "joeynmt"),
    "opennmt-py": Contestant("opennmt_py.py", "opennmt-py", norm="pre"),
    "eole": Contestant("eole.py", "eole", norm="pre"),
}
ON_A_GPU = ("mdnmt", "ctranslate2")  # contestants whose scripts know --device cuda
# Its newest version is in no registry.
PLACES = {"small": {"fairseq": Held("opennmt-py", 1.20)}, "papers": {"fairseq": Held("hugging-face", 1.45)}}


def train_model(options: argparse.Namespace) -> None:
    """Train a plain Transformer on the material, and leave its weights and what they are."""
    task = TaskData.load(options.material / "task")
    architecture = {
        **SIZES[options.size],
        "norm": options.norm,
        "share_embeddings": "all",
        "dropout": 0.1,
        "label_smoothing": 0.1,
    }
    recipe = Training(
        max_updates=options.updates,
        max_tokens=options.max_tokens,
        learning_rate=options.learning_rate,
        warmup_updates=options.updates // 4,
        validate_every=options.updates,
        average_checkpoints=0,
        log_every=20,
    )
    spec = RunSpec(
        task_fingerprint=task.fingerprint,
        builder="transformer",
        architecture=architecture,
        training=recipe,
        domains=task.domains,
        seed=1,
    )
    with tempfile.TemporaryDirectory() as folder:
        train_run(spec, options.material / "task", Path(folder), device=options.device, threads=options.threads)
        paths = RunPaths(Path(folder))
        save_model(options.out / "model.safetensors", load_model(paths.model))
        validation = fsio.read_json(paths.record)["validation"]["all"]
    described = {"builder": spec.builder, "architecture": architecture, "vocab_size": len(task.target_vocab)}
    fsio.write_json(options.out / "model.json", {**described, "updates": options.updates, "validation": validation})


def same_norm(name: str, rates: Mapping[str, contest.Result]) -> str:
    """Return the row of ours that translates with the same weights."""
    held = rates[name].get("held")
    norm = CONTESTANTS[held.like if held else name].norm
    return next(ours for ours in ("mdnmt", "mdnmt-pre") if CONTESTANTS[ours].norm == norm)


def show(rates: dict[str, contest.Result], found: Mapping[str, list[contest.Result]]) -> None:
    """Print the table, fastest first."""
    rows = []
    for name, rate in sorted(rates.items(), key=lambda item: -item[1]["rate"]):
        held: Held | None = rate.get("held")
        ours = same_norm(name, rates)
        if held:
            label, rest = f"{name}: {held.ratio} x {held.like}, not measured", ["-", "-", "-"]
        else:
            label = f"{name} {rate['version']}"
            same = identical(found[name], found[ours]) if ours in rates else "-"
            rest = [f"{rate['words']:,.0f}", same, f"{rate['memory']:,.0f}"]
        rows.append([label, CONTESTANTS[held.like if held else name].norm, f"{rate['rate']:.1f}"])
        rows[-1] += [contest.times(rates.get(ours), rate), *rest]
    header = ["", "norm", "sentences/s", "mdnmt is x times as fast", "target tokens/s", "identical", "peak memory, MiB"]
    contest.table(header, rows)


def identical(theirs: Sequence[contest.Result], ours: Sequence[contest.Result]) -> str:
    """Return the share of translations that are ours, piece by piece."""
    pairs = list(zip(theirs[0]["hypotheses"], ours[0]["hypotheses"], strict=True))
    return f"{100 * sum(one == other for one, other in pairs) / len(pairs):.1f} %"


def compare(options: argparse.Namespace) -> None:
    """Let the contestants translate by turns."""
    if options.quick:
        options.rounds, options.sentences = 1, 32
    models = {"post": options.post_norm, "pre": options.pre_norm}
    names = contest.present(options.contestants, CONTESTANTS)
    if options.device == "cuda":
        names = [name for name in names if name.startswith(ON_A_GPU)]
    if left_out := [name for name in names if models[CONTESTANTS[name].norm] is None]:
        print(f"no model of their norm was given (--post-norm, --pre-norm), left out: {', '.join(left_out)}")
    names = [name for name in names if name not in left_out]
    material = options.material.resolve()

    def arguments(contestant: Contestant) -> list[object]:
        chosen = ["decode", "--material", material, "--size", options.size]
        chosen += ["--model", models[contestant.norm].resolve(), "--beam", options.beam]
        return [*chosen, "--sentences", options.sentences, "--device", options.device]

    found = contest.by_turns(names, CONTESTANTS, arguments, rounds=options.rounds, threads=options.threads)
    rates = contest.medians(found, "sentences")
    if options.device == "cpu":
        contest.hold_places(rates, PLACES[options.size])
    show(rates, found)
    if options.json:
        contest.write_json(options.json, options, found, rates)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train-model", help="train what all contestants translate with")
    training.add_argument("--norm", choices=("post", "pre"), default="post")
    training.add_argument("--updates", type=int, default=1500)
    training.add_argument("--max-tokens", type=int, default=4096)
    training.add_argument("--learning-rate", type=float, default=1e-3)
    training.add_argument("--device", default="auto")
    training.add_argument("--out", type=Path, required=True, help="a folder for model.safetensors and model.json")
    training.set_defaults(run=train_model)
    comparing = commands.add_parser("compare", help="translate by turns and print the table")
    comparing.add_argument("--post-norm", type=Path, help="a folder of train-model")
    comparing.add_argument("--pre-norm", type=Path, help="one with --norm pre, for toolkits that know nothing else")
    comparing.add_argument("--contestants", nargs="+", choices=[*CONTESTANTS], default=[*CONTESTANTS])
    comparing.add_argument("--rounds", type=int, default=3)
    comparing.add_argument("--sentences", type=int, default=500)
    comparing.add_argument("--beam", type=int, default=5)
    comparing.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    comparing.add_argument("--json", type=Path, help="write all figures and translations to this file")
    comparing.add_argument("--quick", action="store_true", help="one round of 32 sentences: does everything run?")
    comparing.set_defaults(run=compare)
    for command in (training, comparing):
        command.add_argument("--material", type=Path, required=True, help="a folder of material.py")
        command.add_argument("--size", choices=sorted(SIZES), default="small")
        command.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
