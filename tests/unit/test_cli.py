from __future__ import annotations

import argparse
import errno
import io
import os
import pwd
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mdnmt import __main__, __version__, cli
from mdnmt.cli import WHAT_TO_DO, main, verbs
from mdnmt.commands import OF_THE_WORKFLOW, SECTIONS
from mdnmt.errors import EXIT_RESUME, EXIT_USER, ConfigError, Interrupted, LeaseError, MdnmtError


def module_of(verb: str) -> Any:
    return cli.module_of(verb)


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_every_verb_and_what_a_user_calls_with_a_sentence(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 0
    printed, _, rest = capsys.readouterr().out.partition(f"\n{OF_THE_WORKFLOW}:\n")
    named = {verb for section in SECTIONS.values() for verb in section}
    for verb in named:
        assert printed.count(f"\n  {verb} ") == 1 and module_of(verb).__doc__.strip().splitlines()[0] in printed
    extras = set(printed.partition("\nExtras:\n")[2].split("\n\n")[0].replace("\n ", "\n").split("\n"))
    named |= {line.split()[0] for line in extras if line.strip()}
    assert set(rest.partition("\n\n")[0].replace(",", " ").split()) == set(verbs()) - named


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_an_argument_may_stand_in_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(f"{'x' * 200_000}\n")
    words = ["task", "--corpora", str(tmp_path), "--out", str(tmp_path / "task"), "--spec"]
    assert main([*words, f"@{spec}"]) == EXIT_USER
    assert "--spec: not JSON" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*words, f"@{tmp_path}/none.json"])
    assert "none.json" in capsys.readouterr().err


def test_unknown_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trainn"]) == EXIT_USER
    said = capsys.readouterr().err
    assert "no verb 'trainn'" in said and "train" in said and said.count("\n") == 1


def test_every_verb_explains_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in verbs():
        with pytest.raises(SystemExit) as ended:
            main([verb, "--help"])
        printed = capsys.readouterr().out
        assert ended.value.code == 0 and f"usage: mdnmt {verb}" in printed and "--" in printed


@pytest.mark.parametrize(
    ("raised", "status"),
    [
        (ConfigError("config/x.yaml: no"), EXIT_USER),
        (MdnmtError("no"), EXIT_USER),
        (LeaseError("held"), EXIT_RESUME),
        (Interrupted("saved"), EXIT_RESUME),
    ],
)
def test_mistakes_are_one_line_and_a_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception, status: int
) -> None:
    def fails(args: argparse.Namespace) -> None:
        raise raised

    monkeypatch.setattr(module_of("unlock"), "run", fails)
    assert main(["unlock"]) == status
    assert capsys.readouterr().err == f"mdnmt unlock: {raised}\n"


def test_a_bug_is_not_hidden_and_an_interrupt_has_its_status(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bug(args: argparse.Namespace) -> None:
        raise ZeroDivisionError

    def interrupted(args: argparse.Namespace) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module_of("unlock"), "run", bug)
    with pytest.raises(ZeroDivisionError):
        main(["unlock"])
    monkeypatch.setattr(module_of("unlock"), "run", interrupted)
    assert main(["unlock"]) == 130
    assert capsys.readouterr().err == "mdnmt unlock: stopped by Ctrl-C\n"
    assert (EXIT_USER, EXIT_RESUME) == (2, 75)


def test_a_package_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacks(name: str) -> Any:
        def run(args: argparse.Namespace) -> None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        return run

    monkeypatch.setattr(module_of("schema"), "run", lacks("pandas.core"))
    assert main(["schema", "--out", "x"]) == EXIT_USER
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "needs the Python package pandas" in said and "pip install ." in said
    monkeypatch.setattr(module_of("schema"), "run", lacks("mdnmt.gone"))
    with pytest.raises(ModuleNotFoundError):
        main(["schema", "--out", "x"])


def test_what_another_user_owns_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "run" / "lease"

    def refused(args: argparse.Namespace) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(place))

    monkeypatch.setattr(module_of("unlock"), "run", refused)
    assert main(["unlock"]) == 2
    assert "belongs to" not in capsys.readouterr().err
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert main(["unlock"]) == 2
    owner = pwd.getpwuid(os.getuid()).pw_name
    said = f"{place}: Permission denied ({tmp_path} belongs to {owner})"
    assert capsys.readouterr().err == f"mdnmt unlock: {said}{WHAT_TO_DO[errno.EACCES]}\n"


def test_a_file_missing_from_a_folder_of_snakemake_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "results/runs/tiny/mixed/seed1-01234567/analysis-89abcdef"

    def refused(args: argparse.Namespace) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(folder / "sentences.json"))

    monkeypatch.setattr(module_of("unlock"), "run", refused)
    said = f"mdnmt unlock: {folder}/sentences.json: No such file or directory"
    assert main(["unlock"]) == 2 and capsys.readouterr().err == f"{said}\n"  # Snakemake makes a missing folder
    folder.mkdir(parents=True)
    assert main(["unlock"]) == 2
    assert capsys.readouterr().err == f"{said}; remove the folder {folder}, then start the same command again\n"


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/nowhere/x.json"),
            f"/nowhere/x.json: Permission denied{WHAT_TO_DO[errno.EACCES]}",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), f"No space left on device{WHAT_TO_DO[errno.ENOSPC]}"),
        (OSError("no medium"), "no medium"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_trouble_with_files_is_one_line_with_the_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception, said: str
) -> None:
    def fails(args: argparse.Namespace) -> None:
        raise raised

    monkeypatch.setattr(module_of("unlock"), "run", fails)
    monkeypatch.setattr(os, "geteuid", lambda: Path("/").stat().st_uid)  # the nearest folder is ours, whoever we are
    assert main(["unlock"]) == EXIT_USER
    assert capsys.readouterr().err == f"mdnmt unlock: {said}\n"


