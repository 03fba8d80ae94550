"""The options of mBART-50, and the languages for which it is set up here."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.corpus_source import Sha256
from mdnmt.config.loader import validate_model
from mdnmt.errors import ConfigError
from mdnmt.languages import language

# Languages of tasks, as mBART-50 calls them.
LANGUAGE_CODES = {"de": "de_DE", "en": "en_XX", "fr": "fr_XX", "zh": "zh_CN"}


class Mbart50Config(Frozen):
    """Which weights to use and how to fine-tune them; all sizes come with the weights."""

    use: Literal["fine-tune", "zero-shot"] = Field("fine-tune", description="zero-shot: the weights as they are")
    weights: str = Field(
        "facebook/mbart-large-50", pattern=r"^[\w.-]+/[\w.-]+$", description="the model's name on huggingface.co"
    )
    sha256: Sha256 | None = Field(
        None, description="of the weights' files; null: of those that are there when the study is planned"
    )
    pairs_per_domain: int = Field(
        100_000, ge=0, description="training pairs of each domain, spread evenly over its text; 0: all"
    )
    dropout: float = Field(0.3, ge=0, lt=1)
    attention_dropout: float = Field(0.1, ge=0, lt=1)
    label_smoothing: float = Field(0.2, ge=0, lt=1)


def validate(options: dict[str, Any], *, where: str) -> Mbart50Config:
    """Return the validated options; `where` names the file in errors.

    Raises:
        ConfigError: an option is unknown or has an invalid value.
    """
    return validate_model(options, Mbart50Config, f"{where}: architecture")


def language_codes(config: Mbart50Config, source_lang: str, target_lang: str) -> tuple[str, str]:
    """Return the codes of the two languages of a task.

    Raises:
        ConfigError: a language is not set up, or the weights were not trained for this direction.
    """
    for lang in (source_lang, target_lang):
        if language(lang).base not in LANGUAGE_CODES:
            known = ", ".join(LANGUAGE_CODES)
            raise ConfigError(f"mBART-50 is set up for {known}, but the task is {source_lang} to {target_lang}")
    for name, side, lang in (("one-to-many", "from", source_lang), ("many-to-one", "into", target_lang)):
        if name in config.weights and language(lang).base != "en":
            raise ConfigError(
                f"{config.weights} translates {side} English only, but the task is {source_lang} to {target_lang}; "
                "facebook/mbart-large-50-many-to-many-mmt does both"
            )
    return LANGUAGE_CODES[language(source_lang).base], LANGUAGE_CODES[language(target_lang).base]
