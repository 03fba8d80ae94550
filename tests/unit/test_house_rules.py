"""Each rule of the house notices what it forbids; `make check` applies them to the project."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import house_rules as house

RULE = """rule a:
    output:
        "x",
    log:
        "y",
    message:
        "m"
    shell:
        "mdnmt a {output:q}"
"""
GOOD = {
    "src/mdnmt/__init__.py": "",
    "src/mdnmt/fingerprint.py": 'STAGE_VERSIONS = {"task": 1}\n',
    "src/mdnmt/tasks/task_data.py": "import numpy\n",
    "src/mdnmt/tasks/build.py": 'fingerprint("task", 1)\n',
    "src/mdnmt/commands/__init__.py": "",
    "src/mdnmt/commands/train.py": "",
    "src/mdnmt/commands/decode.py": "",
    "tests/unit/tasks/test_one.py": "import torch\ntorch.load(f, weights_only=True)\nnp.load(f)\n",
    "workflow/rules/a.smk": RULE,
    "workflow/rules/common.smk": "def f():\n    pass\n",
    "Snakefile": "",
    "Makefile": "",
}
Rule = Callable[[Path], Iterator[str]]


def project(root: Path, **more: str) -> Path:
    for name, text in {**GOOD, **more}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_a_project_that_keeps_the_rules_has_no_offence(tmp_path: Path) -> None:
    assert house.offences(project(tmp_path)) == []


def test_an_offence_is_named(tmp_path: Path) -> None:
    offences: list[tuple[Rule, str, str, str]] = [
        (house.files_are_short, "src/mdnmt/a.py", "def f():\n" + "    a = 1\n" * 70, "f has 71 lines"),
        (house.packages_of_training, "src/mdnmt/models/a.py", "def f():\n    import numpy\n", "imports numpy"),
        (house.training_starts_alone, "src/mdnmt/train/a.py", "import pandas\n", "import of pandas halted"),
        (house.tests_mirror_the_source, "tests/unit/other/test_two.py", "", "no such room"),
        (house.nothing_unsafe, "src/mdnmt/a.py", "torch.load(f)\n", "without weights_only=True"),
        (house.nothing_unsafe, "src/mdnmt/a.py", "os.system(f)\n", "calls os.system"),
        (house.nothing_unsafe, "src/mdnmt/a.py", "archive.extractall(f)\n", "may run or place what it reads"),
        (house.nothing_unsafe, "src/mdnmt/a.py", "run(f, shell=True)\n", "run with a shell"),
        (house.nothing_unsafe, "tests/a.py", "time.sleep(1)\n", "calls time.sleep"),
        (house.nothing_unsafe, "tests/a.py", "@pytest.mark.xfail(strict=True)\ndef f(): ...\n", "neither skipped"),
        (house.no_file_names_a_machine, "src/mdnmt/a.py", "\n'/t" + "mp/x'\n", "a.py:2: names"),
        (house.rule_files_hold_no_code, "workflow/rules/common.smk", "rule a:\n", "holds a rule"),
        (house.rules_call_a_verb, "workflow/rules/a.smk", RULE.replace("output:q", "output"), "does not quote output"),
        (house.stages_have_versions, "src/mdnmt/a.py", 'fingerprint("new", 1)\n', "new has no version"),
    ]  # fmt: skip
    for number, (rule, name, text, expected) in enumerate(offences):
        (found,) = rule(project(tmp_path / str(number), **{name: text}))
        assert expected in found and str(tmp_path) in found