@pytest.mark.parametrize("size", [1, 10_000_000])  # within the buffer, and beyond it
def test_output_to_a_full_disk_is_one_line(size: int) -> None:
    code = (
        "import sys\nfrom mdnmt.commands import unlock\nfrom mdnmt.cli import main\n"
        f"unlock.run = lambda args: print('x' * {size})\nsys.exit(main(['unlock']))"
    )
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", code], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        EXIT_USER,
        f"mdnmt unlock: No space left on device{WHAT_TO_DO[errno.ENOSPC]}\n",
    )


def test_a_refusal_that_cannot_be_printed_is_still_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(args: argparse.Namespace) -> int:
        raise ConfigError("a mistake")

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module_of("unlock"), "run", fails)
    monkeypatch.setattr(sys, "stderr", Full())
    assert main(["unlock"]) == EXIT_USER


def test_a_reader_that_goes_away_is_no_bug() -> None:
    # `mdnmt --help | head -0`, with the verb's output larger than any buffer of a pipe.
    code = (
        "import sys\nfrom mdnmt.commands import unlock\nfrom mdnmt.cli import main\n"
        "unlock.run = lambda args: print('x' * 10_000_000)\nsys.exit(main(['unlock']))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), said) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("pipe", ["audit", "FILE"]),
        ("device", ["compare", "FILE", "FILE", "--reference", "FILE"]),
        ("pipe", ["task", "--corpora", ".", "--spec", "@FILE", "--out", "out"]),
        ("pipe", ["import", "fairseq", "FILE", "--dict-src", "FILE", "--dict-tgt", "FILE", "--out", "out"]),
        ("pipe", ["audit", "--json", "FILE"]),  # would be replaced by a file
    ],
)
def test_a_pipe_or_device_is_one_line_and_stays_what_it_is(
    kind: str, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path("/dev/zero")
    if kind == "pipe":
        place = tmp_path / "pipe"
        os.mkfifo(place)
    assert main([word.replace("FILE", str(place)) for word in arguments]) == EXIT_USER
    said = capsys.readouterr().err
    assert f"{place}: is a {kind}, expected a file" in said and said.count("\n") == 1
    assert not place.is_file() and place.exists()


def test_what_the_shell_passes_by_name_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"--help\n")
    os.close(writing)
    with pytest.raises(SystemExit) as caught:
        main(["task", f"@/dev/fd/{reading}"])  # mdnmt task @<(echo --help)
    os.close(reading)
    assert caught.value.code == 0 and "usage: mdnmt task" in capsys.readouterr().out


# Of argparse, of the page of help, and of a verb that prints nothing.
@pytest.mark.parametrize(
    ("arguments", "closed"),
    [(["--version"], ">&-"), (["--help"], ">&-"), (["--version"], ">/dev/full"), (["unlock"], ">/dev/full"),
     (["unlock"], "2>&-")],
)  # fmt: skip
def test_closed_output_is_a_status_and_at_most_one_line(arguments: list[str], closed: str, tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-m", "mdnmt", *arguments])
    done = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    full = closed == ">/dev/full" and arguments != ["unlock"]  # which prints nothing
    assert (done.returncode, done.stderr.count("\n")) == ((EXIT_USER, 1) if full else (0, 0)), done.stderr


def test_numbers_of_closed_streams_are_given_to_no_file(tmp_path: Path) -> None:
    code = "import sys, os; from mdnmt.cli import main; main(['unlock']); sys.exit(os.open(sys.argv[1], os.O_RDONLY))"
    done = subprocess.run(["sh", "-c", f'{sys.executable} -c "{code}" {__file__} <&- >&- 2>&-'], check=False)
    assert done.returncode == 3


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), ImportError("numpy.core.multiarray failed to import")])
def test_ctrl_c_while_modules_are_imported_is_one_line(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted_import() -> int:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise raised

    monkeypatch.setattr("mdnmt.cli.main", interrupted_import)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert __main__.main() == 130
        assert signal.getsignal(signal.SIGINT) == signal.SIG_DFL  # the next Ctrl-C ends the process
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "mdnmt: stopped by Ctrl-C\n"


def test_a_bug_without_ctrl_c_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def bug() -> int:
        raise ImportError("a bug")

    monkeypatch.setattr("mdnmt.cli.main", bug)
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(ImportError, match="a bug"):
            __main__.main()
    finally:
        signal.signal(signal.SIGINT, before)


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def large(args: argparse.Namespace) -> None:
        raise MemoryError

    monkeypatch.setattr(module_of("unlock"), "run", large)
    assert main(["unlock"]) == EXIT_USER
    assert "mdnmt unlock: this process has no memory left" in capsys.readouterr().err


def test_the_schema_is_written_in_a_project_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["schema"]) == EXIT_USER
    assert "no such folder" in capsys.readouterr().err and list(tmp_path.iterdir()) == []


def test_no_verb_imports_anything_heavy_before_it_runs() -> None:
    code = (
        "import sys\nfrom mdnmt.cli import main, module_of, verbs\nmain(['--help'])\n"
        "print(*(name for name in sys.modules if name.startswith('mdnmt.extras')), file=sys.stderr)\n"
        "[module_of(verb) for verb in verbs()]\n"
        "print(*sorted({'torch', 'numpy', 'pydantic', 'matplotlib', 'yaml'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == []  # help imports no extra, and no verb anything heavy


def test_python_dash_m_is_the_same(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "mdnmt.cli", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == EXIT_USER and "Traceback" not in done.stderr
