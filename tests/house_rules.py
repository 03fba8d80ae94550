"""Check the rules of the house that no linter knows, in one pass over the files; `make check` runs this.

Each rule is a function that yields one line per offence: the place and what is wrong. All offences are printed.
import-linter checks which room may import which (pyproject.toml).
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

MODULE_LINES, FUNCTION_LINES = 400, 70
SNAKEFILE_LINES, RULE_FILE_LINES, COMMON_FILE_LINES = 80, 210, 360
WITHOUT_RULES = ("common.smk", "inputs.smk", "downloads.smk")
RULE_ORDER = ["input", "output", "log", "benchmark", "threads", "resources", "params", "message", "shell"]
# Numbers, and options that common.smk has quoted already; everything else in a command is quoted in the rule.
UNQUOTED = {
    *("threads", "params.limit", "params.repeats"),
    *("resources.device", "resources.runtime", "resources.study", "resources.training_options"),
}

# What a bare GPU machine has. Room -> the packages that it may import; other rooms may import what is pinned.
TRAINING = {"torch", "numpy", "pydantic", "yaml", "safetensors", "sacrebleu"}
THIRD_PARTY = {
    "models": {"torch", "triton"},  # Triton only where it is installed: training starts without it (ABSENT)
    "methods": {"torch", "pydantic"},
    "checkpoints": {"torch", "numpy", "safetensors"},
    "config": {"pydantic", "pydantic_core", "yaml"},
    "decode": TRAINING,
    "train": TRAINING,
    "score": {
        "sacrebleu",
        "numpy",
        "torch",
        "comet",
        "scipy",
    },  # comet by one module alone: test_score_comet_environment
}
TASK_DATA = {
    "numpy",
    "numpy.typing",
    "mdnmt.errors",
    "mdnmt.fingerprint",
    "mdnmt.fsio",
    "mdnmt.tasks.segmentation.vocabulary",
}
ABSENT = [
    "snakemake",
    "matplotlib",
    "PIL",
    "sklearn",
    "pandas",
    "scipy",
    "jinja2",
    "psutil",
    "openpyxl",
    "yte",
    "triton",
]

UNSAFE_MODULES = {"pickle", "cloudpickle", "shelve", "marshal", "dill", "joblib"}
UNSAFE_CALLS = {"yaml.unsafe_load", "yaml.full_load", "os.system"}
UNSAFE_IN_THE_PACKAGE = re.compile(r"eval|exec|os\.popen|yaml\.load|.*\.extract(all)?")
MUST_BE = {"torch.load": ("weights_only", "True"), "np.load": ("allow_pickle", "False")}
SKIPS = {"pytest.skip", "pytest.xfail", "pytest.mark.skip", "pytest.mark.skipif", "pytest.mark.xfail"}
# pip cannot install a browser, SLURM or a GPU, and `make test` makes no environment for COMET; the reason of the skip
# says how to get it.
MAY_SKIP = {("browser", "pytest.skip"), ("slurm", "pytest.skip"), ("gpu", "pytest.mark.skipif")}
MAY_SKIP |= {("tests", "pytest.skip")}

TEXT_FOLDERS = ("src", "tests", "workflow", "config", "envs", "docs", "benchmarks", ".ci")
TEXT_SUFFIXES = {".py", ".smk", ".yaml", ".md", ".toml", ".txt", ".j2", ".css", ".js", ".json", ".cff", ".def", ".sh"}
TEXT_SUFFIXES |= {".tsv", ""}
# In pieces, so that this file does not name these places either.
PLACES = "|".join(("home", "root", "Users", "work", "mnt", "scratch"))
HOSTS = "|".join((r"pypi\." + "org", "python" + "hosted"))
PLACE = re.compile(
    rf"(?<![\w.}}:/~-])/(?:{PLACES})/[\w.]|\b(?:{HOSTS})\b|" + r"(?<![\w.])/tmp" + r"/\w|" + r"\.\./sha" + "red/"
)


def modules(root: Path) -> list[Path]:
    """Return the Python files of the package."""
    return sorted((root / "src" / "mdnmt").rglob("*.py"))


def tests(root: Path) -> list[Path]:
    """Return the Python files below tests/."""
    return sorted((root / "tests").rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    """Return a file's text."""
    return path.read_text(encoding="utf-8")


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """Return all nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(text_of(path))))


def imports(path: Path) -> Iterator[str]:
    """Yield the dotted names that a module imports, also inside functions."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)


