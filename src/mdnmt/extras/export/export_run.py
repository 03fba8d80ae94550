"""Write a finished run to a folder in another toolkit's format, with its text processing and a model card."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from mdnmt import fsio
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.decode.translator import Translator, read_record
from mdnmt.errors import ConfigError
from mdnmt.extras.export import ctranslate2_model, hugging_face_model, onnx_model, segment
from mdnmt.extras.export.model_card import model_card, training_corpora
from mdnmt.extras.export.plain_transformer import plain_transformer
from mdnmt.languages import language
from mdnmt.methods import pretrained
from mdnmt.paths import RunPaths
from mdnmt.tasks.segmentation.segmenter import SEGMENTATION, Segmentation, segmentation_files
from mdnmt.tasks.text import reversible

# Format -> its name in prose, and the optional packages needed to write it.
FORMATS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ctranslate2": ("CTranslate2", ("ctranslate2",)),
    "huggingface": ("Hugging Face transformers", ()),
    "onnx": ("ONNX", ("onnx", "onnxscript")),
}


def _writer(format_name: str, run_folder: Path, translator: Translator) -> tuple[Callable[[Path], None], str]:
    """Return a function that writes the model into an empty folder, and the usage example.

    Raises:
        ConfigError: the format cannot represent the model.
    """
    if format_name == "onnx":
        onnx_model.check_onnx(run_folder, translator)
        return partial(onnx_model.write_onnx, translator), onnx_model.usage(translator)
    model = plain_transformer(run_folder, translator, FORMATS[format_name][0])
    if format_name == "ctranslate2":
        return partial(ctranslate2_model.write_ctranslate2, model), ctranslate2_model.usage(model)
    return partial(hugging_face_model.write_hugging_face, model), hugging_face_model.usage(model)


def export_run(run_folder: Path, format_name: str, out: Path, config_folder: Path) -> None:
    """Write the run in `run_folder` to the new folder `out`, which appears only when it is complete.

    Raises:
        ConfigError: a package is not installed; `out` is not empty; the format cannot represent the run; or the licence
            of a corpus forbids it.
        DataError: the run is not finished, or damaged.
    """
    title, packages = FORMATS[format_name]
    for package in packages:
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
    write_model, usage = _writer(format_name, run_folder, translator)
    with partial_folder(out) as temporary:
        part = temporary / out.name
        part.mkdir()
        write_model(part)
        has_script = _write_segmentation(run_folder, translator, part)
        card = model_card(run_folder, record, corpora, title, usage, translator, has_script)
        (part / "README.md").write_text(card, encoding="utf-8")
        for path in part.rglob("*"):
            if path.is_file():
                with path.open("rb") as written:
                    os.fsync(written.fileno())
        part.replace(out)
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
