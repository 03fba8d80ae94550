"""How fast a plain Transformer is trained on CPU, beside other toolkits with their own loops, on the same text.

    python benchmarks/training.py --material benchmarks/work/law [--size papers] [--contestants mdnmt eole]
        [--rounds 3] [--threads 2] [--json found.json] [--quick]

Contestants take turns; the table has medians over the rounds. Target tokens are counted, without padding and with </s>.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import contest
from contest import Contestant, Held

CONTESTANTS = {
    "mdnmt": Contestant("mdnmt.py", None),
    "mdnmt-fp32": Contestant("mdnmt.py", None, precision="fp32"),
    "eole": Contestant("eole.py", "eole"),
    "opennmt-py": Contestant("opennmt_py.py", "opennmt-py"),
    "sockeye": Contestant("sockeye.py", "sockeye"),
    "hugging-face": Contestant("hugging_face.py", "hugging-face"),
    "joeynmt": Contestant("joeynmt.py", "joeynmt"),
}
# Its newest version is in no registry.
PLACES = {"fairseq": Held("eole", 1.14)}


def show(rates: dict[str, contest.Result]) -> None:
    """Print the table, fastest first."""
    rows = []
    for name, found in sorted(rates.items(), key=lambda item: -item[1]["rate"]):
        held: Held | None = found.get("held")
        label = f"{name}: {held.ratio} x {held.like}, not measured" if held else f"{name} {found['version']}"
        rest = ["-", "-"] if held else [f"{found['memory']:,.0f}", f"{found['parameters'] or 0:,}"]
        ratios = [contest.times(rates.get(ours), found) for ours in ("mdnmt", "mdnmt-fp32")]
        rows.append([label, f"{found['rate']:,.0f}", *ratios, *rest])
    header = ["", "target tokens/s", "mdnmt is x times as fast", "mdnmt in fp32", "peak memory, MiB", "parameters"]
    contest.table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--material", type=Path, required=True, help="a folder of material.py")
    parser.add_argument("--size", choices=("small", "papers"), default="small")
    parser.add_argument("--contestants", nargs="+", choices=[*CONTESTANTS], default=[*CONTESTANTS])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--updates", type=int, default=30, help="that are timed in each round")
    parser.add_argument("--skip", type=int, default=8, help="updates before them")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--quick", action="store_true", help="one round of 3 updates: does everything run?")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.updates, options.skip = 1, 3, 1
    material = options.material.resolve()

    def arguments(_: Contestant) -> list[object]:
        chosen = ["train", "--material", material, "--size", options.size]
        return [*chosen, "--updates", options.updates, "--skip", options.skip]

    names = contest.present(options.contestants, CONTESTANTS)
    found = contest.by_turns(names, CONTESTANTS, arguments, rounds=options.rounds, threads=options.threads)
    rates = contest.medians(found, "target_words")
    contest.hold_places(rates, PLACES)
    show(rates)
    if options.json:
        contest.write_json(options.json, options, found, rates)


if __name__ == "__main__":
    main()
