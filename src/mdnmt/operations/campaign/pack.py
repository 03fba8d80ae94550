"""One file with everything that a campaign needs on a machine without network, corpora or this project's packages."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from mdnmt.corpora.formats.archive import open_archive
from mdnmt.errors import DataError
from mdnmt.fsio import atomic_path, read_json, write_bytes
from mdnmt.operations.campaign.jobs import Campaign, Job
from mdnmt.plugins import PACKAGE as PLUGINS
from mdnmt.tasks.segmentation.segmenter import Segmentation

CAMPAIGN, PACKAGES = "campaign.json", "packages"
UNPACKED_BYTES_MAX = 20_000_000_000
# Tokenizer, or "bpe" -> the package that segments and joins text. All are pure Python, so their files can be carried.
_NEEDS = {"moses": "sacremoses", "reversible": "jieba", "jieba": "jieba", "bpe": "subword-nmt"}
_EVERYWHERE = {"torch", "numpy", "pydantic", "pyyaml", "safetensors", "sacrebleu", "regex"}
_UNUSED = re.compile(r"jieba/(lac_small|analyse|posseg)/|/tests?/|\.pyc$|\.\.")  # larger than the rest, never imported


def write_pack(campaign: Campaign, path: Path) -> tuple[list[str], dict[str, str]]:
    """Write the runs of a campaign that are not trained yet, with the data of their tasks, to one zip file.

    Runs are left out if they need pretrained weights, are trained here already, or start from a run that is left out.

    Returns:
        The addresses of the packed runs; and address -> why a run is left out.

    Raises:
        DataError: the data of a task are not made, or a needed package is not installed.
    """
    left_out: dict[str, str] = {}
    for job in campaign.jobs:
        if job.is_pretrained:
            left_out[job.run] = "needs pretrained weights and their packages"
        elif job.steps[0].is_done:
            left_out[job.run] = "is trained here"
    weights = {f"results/runs/{job.after}/model.safetensors" for job in campaign.jobs if job.run not in left_out}
    here = {name for name in weights if Path(name).is_file()}
    for job in campaign.jobs:
        start = f"results/runs/{job.after}/model.safetensors"
        if job.after in left_out and start not in here and job.run not in left_out:
            left_out[job.run] = f"starts from {job.after}, which is left out"
    jobs = tuple(job for job in campaign.jobs if job.run not in left_out)
    packed = Campaign(study=campaign.study, jobs=jobs)
    with atomic_path(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(CAMPAIGN, packed.model_dump_json())
        for name in sorted({*_task_files(jobs), *here, *_labels(jobs)}):
            archive.write(name, name)
        for file in sorted(Path(PLUGINS).rglob("*.py")):
            archive.write(file, file.as_posix())
        for name, place in sorted(_package_files(jobs)):
            archive.write(place, f"{PACKAGES}/{name}")
    return [job.run for job in jobs], left_out


def _task_files(jobs: Iterable[Job]) -> Iterator[str]:
    for task in dict.fromkeys(job.task for job in jobs):
        manifest = Path(task, "task.json")
        yield str(manifest)
        yield from (f"{task}/{name}" for name in read_json(manifest)["files"])


def _labels(jobs: Iterable[Job]) -> Iterator[str]:
    for arguments in (step.arguments for job in jobs for step in job.steps):
        if "--predicted" in arguments:
            yield arguments[arguments.index("--predicted") + 1]


def _package_files(jobs: Iterable[Job]) -> Iterator[tuple[str, Path]]:
    """Yield name and place of the files of the packages that segment the tasks' text, and of those they need."""
    how = [Segmentation.load(Path(task)) for task in dict.fromkeys(job.task for job in jobs)]
    used = {name for one in how for name in (*one.tokenizers.values(), *(["bpe"] if one.bpe != "none" else []))}
    wanted = [_NEEDS[name] for name in sorted(used) if name in _NEEDS]
    seen = set(_EVERYWHERE)
    while wanted:
        name = wanted.pop().lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            raise DataError(f"found no package {name}, which segments the text of a task; run `make setup`") from None
        wanted += [re.split(r"[^\w.-]", need)[0] for need in package.requires or () if ";" not in need]
        files = [(file.as_posix(), Path(str(file.locate()))) for file in package.files or ()]
        yield from ((file, place) for file, place in files if not _UNUSED.search(file) and place.is_file())


def open_pack(path: Path) -> Campaign:
    """Unpack a file that `write_pack` wrote into the current folder, and return its campaign.

    Files that are here with the same bytes stay as they are, so that a second call resumes.

    Raises:
        DataError: it is no such file, or it is damaged.
    """
    with open_archive(path, UNPACKED_BYTES_MAX) as archive:
        names = archive.names()
        if CAMPAIGN not in names:
            raise DataError(f"{path}: has no {CAMPAIGN}; expected a file that `mdnmt campaign STUDY --pack` wrote")
        try:
            campaign = Campaign.model_validate_json(archive.read(CAMPAIGN))
        except ValueError:
            raise DataError(f"{path}: was packed by another version of mdnmt; pack the study again") from None
        allowed = re.compile(rf"(results/(tasks|runs)|{PLUGINS}|{PACKAGES})/.+")
        for name in names:
            if name == CAMPAIGN:
                continue
            if not allowed.fullmatch(name):
                raise DataError(f"{path}: refused, its member {name!r} belongs to no task, run, plug-in or package")
            target, data = Path(name), archive.read(name)
            if not target.is_file() or target.read_bytes() != data:
                write_bytes(target, data)
    return campaign
