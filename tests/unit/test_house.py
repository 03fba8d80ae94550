"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdnmt.fingerprint import STAGE_VERSIONS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "mdnmt"
MODULES = sorted(SOURCE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
WITHOUT_RULES = ("common.smk", "downloads.smk")
RULE_FILES = [path for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")) if path.name not in WITHOUT_RULES]

# Single files that every package but `models` may use, and which of each other.
BOTTOM = {
    "__init__": set(),
    "code_hash": set(),
    "errors": set(),
    "fsio": {"errors", "fingerprint", "paths"},
    "fingerprint": set(),
    "paths": set(),
    "gpu": {"errors"},
    "machine": {"errors"},
    "results": {"numbers"},
    "provenance": {"__init__", "code_hash"},
    "welch": set(),
}
# Package -> packages it may import; dependencies point one way.
PACKAGES: dict[str, set[str]] = {
    "models": set(),
    "config": set(),
    "checkpoints": set(),
    "score": {"config", "decode", "tasks"},
    "corpora": {"config"},
    "tasks": {"config", "corpora"},
    "methods": {"config", "models"},
    "decode": {"checkpoints", "config", "methods", "models", "tasks"},
    "train": {"checkpoints", "config", "decode", "methods", "models", "score", "tasks"},
    "pretrained": {"checkpoints", "config", "corpora", "decode", "methods", "models", "tasks", "train"},
    "analysis": {"config", "decode", "models", "pretrained", "tasks", "train"},
    "paper": {"config", "methods", "models"},  # the last two: diagrams of architectures
    "numbers": {"config"},
    "claims": {"config", "paper"},
    "audit": {"config", "methods", "models"},
    "studies": {"claims", "config", "corpora", "methods", "numbers", "paper", "pretrained", "score", "tasks", "train"},
    "watch": {"config", "planning", "studies", "train"},
    "planning": {"config", "corpora", "methods", "models", "paper", "pretrained", "studies", "train"},
}
# What a bare GPU machine has; the two that cut words are reached through `tasks.segment` alone.
TRAINING = {"torch", "numpy", "pydantic", "yaml", "safetensors", "sacrebleu"}
THIRD_PARTY = {
    "models": {"torch"},
    "methods": {"torch", "pydantic"},
    "checkpoints": {"torch", "numpy", "safetensors"},
    "config": {"pydantic", "pydantic_core", "yaml"},
    "decode": TRAINING,
    "train": TRAINING,
    "score": {"sacrebleu", "numpy", "torch", "comet", "scipy"},  # comet by one module alone: test_score_comet
}
ELSEWHERE = ("snakemake", "matplotlib", "PIL", "sklearn", "pandas", "scipy", "jinja2", "psutil", "openpyxl", "yte")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports, also inside functions."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}:{node.lineno}: a relative import"
            if node.module == "mdnmt":
                yield from (f"mdnmt.{alias.name}" for alias in node.names)
            else:
                yield str(node.module)


def unit(path: Path) -> str:
    """Return the package of a module, or its name when it stands at the bottom."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[0]


def own(dotted: str) -> str | None:
    """Return the package or single file of mdnmt that an import names, or None when it is not ours."""
    parts = dotted.split(".")
    if parts[0] != "mdnmt":
        return None
    if len(parts) == 1 or not ((SOURCE / parts[1]).is_dir() or (SOURCE / f"{parts[1]}.py").is_file()):
        return "__init__"  # __version__
    return parts[1]


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            assert lines <= 70, f"{name_of(path)}:{node.lineno}: {node.name} has {lines} lines"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_dependencies_point_one_way(path: Path) -> None:
    here = unit(path)
    used = {name for dotted in imports(path) if (name := own(dotted)) is not None} - {here}
    if here in BOTTOM:
        assert used <= BOTTOM[here]
    elif here == "cli":
        assert used <= {"__init__", "errors", "commands"}
    elif here == "commands":
        assert used <= {*PACKAGES, *BOTTOM}, "a verb is not called by a verb"
    elif here == "models":
        assert not used
    else:
        assert here in PACKAGES, f"a new package: say in {name_of(Path(__file__))} what it may use"
        assert used <= PACKAGES[here] | set(BOTTOM), f"{name_of(path)} looks the wrong way"


def test_packages_have_no_circle() -> None:
    done: set[str] = set()
    while ready := [name for name in PACKAGES if name not in done and PACKAGES[name] <= done]:
        done.update(ready)
    assert done == set(PACKAGES)


@pytest.mark.parametrize("path", [path for path in MODULES if unit(path) in THIRD_PARTY], ids=name_of)
def test_third_party_packages_of_training_and_decoding(path: Path) -> None:
    foreign = {dotted.split(".")[0] for dotted in imports(path)} - {"mdnmt", "__future__"} - sys.stdlib_module_names
    assert foreign <= THIRD_PARTY[unit(path)]


def test_task_data_is_read_with_numpy_alone() -> None:
    used = set(imports(SOURCE / "tasks" / "data.py")) - sys.stdlib_module_names - {"__future__", "collections.abc"}
    assert used <= {"numpy", "numpy.typing", "mdnmt.errors", "mdnmt.fingerprint", "mdnmt.fsio", "mdnmt.tasks.vocab"}


def test_training_and_decoding_start_without_the_rest_of_the_environment() -> None:
    paths = [path for folder in ("train", "decode") for path in sorted((SOURCE / folder).glob("*.py"))]
    modules = [".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in paths]
    modules += ["mdnmt.commands.train", "mdnmt.commands.decode"]
    code = f"import sys\nsys.modules.update(dict.fromkeys({ELSEWHERE!r}))\nimport {', '.join(modules)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tests_mirror_the_source_and_have_names_of_their_own() -> None:
    names = [path.name for path in TESTS if path.name.startswith("test_")]
    assert len(set(names)) == len(names)
    assert not list((ROOT / "tests").rglob("__init__.py"))
    unit_tests = ROOT / "tests" / "unit"
    folders = {path.parent.relative_to(unit_tests).as_posix() for path in unit_tests.rglob("test_*.py")}
    # What the documentation says of the configuration has no module that it could mirror.
    assert folders - {".", "config_docs"} <= {path.name for path in SOURCE.iterdir() if path.is_dir()}


@pytest.mark.parametrize("path", [*MODULES, *TESTS], ids=name_of)
def test_nothing_unsafe_and_nothing_unfinished(path: Path) -> None:
    modules = set(imports(path))
    assert not modules & {"pickle", "shelve", "marshal", "dill", "joblib"}
    for node in ast.walk(tree(path)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ):
            called, keywords = (
                f"{node.func.value.id}.{node.func.attr}",
                {word.arg: word.value for word in node.keywords},
            )
            if called == "torch.load":
                assert ast.unparse(keywords["weights_only"]) == "True"
            if called in {"np.load", "numpy.load"} and "allow_pickle" in keywords:
                assert ast.unparse(keywords["allow_pickle"]) == "False"
            forbidden = {"yaml.unsafe_load", "yaml.full_load", "os.system"} | (
                {"time.sleep"} if path in TESTS else set()
            )
            assert called not in forbidden, f"{name_of(path)}:{node.lineno}: {called}"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert "NotImplementedError" not in ast.unparse(node.exc)
        if isinstance(node, ast.Attribute):
            # A browser, SLURM and a GPU cannot be installed by pip; the reason says how to get it.
            if (path.parent.name, ast.unparse(node)) in {
                ("browser", "pytest.skip"),
                ("slurm", "pytest.skip"),
                ("gpu", "pytest.mark.skipif"),
            }:
                continue
            marks = ("pytest.skip", "pytest.xfail", "pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail")
            assert ast.unparse(node) not in marks, (
                f"{name_of(path)}:{node.lineno}: tests are neither skipped nor expected to fail"
            )


def texts_of_the_project() -> list[Path]:
    folders = ("src", "tests", "workflow", "config", "envs", "docs", "benchmarks", ".ci")
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    # Not ours: other toolkits, and what benchmarks have found.
    made = [ROOT / "benchmarks" / name for name in ("peers/envs", "work")]
    made += (ROOT / "benchmarks").glob("*.json")
    found = [path for path in found if not any(path.is_relative_to(folder) for folder in made)]
    found += [
        path
        for path in ROOT.iterdir()
        if path.suffix in {".md", ".toml", ".cff"} or path.name in {"Makefile", "Snakefile"}
    ]
    kinds = {
        ".py",
        ".smk",
        ".yaml",
        ".md",
        ".toml",
        ".txt",
        ".j2",
        ".css",
        ".js",
        ".json",
        ".cff",
        ".def",
        ".sh",
        ".tsv",
        "",
    }
    return sorted(
        path
        for path in found
        if path.is_file() and path.suffix in kinds and "egg-info" not in str(path) and "__pycache__" not in str(path)
    )


@pytest.mark.parametrize("path", texts_of_the_project(), ids=name_of)
def test_no_file_names_a_place_of_one_machine(path: Path) -> None:
    # Put together here, so that this file does not name them either.
    places = "|".join(("home", "root", "Users", "work", "mnt", "scratch"))
    hosts = "|".join((r"pypi\." + "org", "python" + "hosted"))
    text = path.read_text(encoding="utf-8")
    for pattern in (
        rf"(?<![\w.}}:/~-])/({places})/[\w.]",
        rf"\b({hosts})\b",
        r"(?<![\w.])/tmp" + r"/\w",
        r"\.\./sha" + "red/",
    ):
        found = re.search(pattern, text)
        assert found is None, f"{name_of(path)}:{text.count(chr(10), 0, found.start()) + 1}: {found[0]}"


def rules() -> dict[str, str]:
    """Return rule -> its text."""
    found: dict[str, str] = {}
    for path in RULE_FILES:
        pieces = re.split(r"^(?:rule|checkpoint) (\w+):\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found.update(zip(pieces[1::2], pieces[2::2], strict=True))
    return found


def test_rule_files_are_short_and_hold_no_code() -> None:
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 80
    for path in RULE_FILES:
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 125, name_of(path)
        assert not re.search(r"^\s*(run|script|notebook|wrapper):", text, re.MULTILINE), name_of(path)
        assert not re.search(r"^(def|import|from) ", text, re.MULTILINE), (
            f"{name_of(path)}: code belongs into {' or '.join(WITHOUT_RULES)}"
        )
    for name in WITHOUT_RULES:
        text = (ROOT / "workflow" / "rules" / name).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 220 and not re.search(r"^(rule|checkpoint) ", text, re.MULTILINE), name


@pytest.mark.parametrize(("name", "text"), rules().items(), ids=list(rules()))
def test_every_rule_calls_a_verb_and_keeps_the_order(name: str, text: str) -> None:
    shell = re.search(r'^    shell:\n(?:        #.*\n)*        "(\S+)', text, re.MULTILINE)
    assert shell is not None and shell[1] in {"mdnmt", "(mdnmt"}, name
    order = ["input", "output", "log", "benchmark", "conda", "threads", "resources", "params", "message", "shell"]
    there = [word for word in re.findall(r"^    (\w+):", text, re.MULTILINE) if word in order]
    assert there == sorted(there, key=order.index) and {"output", "log", "message", "shell"} <= set(there), name
    # Everything that is put into the command is quoted, but for numbers and for options that common.smk has made whole.
    command = text[shell.start() :]
    bare = set(re.findall(r"\{([\w.\[\]]+)\}", command)) - {"threads"}
    assert bare <= {"params.limit", "params.repeats", "resources.habits", "resources.runtime", "resources.saving"}, name


def test_every_stage_has_its_version_in_use() -> None:
    used: set[str] = set()
    for path in [*MODULES, *(ROOT / "workflow" / "rules").glob("*.smk")]:
        used |= set(re.findall(r'(?:fingerprint\(|STAGE_VERSIONS\[)\s*"(\w+)"', path.read_text(encoding="utf-8")))
    assert used == set(STAGE_VERSIONS)
