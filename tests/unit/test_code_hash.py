from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdnmt.code_hash import Sources, code_hash, modules_of

FILES = {
    "__init__.py": '"""The package."""\n',
    "tool.py": '"""A tool."""\nimport os\nfrom pack.draw import heat\n\n\ndef run():\n    from pack.late import x\n',
    "late.py": "x = 1\n",
    "draw/__init__.py": "from .style import INK\n",
    "draw/style.py": "INK = 'black'\n",
    "draw/heat.py": "import typing\n\nif typing.TYPE_CHECKING:\n    from pack import typed\n\nSIZE = 3\n",
    "draw/other.py": "import pack.late\n",
    "typed.py": "",
    "page/__init__.py": "",
    "page/build.py": "from importlib.resources import files\nstyle = files('pack.page')\n",
    "page/near.py": "NAME = 'page.css'\n",
    "page/far.py": "",
    "page/page.css": "body {}\n",
    "page/page.js": "let x;\n",
    "kinds/__init__.py": "import importlib\n_ = [importlib.import_module(f'{__name__}.{n}') for n in 'ab']\n",
    "kinds/one.py": "ONE = 1\n",
    "kinds/two.py": "TWO = 2\n",
    "user.py": "from pack import kinds\n",
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "pack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "pack"


@pytest.mark.parametrize(
    ("root", "modules"),
    [
        ("tool", "pack pack.draw pack.draw.heat pack.draw.style pack.late pack.tool"),
        ("draw.other", "pack pack.draw pack.draw.other pack.draw.style pack.late"),
        ("user", "pack pack.kinds pack.kinds.one pack.kinds.two pack.user"),
    ],
)
def test_modules_are_found_through_packages_functions_and_relative_imports(pack: Path, root: str, modules: str) -> None:
    assert Sources(pack).modules(f"pack.{root}") == modules.split()


def test_of_modules_loaded_by_name_one_may_be_chosen(pack: Path) -> None:
    found = Sources(pack).modules("pack.user", "pack.kinds.two", chosen_from=["pack.kinds"])
    assert found == ["pack", "pack.kinds", "pack.kinds.two", "pack.user"]
    assert Sources(pack).modules("pack.user", without=["pack.kinds"]) == ["pack", "pack.user"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tool.py", '"""A tool."""', '"""Another tool."""\n# with a comment\n'),
        ("tool.py", "import os\n", "\n\nimport os  # why\n"),
        ("tool.py", "def run():\n", "def run():\n    '''Say what it does.'''\n"),
        ("late.py", "x = 1", "x = (1)"),
        ("late.py", "x = 1", "x = 0x1"),
        ("draw/other.py", "late", "late as other"),
        ("page/page.css", "body", "p"),
    ],
)
def test_comments_docstrings_spacing_and_other_modules_change_no_hash(
    pack: Path, name: str, old: str, new: str
) -> None:
    before = Sources(pack).hash("pack.tool")
    _edit(pack / name, old, new)
    assert Sources(pack).hash("pack.tool") == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tool.py", "import os\n", "import sys\n"),
        ("tool.py", "from pack.late import x", "from pack.late import x as y"),
        ("late.py", "x = 1", "x = 1.0"),
        ("late.py", "x = 1", "x = -1"),
        ("late.py", "x = 1", "x = None"),
        ("late.py", "x = 1", "x = 'a text'"),
        ("late.py", "x = 1", "x = 1\n'a text that is no docstring'"),
        ("draw/style.py", "black", "blue"),
        ("draw/__init__.py", "INK", "INK as BLACK"),
    ],
)
def test_code_of_the_module_and_of_what_it_imports_changes_the_hash(pack: Path, name: str, old: str, new: str) -> None:
    before = Sources(pack).hash("pack.tool")
    _edit(pack / name, old, new)
    assert Sources(pack).hash("pack.tool") != before


@pytest.mark.parametrize(
    ("root", "file", "changes"),
    [
        ("page.build", "page.css", True),
        ("page.build", "page.js", True),
        ("page.near", "page.css", True),
        ("page.near", "page.js", False),
        ("page.far", "page.css", False),
    ],
)
def test_files_that_a_module_names_belong_to_it(pack: Path, root: str, file: str, changes: bool) -> None:
    before = Sources(pack).hash(f"pack.{root}")
    (pack / "page" / file).write_text("/* another */")
    assert (Sources(pack).hash(f"pack.{root}") != before) == changes


def test_the_files_of_a_plug_in_are_not_those_of_a_module_that_has_its_name_as_a_text(pack: Path) -> None:
    # With nothing kept, as after an installation: once, every plan beside a plugins/README.md ended in a traceback.
    (pack / "near.py").write_text("FOLDER = 'plugins'\n")
    before = Sources(pack).hash("pack.near")
    (pack / "__pycache__").mkdir()  # hashes are kept there
    (plugins := pack.parent / "plugins").mkdir()
    for name in ("__init__.py", "README.md"):
        (plugins / name).write_text("")
    sources = Sources(pack)
    sources.add("plugins", plugins)
    assert sources.data["plugins"]
    assert sources.hash("pack.near") == before


def test_a_missing_module_is_named(pack: Path) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pack\.nothing"):
        Sources(pack).hash("pack.nothing")


def test_of_mdnmt_itself() -> None:
    assert code_hash("mdnmt.commands.score") == code_hash("mdnmt.commands.score")
    assert code_hash("mdnmt.commands.score") != code_hash("mdnmt.commands.comet")
    assert "mdnmt.score.metrics.string_based.bleu" in modules_of("mdnmt.commands.score")  # imported inside a function
    assert "mdnmt.methods.dmoe" in modules_of("mdnmt.commands.train")  # loaded by name
    assert "mdnmt.methods.dmoe" not in modules_of("mdnmt.commands.train", chosen_from=["mdnmt.methods"])
    of_page = {path.name for path in Sources(Path(__file__).parents[2] / "src" / "mdnmt").data["mdnmt.report.sections"]}
    assert {"page.css", "page.js", "page.html.j2"} <= of_page


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_what_was_read_once_is_kept_until_a_file_changes(pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    (pack / "__pycache__").mkdir()
    everything = [f"pack.{name}" for name in ("tool", "user", "page.build", "page.near")]

    def found() -> tuple[str, list[str]]:
        sources = Sources(pack)
        return sources.hash(*everything), sources.modules(*everything)

    fresh = found()
    [kept] = (pack / "__pycache__").iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("ast.parse", None)
        assert found() == fresh
    # Another content of the same length and time, and a new module that an import may mean.
    late = pack / "late.py"
    times = late.stat().st_mtime_ns
    late.write_text("x = 2\n")
    os.utime(late, ns=(times, times))
    assert (changed := found()) != fresh
    (pack / "late").mkdir()
    late.rename(pack / "late" / "__init__.py")
    (pack / "late" / "x.py").write_text("")
    assert "pack.late.x" in found()[1]
    (pack / "late" / "x.py").unlink()
    (pack / "late" / "__init__.py").rename(late)
    (pack / "late").rmdir()
    for damage in ("", "{}", kept.read_text().replace("pack.late", "pack.typed")):
        kept.write_text(damage)
        assert found() == changed
