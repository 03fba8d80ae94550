"""The corpora of a task: those of config/corpora/, and the user's own text that the task's file names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from mdnmt.config.corpus import CorpusConfig, load_corpus
from mdnmt.config.corpus_reader import FilesReader, PlainReader, TmxReader, TsvReader, XliffReader
from mdnmt.config.corpus_source import LocalSource
from mdnmt.config.task import DomainConfig, TaskConfig
from mdnmt.corpora.formats.folder import Folder
from mdnmt.corpora.formats.text_names import not_read, stems, text_file, unpacked_name
from mdnmt.corpora.readers import HELD_OUT
from mdnmt.errors import DataError

OwnReader = PlainReader | FilesReader | TsvReader | TmxReader | XliffReader
KINDS = (".tsv", ".tmx", ".xlf")  # of files that hold both languages


def corpora_of(config_folder: Path, task: TaskConfig) -> dict[str, CorpusConfig]:
    """Return the corpora of all domains of a task by name; `check_own` checks that the user's own text is there.

    Raises:
        ConfigError: a file of config/corpora/ is missing or invalid.
    """
    corpora: dict[str, CorpusConfig] = {}
    for name, domain in task.domains.items():
        for corpus in domain.corpora:
            own = domain.is_own
            corpora[corpus] = _own(task, name, domain) if own else load_corpus(config_folder, corpus)
    return corpora


def check_own(task: TaskConfig) -> None:
    """Check that the text that a task's file names is there, and that it is clear how to read it.

    Raises:
        DataError: it is not; the message says what was found and what to do.
    """
    for domain in task.domains.values():
        if domain.is_own:
            _found_reader(domain, (task.source_lang, task.target_lang))


def _own(task: TaskConfig, name: str, domain: DomainConfig) -> CorpusConfig:
    languages = (task.source_lang, task.target_lang)
    try:
        reader = _found_reader(domain, languages)
    except DataError:  # reported by `check_own`
        reader = PlainReader(name="plain")
    folder, _ = _place(domain)
    source = LocalSource(provider="local", folder=folder)
    return CorpusConfig(
        title=f"{domain.label or name}, text of your own", languages=languages, source=source, reader=reader
    )


def _place(domain: DomainConfig) -> tuple[str, str]:
    """Return the folder that a domain names, as written, and the file in it ("": all files)."""
    if domain.files is None:
        return domain.folder or "", ""
    path = Path(domain.files)
    return str(path.parent), path.name


def _found_reader(domain: DomainConfig, languages: Sequence[str]) -> OwnReader:
    """Return how a domain's own text is read: by its `reader`, else by the names of its files."""
    folder, file = _place(domain)
    names = _names(Path(folder).expanduser())
    where = str(Path(folder).expanduser())
    if domain.reader is None:
        return _reader_of_file(where, file, names, languages) if file else _reader(where, names, languages)
    if file and file not in names:
        raise DataError(f"{where}: has no file {file}; put it there, or correct `files`")
    return domain.reader.model_copy(update={"file": file}) if file else domain.reader


def _names(folder: Path) -> set[str]:
    """Return the names of the files in a user's folder, without hidden ones.

    Raises:
        DataError: there is no such folder.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; put your text there, or correct it in the task's file")
    return {name for name in Folder(folder, unpacked_bytes_max=0).names() if not name.startswith(".")}


def _reader_of_file(where: str, file: str, names: Collection[str], languages: Sequence[str]) -> OwnReader:
    """Return the reader of `<file>.en` and `<file>.fr`, or of one table or translation memory."""
    archive = Folder(Path(where), unpacked_bytes_max=0)
    if all(text_file(archive, file, lang) for lang in languages):
        return FilesReader(name="files", train=(file,))
    if file in names and (kind := _kind(file)):
        return _of_kind(kind, file, languages)
    if file in names:
        raise DataError(f"{where}/{file}: is none of {', '.join(KINDS)}; set `reader` to say how to read it")
    both = " and ".join(f"{file}.{lang}" for lang in languages)
    raise DataError(f"{where}: has neither {both} nor a file {file}; put them there (plain, .gz, .xz or .zst)")


def _reader(where: str, names: Collection[str], languages: Sequence[str]) -> OwnReader:
    """Return the reader of what a folder holds: line-aligned files, one table or one translation memory.

    Raises:
        DataError: it holds none of that, or several.
    """
    texts, alone = stems(names, languages)
    if alone:
        stem, _, lang = alone[0].rpartition(".")
        lacking = next(one for one in languages if one != lang)
        raise DataError(f"{where}: has {alone[0]} but no {stem}.{lacking}; put it there, or remove the other")
    tables = {kind: sorted(name for name in names if _kind(name) == kind) for kind in KINDS}
    found = [", ".join(some) for some in ([f"{text}.{languages[0]}" for text in texts], *tables.values()) if some]
    if not found:
        both = " and ".join(f"<name>.{lang}" for lang in languages)
        said = f"has no text; expected {both}, one .tsv, one .tmx or one .xlf (plain, .gz, .xz or .zst)"
        other = next((f"; {name}: {advice}" for name in sorted(names) if (advice := not_read(name))), "")
        raise DataError(f"{where}: {said}{other}")
    if len(found) > 1:
        raise DataError(f"{where}: has {' and '.join(found)}; keep one kind there, or name one in `files`")
    if texts:
        own = {split: (split,) for split in HELD_OUT if split in texts}
        train = tuple(text for text in texts if text not in HELD_OUT)
        if not train:
            raise DataError(f"{where}: has {found[0]}, but no text to train on; put one there")
        return PlainReader(name="plain") if train == ("train",) else FilesReader(name="files", train=train, **own)
    kind, files = next((kind, files) for kind, files in tables.items() if files)
    if any(unpacked_name(name) == f"train{kind}" for name in files):
        return _of_kind(kind, None, languages)
    if len(files) > 1:
        raise DataError(f"{where}: has {found[0]}; call them train{kind}, valid{kind} and test{kind}, or name one")
    return _of_kind(kind, files[0], languages)


def _kind(name: str) -> str | None:
    """Return the kind of table or memory that a file is, by its name."""
    end = Path(unpacked_name(name)).suffix.lower()
    end = ".xlf" if end == ".xliff" else end
    return end if end in KINDS else None


def _of_kind(kind: str, file: str | None, languages: Sequence[str]) -> OwnReader:
    if kind == ".tsv":
        columns = {lang: index for index, lang in enumerate(languages, start=1)}
        return TsvReader(name="tsv", file=file, columns=columns)
    return TmxReader(name="tmx", file=file) if kind == ".tmx" else XliffReader(name="xliff", file=file)
