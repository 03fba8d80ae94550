"""Write a finished run to a folder in another toolkit's format, with its text processing and a model card."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio
from mdnmt.decode.translator import Translator, read_record
from mdnmt.errors import ConfigError
from mdnmt.extras.export import segment
from mdnmt.extras.export.model_card import model_card, training_corpora
from mdnmt.languages import language
from mdnmt.methods import pretrained
from mdnmt.paths import RunPaths
from mdnmt.tasks.segmentation.segmenter import SEGMENTATION, Segmentation, segmentation_files
from mdnmt.tasks.text import reversible


@dataclass(frozen=True)
class Format:
    """A format to export to.

    Attributes:
        title: its name in prose.
        packages: the optional packages needed to write it.
        prepare: called with (the run's folder, its translator) before anything is written; raises if the format cannot
            represent the model. Returns a function that writes the model into an empty folder and returns the usage
            example.
    """

    title: str
    packages: tuple[str, ...]
    prepare: Callable[[Path, Translator], Callable[[Path], str]]


def _prepare_ctranslate2(run_folder: Path, translator: Translator) -> Callable[[Path], str]:
    from mdnmt.extras.export.ctranslate2_model import usage, write_ctranslate2
    from mdnmt.extras.export.plain_transformer import plain_transformer

    model = plain_transformer(run_folder, translator, "CTranslate2")

    def write(folder: Path) -> str:
        write_ctranslate2(model, folder)
        return usage(model)

    return write


def _prepare_hugging_face(run_folder: Path, translator: Translator) -> Callable[[Path], str]:
    from mdnmt.extras.export.hugging_face_model import usage, write_hugging_face
    from mdnmt.extras.export.plain_transformer import plain_transformer

    model = plain_transformer(run_folder, translator, "Hugging Face transformers")

    def write(folder: Path) -> str:
        write_hugging_face(model, folder)
        return usage(model)

    return write


def _prepare_onnx(run_folder: Path, translator: Translator) -> Callable[[Path], str]:
    from mdnmt.extras.export.onnx_model import check_onnx, usage, write_onnx

    check_onnx(run_folder, translator)

    def write(folder: Path) -> str:
        write_onnx(translator, folder)
        return usage(translator)

    return write


FORMATS: dict[str, Format] = {
    "ctranslate2": Format("CTranslate2", ("ctranslate2",), _prepare_ctranslate2),
    "huggingface": Format("Hugging Face transformers", (), _prepare_hugging_face),
    "onnx": Format("ONNX", ("onnx", "onnxscript"), _prepare_onnx),
}


def export_run(run_folder: Path, format_name: str, out: Path, config_folder: Path) -> None:
    """Write the run in `run_folder` to the new folder `out`, which appears only when it is complete.

    Raises:
        ConfigError: a package is not installed; `out` is not empty; the format cannot represent the run; or the licence
            of a corpus forbids it.
        DataError: the run is not finished, or damaged.
    """
    wanted = FORMATS[format_name]
    for package in wanted.packages:
        if importlib.util.find_spec(package) is None:
            raise ConfigError(
                f"needs the package {package}, which is not installed; run `make setup EXTRAS=export`, or "
                "`pip install '.[export]'`, in a clone of the repository"
            )
    if out.is_symlink() or (out.exists() and not out.is_dir()) or (out.is_dir() and any(out.iterdir())):
        raise ConfigError(f"{out}: exists and is not an empty folder; name a new folder")
    record, spec = read_record(RunPaths(run_folder).record)
    if pretrained(spec.builder) is not None:
        raise ConfigError(
            f"{run_folder}: pretrained weights have a Hugging Face format already; export a run of another method"
        )
    if Segmentation.load(RunPaths(run_folder).segmentation).is_sentencepiece:
        raise ConfigError(f"{run_folder}: its task has bpe: sentencepiece, which is not exported; expected merges")
    corpora = training_corpora(record, config_folder)
    translator = Translator(run_folder, torch.device("cpu"))
    write_model = wanted.prepare(run_folder, translator)
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        usage = write_model(temporary)
        has_script = _write_segmentation(run_folder, translator, temporary)
        card = model_card(run_folder, record, corpora, wanted.title, usage, translator, has_script)
        (temporary / "README.md").write_text(card, encoding="utf-8")
        for path in temporary.rglob("*"):
            if path.is_file():
                with path.open("rb") as written:
                    os.fsync(written.fileno())
        temporary.replace(out)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    fsio.sync_directory(out.parent)


_WITHOUT_MDNMT = {"moses", "reversible", "none"}  # tokenizers


def _write_segmentation(run_folder: Path, translator: Translator, folder: Path) -> bool:
    """Copy codes and vocabularies, and segment.py if it can use them; return whether it can."""
    source, target = RunPaths(run_folder).segmentation, folder / "segmentation"
    langs = (translator.source_lang, translator.target_lang)
    target.mkdir()
    for name in segmentation_files(source, langs):
        fsio.check_listed(source / name)
        shutil.copyfile(source / name, target / name)
    segmentation = Segmentation.load(source)
    settings: dict[str, Any] = {
        "bpe": segmentation.bpe,
        "tokenizers": {lang: segmentation.tokenizer(lang) for lang in langs},
        "forms": {name: vars(form) for name, form in segmentation.forms.items()},
        "moses_languages": {lang: language(lang).base for lang in langs},
        "source_lang": langs[0],
        "target_lang": langs[1],
    }
    fsio.write_json(target / SEGMENTATION, settings)
    tokenizers = {segmentation.tokenizer(lang) for lang in langs}
    is_supported = segmentation.bpe != "domain" and not segmentation.forms and tokenizers <= _WITHOUT_MDNMT
    if segmentation.tokenizer(langs[0]) == "reversible" and language(langs[0]).base == "zh":
        is_supported = False  # jieba splits its words
    if is_supported:
        shutil.copyfile(Path(segment.__file__), folder / "segment.py")
        if "reversible" in tokenizers:
            shutil.copyfile(Path(reversible.__file__), folder / "reversible.py")
    return is_supported
