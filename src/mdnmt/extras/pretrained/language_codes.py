"""The code of a language in a tokenizer: `de` of a task is `de_DE` in mBART-50, `deu_Latn` in NLLB, `de` in M2M100."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from mdnmt.errors import ConfigError
from mdnmt.languages import language


def code_of(lang: str, known: Sequence[str], given: Mapping[str, str], weights: str) -> str:
    """Return the code of a task's language among the codes that a tokenizer knows; "" if it knows none at all.

    Args:
        lang: as the task writes it.
        known: the tokenizer's codes.
        given: codes that the configuration chooses.
        weights: the model's name, for errors.

    Raises:
        ConfigError: no code fits, or several do.
    """
    if not known:
        return ""
    if lang in given:
        if given[lang] in known:
            return given[lang]
        raise ConfigError(f"codes: {weights} has no language {given[lang]!r}; it has {_listed(known)}")
    fits = [code for code in known if _plain(code) == _plain(lang)]
    # By name, so that Cantonese is not taken for Chinese; without a script, Chinese is written in simplified letters.
    fits = fits or [code for code in known if language(code).name == language(lang).name and language(lang).is_known]
    script = next(iter(re.findall("[-_]([A-Z][a-z]{3})", lang)), "Hans" if language(lang).base == "zh" else "")
    fits = [code for code in fits if code.endswith(f"_{script}")] or fits
    if len(fits) == 1:
        return fits[0]
    found = f"several codes for {lang!r}, {_listed(fits)}" if fits else f"no language {lang!r}; it has {_listed(known)}"
    raise ConfigError(f"{weights} has {found}; choose one: `codes: {{{lang}: CODE}}` under `architecture`")


def _plain(code: str) -> str:
    return code.replace("_", "-").casefold()


def _listed(codes: Sequence[str]) -> str:
    return ", ".join(codes[:60]) + (f" and {len(codes) - 60} more" if len(codes) > 60 else "")