def files_are_short(root: Path) -> Iterator[str]:
    """Bound the length of modules and functions."""
    for path in modules(root):
        if (lines := len(text_of(path).splitlines())) > MODULE_LINES:
            yield f"{path}: {lines} lines, at most {MODULE_LINES}"
        for node in nodes_of(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > FUNCTION_LINES:
                    yield f"{path}:{node.lineno}: {node.name} has {lines} lines, at most {FUNCTION_LINES}"


def packages_of_training(root: Path) -> Iterator[str]:
    """Training and decoding import only what a bare GPU machine has."""
    for path in modules(root):
        room = path.relative_to(root / "src" / "mdnmt").parts[0]
        if room in THIRD_PARTY:
            used = {name.split(".")[0] for name in imports(path)} - {"mdnmt", "__future__"} - sys.stdlib_module_names
            if more := used - THIRD_PARTY[room]:
                yield f"{path}: imports {', '.join(sorted(more))}; {room} may import {sorted(THIRD_PARTY[room])}"
    data = root / "src" / "mdnmt" / "tasks" / "task_data.py"
    if more := set(imports(data)) - sys.stdlib_module_names - {"__future__", "collections.abc"} - TASK_DATA:
        yield f"{data}: imports {', '.join(sorted(more))}; task data are read with numpy alone"


def training_starts_alone(root: Path) -> Iterator[str]:
    """Training and decoding start where the rest of the environment is missing."""
    source = root / "src"
    paths = [path for room in ("train", "decode") for path in sorted((source / "mdnmt" / room).glob("*.py"))]
    names = [".".join(path.relative_to(source).with_suffix("").parts) for path in paths]
    names += ["mdnmt.commands.train", "mdnmt.commands.decode"]
    code = f"import sys\nsys.modules.update(dict.fromkeys({ABSENT!r}))\nimport {', '.join(names)}"
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"{source}: training and decoding need more than {sorted(TRAINING)}: {done.stderr.splitlines()[-1]}"


def tests_mirror_the_source(root: Path) -> Iterator[str]:
    """Tests have unique base names, and folders named after the rooms."""
    for name, count in Counter(path.name for path in tests(root) if path.name.startswith("test_")).items():
        if count > 1:
            yield f"{root / 'tests'}: {count} files are named {name}"
    yield from (f"{path}: tests are no packages" for path in tests(root) if path.name == "__init__.py")
    unit = root / "tests" / "unit"
    # What the documentation says of the configuration has no module that it could mirror.
    package = root / "src" / "mdnmt"
    found = [*(path for path in package.iterdir() if path.is_dir()), *(package / "extras").glob("*/")]
    rooms = {path.relative_to(package).as_posix() for path in found} | {".", "config_docs"}
    for folder in sorted({path.parent for path in unit.rglob("test_*.py")}):
        if folder.relative_to(unit).as_posix() not in rooms:
            yield f"{folder}: src/mdnmt has no such room"


def nothing_unsafe(root: Path) -> Iterator[str]:
    """Nothing loads code from data, nothing is unfinished; tests neither sleep nor are left out."""
    in_tests = set(tests(root))
    for path in [*modules(root), *in_tests]:
        if unsafe := set(imports(path)) & UNSAFE_MODULES:
            yield f"{path}: imports {', '.join(sorted(unsafe))}"
        for node in nodes_of(path):
            place = f"{path}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).replace("numpy.load", "np.load")
                given = {word.arg: ast.unparse(word.value) for word in node.keywords}
                if called in UNSAFE_CALLS or (called == "time.sleep" and path in in_tests):
                    yield f"{place}: calls {called}"
                if path not in in_tests and UNSAFE_IN_THE_PACKAGE.fullmatch(called):
                    yield f"{place}: calls {called}, which may run or place what it reads"
                if path not in in_tests and given.get("shell", "False") != "False":
                    yield f"{place}: {called} with a shell"
                if path not in in_tests and called in ("np.save", "numpy.save") and "allow_pickle" not in given:
                    yield f"{place}: {called} without allow_pickle=False"
                option, value = MUST_BE.get(called, ("", ""))
                if option and given.get(option, value if called == "np.load" else None) != value:
                    yield f"{place}: {called} without {option}={value}"
            elif isinstance(node, ast.Raise) and node.exc and "NotImplementedError" in ast.unparse(node.exc):
                yield f"{place}: raises NotImplementedError"
            elif isinstance(node, ast.Attribute) and node.attr in {"skip", "xfail", "skipif"}:
                name = ast.unparse(node)
                if name in SKIPS and (path.parent.name, name) not in MAY_SKIP:
                    yield f"{place}: {name}: tests are neither skipped nor expected to fail"


def texts(root: Path) -> list[Path]:
    """Return the text files of the project, without other toolkits and what benchmarks have found."""
    benchmarks = root / "benchmarks"
    made = [benchmarks / "peers" / "envs", benchmarks / "work", *benchmarks.glob("*.json")]
    found = [path for folder in TEXT_FOLDERS for path in (root / folder).rglob("*")]
    found += [path for path in root.iterdir() if path.suffix in {".md", ".toml", ".cff"}]
    found += [root / "Makefile", root / "Snakefile"]
    return sorted(
        path
        for path in found
        if path.suffix in TEXT_SUFFIXES
        and path.is_file()
        and not any(path.is_relative_to(folder) for folder in made)
        and not any("egg-info" in part or part == "__pycache__" for part in path.parts)
    )


def no_file_names_a_machine(root: Path) -> Iterator[str]:
    """No file names a folder of one machine or the host of a package index."""
    for path in texts(root):
        text = text_of(path)
        for found in PLACE.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: names {found[0]}"


def rule_files(root: Path) -> list[Path]:
    """Return the rule files of the workflow."""
    return sorted((root / "workflow" / "rules").glob("*.smk"))


def rule_files_hold_no_code(root: Path) -> Iterator[str]:
    """Rule files are short and hold rules alone; code is in common.smk, inputs.smk and downloads.smk."""
    bounds = {path: COMMON_FILE_LINES if path.name in WITHOUT_RULES else RULE_FILE_LINES for path in rule_files(root)}
    for path, bound in {root / "Snakefile": SNAKEFILE_LINES, **bounds}.items():
        if (lines := len(text_of(path).splitlines())) > bound:
            yield f"{path}: {lines} lines, at most {bound}"
    for path in bounds:
        if path.name in WITHOUT_RULES:
            if found := re.search(r"^(rule|checkpoint) ", text_of(path), re.MULTILINE):
                yield f"{path}: holds a {found[1]}"
        elif re.search(r"^\s*(run|script|notebook|wrapper):|^(def|import|from) ", text_of(path), re.MULTILINE):
            yield f"{path}: holds code; it belongs into {' or '.join(WITHOUT_RULES)}"


def rules_call_a_verb(root: Path) -> Iterator[str]:
    """Each rule calls a verb, keeps the order of its parts, and quotes what it puts into the command."""
    for path in rule_files(root):
        if path.name in WITHOUT_RULES:
            continue
        pieces = re.split(r"^(?:rule|checkpoint) (\w+):\n", text_of(path), flags=re.MULTILINE)
        for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
            called = r'^    shell:\n(?:        #.*\n)*        "\(?(?:\.venv-comet/bin/python -m )?mdnmt '
            shell = re.search(called, text, re.MULTILINE)
            if shell is None:
                yield f"{path}: {name} calls no verb of mdnmt"
                continue
            there = [word for word in re.findall(r"^    (\w+):", text, re.MULTILINE) if word in RULE_ORDER]
            if there != sorted(there, key=RULE_ORDER.index):
                yield f"{path}: {name} has {', '.join(there)}; the order is {', '.join(RULE_ORDER)}"
            if less := {"output", "log", "message", "shell"} - set(there):
                yield f"{path}: {name} has no {', '.join(sorted(less))}"
            if bare := set(re.findall(r"\{([\w.\[\]]+)\}", text[shell.start() :])) - UNQUOTED:
                yield f"{path}: {name} does not quote {', '.join(sorted(bare))} in its command"


def stages_have_versions(root: Path) -> Iterator[str]:
    """Each stage that has a version is used, and the other way round."""
    fingerprint = root / "src" / "mdnmt" / "fingerprint.py"
    table = next(
        node.value
        for node in nodes_of(fingerprint)
        if isinstance(node, ast.Assign | ast.AnnAssign) and "STAGE_VERSIONS" in ast.unparse(node).partition("=")[0]
    )
    assert isinstance(table, ast.Dict)
    named = {ast.literal_eval(key) for key in table.keys if key is not None}
    used: set[str] = set()
    for path in [*modules(root), *rule_files(root)]:
        used |= set(re.findall(r'(?:fingerprint\(|STAGE_VERSIONS\[)\s*"(\w+)"', text_of(path)))
    for stage in sorted(named ^ used):
        yield f"{fingerprint}: stage {stage} {'is not used' if stage in named else 'has no version'}"


RULES = (
    files_are_short,
    packages_of_training,
    training_starts_alone,
    tests_mirror_the_source,
    nothing_unsafe,
    no_file_names_a_machine,
    rule_files_hold_no_code,
    rules_call_a_verb,
    stages_have_versions,
)


def offences(root: Path) -> list[str]:
    """Return a line for each offence below a project's root, with paths relative to it."""
    return [line.replace(f"{root}/", "") for rule in RULES for line in rule(root)]


def main() -> int:
    """Print all offences; return 1 if there are any."""
    found = offences(ROOT)
    for line in found:
        print(line, file=sys.stderr)
    print(f"house rules: {len(RULES)} rules, {len(found)} offences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
