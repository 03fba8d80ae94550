"""Count how often a run would have got the note "trained by other code" over the last commits that touch src.

    PYTHONPATH=tests .venv/bin/python tests/golden/code_notes.py 30

For each kind of run (family of methods): how many of the commits changed the hash of its training code, so that runs
of the commit before got the note; how many of these are left with src/mdnmt/equivalent_code.yaml; and whether a run
that the oldest of the commits trained has the note today, without and with the file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from golden.equivalent_code import ROOT, unpack

from mdnmt import code_hash
from mdnmt.code_hash import Sources
from mdnmt.training_code import same_code, training_code


def hashes(tree: Path, builders: list[str]) -> dict[str, str]:
    """Return family -> hash of the training code of the package in a folder; a family that it lacks has none."""
    of_tree = Sources(tree / "src/mdnmt")
    code_hash.sources = lambda: of_tree  # type: ignore[assignment]
    found = {builder: training_code(builder) for builder in builders}
    return {builder: code for builder, code in found.items() if code != "none"}


def main(number: int) -> None:
    """Print a line for each kind of run."""
    words = ["git", "-C", str(ROOT), "log", f"-{number + 1}", "--format=%h", "--", "src"]
    commits = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[::-1]
    methods = (ROOT / "src/mdnmt/methods").glob("[a-z]*.py")
    builders = sorted(path.stem for path in methods if "def build(" in path.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        of = [hashes(unpack(commit, Path(name, commit)), [*builders, "pretrained"]) for commit in commits]
    print(f"{'kind of run':24}{'notes':>7}{'with file':>11}   oldest run today   commits ({commits[0]}..{commits[-1]})")
    for builder in [*builders, "pretrained"]:
        at = [(commit, codes[builder]) for commit, codes in zip(commits, of, strict=True) if builder in codes]
        changed = [(commit, one, other) for (_, one), (commit, other) in pairwise(at) if one != other]
        left = [commit for commit, one, other in changed if not same_code(one, other)]
        first, last = at[0][1], at[-1][1]
        today = f"{'note' if first != last else 'none'} / {'none' if same_code(first, last) else 'note'}"
        shown = " ".join(f"{commit}{'!' if commit in left else ''}" for commit, _, _ in changed)
        print(f"{builder:24}{len(changed):>7}{len(left):>11}   {today:16}   {shown}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
