"""The form of a domain's text: normalised, and where its cleaning says so with plain punctuation, in lower case."""

from __future__ import annotations

from dataclasses import dataclass

from mdnmt.config.cleaning import CleaningConfig
from mdnmt.tasks.normalise import normalise
from mdnmt.tasks.tokenise import normalise_punctuation


@dataclass(frozen=True)
class Form:
    """What is done to every line of a domain, held-out ones and those to be translated as well."""

    lowercase: bool = False
    normalise_punctuation: bool = False

    @classmethod
    def by(cls, cleaning: CleaningConfig) -> Form:
        """Return the form that `cleaning` asks for."""
        return cls(cleaning.lowercase, cleaning.normalise_punctuation)

    def of(self, line: str, lang: str) -> str:
        """Return a line in this form, normalised."""
        text = normalise(line)
        if self.normalise_punctuation:
            text = normalise(normalise_punctuation(text, lang))
        return normalise(text.lower()) if self.lowercase else text
