"""Read the test or validation sets of a task and their hypotheses; check that their line counts agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mdnmt.config.decoding import Split
from mdnmt.errors import DamagedTask, DataError
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import SUMS, read_json, read_lines, refuse_removed, write_lines, write_sums
from mdnmt.tasks.segmentation.segmenter import SEGMENTATION, Segmentation


@dataclass(frozen=True)
class TestSets:
    """The test or validation text of a task.

    Attributes:
        task_dir: the task's directory, with `task.json` and `text/`.
        source_lang: language code of the source.
        target_lang: language code of the target.
        domains: the task's domains, in label order.
        limit: use only this many first sentences of each domain; None: all.
        splits: split -> domain -> identity of its text; empty if an older version made the task.
        target_tokenizer: name of the task's tokenizer for the target language.
        sums: file -> its sha256, as recorded in task.json.
        split: `test` or `valid`.
        code: stage -> hash of the code that made the task's data; empty if an older version made it.
    """

    __test__ = False  # keeps pytest from collecting it

    task_dir: Path
    source_lang: str
    target_lang: str
    domains: tuple[str, ...]
    limit: int | None = None
    splits: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    target_tokenizer: str = "moses"
    sums: Mapping[str, str] = field(default_factory=dict)
    split: Split = "test"
    code: Mapping[str, str] = field(default_factory=dict)

    def references(self, domain: str) -> list[str]:
        """Return the reference translations of one domain."""
        return self._text(domain, self.target_lang)

    def sources(self, domain: str) -> list[str]:
        """Return the source sentences of one domain."""
        return self._text(domain, self.source_lang)

    def hypotheses(self, folder: Path, domain: str) -> list[str]:
        """Return the translations of one domain, as many as there are references.

        Raises:
            DataError: the file is missing, or has another number of lines.
        """
        path = hypothesis_path(folder, domain)
        found, references = _read(path), self.references(domain)
        if len(found) != len(references):
            limited = f" (the first {self.limit} asked for)" if self.limit is not None else ""
            raise DataError(
                f"{path}: {len(found)} lines, but {self._path(domain, self.target_lang)} has {len(references)} "
                f"references{limited}; decode the test set again, or give the limit it was decoded with"
            )
        return found

    def _text(self, domain: str, lang: str) -> list[str]:
        path = self._path(domain, lang)
        lines = _read(path)[: self.limit]
        if self.sums.get(f"text/{path.name}") not in (None, sha256_file(path)):
            raise DamagedTask(f"{path}: was altered (sha256 differs from task.json)")
        if not lines:
            raise DataError(f"{path}: no line; a test set needs at least one sentence")
        return lines

    def _path(self, domain: str, lang: str) -> Path:
        return self.task_dir / "text" / f"{self.split}.{domain}.{lang}"


def load_test_sets(task_dir: Path, limit: int | None = None, split: Split = "test") -> TestSets:
    """Return the test sets of the task in `task_dir`, or its validation sets.

    Raises:
        DataError: there is no task, its `task.json` lacks a key, or `limit` is below 1.
    """
    if limit is not None and limit < 1:
        raise DataError(f"a limit of {limit} sentences: expected 1 or more, or none")
    path = task_dir / "task.json"
    try:
        task: Any = read_json(path)
        said = task.get("files", {}).get(SEGMENTATION)
        if said is not None and sha256_file(task_dir / SEGMENTATION) != said["sha256"]:
            raise DamagedTask(f"{task_dir / SEGMENTATION}: was altered (sha256 differs from task.json)")
        return TestSets(
            task_dir=task_dir,
            source_lang=str(task["source_lang"]),
            target_lang=str(task["target_lang"]),
            domains=tuple(str(domain) for domain in task["domains"]),
            limit=limit,
            splits={name: dict(hashes) for name, hashes in task.get("splits", {}).items()},
            target_tokenizer=Segmentation.load(task_dir).tokenizer(str(task["target_lang"])),
            sums={name: str(made["sha256"]) for name, made in task.get("files", {}).items()},
            split=split,
            code=dict(task.get("code", {})),
        )
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; expected the directory of a finished task (mdnmt task)") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: cannot be used ({type(error).__name__}: {error}); expected the keys source_lang, target_lang "
            "and domains; make the task again"
        ) from error


def hypothesis_path(folder: Path, domain: str) -> Path:
    """Return the file in `folder` that holds the translations of `domain`'s test set."""
    return folder / f"hyp.{domain}.txt"


def has_hypotheses(folder: Path, domain: str) -> bool:
    """Return whether `folder` holds translations of `domain`'s test set.

    Raises:
        DamagedFile: the folder's sums.json lists them, but they are gone.
    """
    path = hypothesis_path(folder, domain)
    if path.exists():
        return True
    refuse_removed(path)
    return False


def sums_of(folder: Path) -> list[Path]:
    """Return the sums.json with the sha256 of the translations in `folder`; [] for those of another program."""
    return [path] if (path := folder / SUMS).exists() else []


def copy_sources(test_sets: TestSets, folder: Path) -> None:
    """Write the source sentences as hypotheses, as the output of a system that copies its input."""
    for domain in test_sets.domains:
        write_lines(hypothesis_path(folder, domain), test_sets.sources(domain))
    names = [hypothesis_path(folder, domain).name for domain in test_sets.domains]
    write_sums(folder, names, made_by={"code": dict(test_sets.code)})


def _read(path: Path) -> list[str]:
    try:
        return read_lines(path)
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file; expected one sentence per line (`snakemake --cores all translations` writes the "
            "translations of a study's runs again)"
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}: line {line} is not UTF-8; expected UTF-8 text, one sentence per line") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
