"""Find sentences that seem to be in the wrong language, by their script and their function words.

This only finds suspects. It knows the function words of seven languages and the scripts of some more. It ignores lines
of fewer than five words, lines that look like names or headings, repetitions of a word, and single letters (`à`, `y`,
`c.`), which occur in any language as numbers, elisions and abbreviations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_SCRIPTS = {
    "Latin": r"A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "Han": r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff",
    "Japanese": r"\u3040-\u30ff",
    "Hangul": r"\uac00-\ud7af\u1100-\u11ff",
    "Cyrillic": r"\u0400-\u052f",
    "Greek": r"\u0370-\u03ff\u1f00-\u1fff",
    "Arabic": r"\u0600-\u06ff\u0750-\u077f",
    "Hebrew": r"\u0590-\u05ff",
    "Devanagari": r"\u0900-\u097f",
    "Thai": r"\u0e00-\u0e7f",
}
_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in _SCRIPTS.items()}
_OF_LANGUAGE = {
    "zh": ("Han",),
    "ja": ("Japanese", "Han"),
    "ko": ("Hangul", "Han"),
    **dict.fromkeys(("ru", "uk", "bg", "be", "mk", "kk"), ("Cyrillic",)),
    "sr": ("Cyrillic", "Latin"),
    "el": ("Greek",),
    **dict.fromkeys(("ar", "fa", "ur"), ("Arabic",)),
    "he": ("Hebrew",),
    **dict.fromkeys(("hi", "mr", "ne"), ("Devanagari",)),
    "th": ("Thai",),
}
_FUNCTION_WORDS = {
    "en": "the of and to in is that for it with as be by are this have from which not you will were has been or an at "
    "their they but his her would there what when if can only into than them these who its may shall",
    "de": "der die das und den von zu mit ist des im für auf dem nicht ein eine sich auch es an werden aus er hat dass "
    "sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis",
    "fr": "le la les de des et en un une du est que dans qui par pour au sur il pas plus ne se avec ce sont aux ou son "
    "cette mais nous vous elle ont être leur ses comme sans lui peut été qu cet fait tout d l s n c à y",
    "es": "el los las de y en un una del que por para con no se su al lo como más pero sus le ha este sí porque esta "
    "entre cuando muy sin sobre también me hasta hay donde quien desde todo nos",
    "it": "il lo gli di e in un una del della che per con non si da al come anche più ma dei nel alla sono delle è "
    "questo ha le loro essere ed i questa ad dal alle nella su degli",
    "pt": "o os as de e em um uma do da que por para com não se dos no na mais como mas ao ele das à seu sua ou quando "
    "muito nos já está eu também só pelo pela até isso",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als bij uit maar door naar worden dan "
    "nog heeft werd deze wordt hij kan over geen tot zich zij",
}
_WORD = re.compile(r"[^\W\d_]+")
# URLs, mail addresses, module names. Matches start at a word boundary and never backtrack (`++`), so they take linear
# time even in text without spaces.
_ADDRESS = re.compile(r"(?<!\w)\w++://\S++|(?<!\S)[^\s@]++@\S++|(?<!\w)\w++(?:\.\w++)++")


def _distinct() -> dict[str, str]:
    """Return word -> its language, for words of only one language."""
    owners: dict[str, list[str]] = {}
    for lang, words in _FUNCTION_WORDS.items():
        for word in set(words.split()):
            owners.setdefault(word, []).append(lang)
    return {word: langs[0] for word, langs in owners.items() if len(langs) == 1}


_OWNER = _distinct()
_WORDS_MIN = 5
_LETTERS_MIN = 6
_OTHER_MIN = 3  # at least this many different function words of another language
_OTHER_TIMES = 3  # and at least this many times those of the expected language


def expected_scripts(lang: str) -> tuple[str, ...]:
    """Return the scripts in which a language is written, the most common one first."""
    return _OF_LANGUAGE.get(lang, ("Latin",))


def suspect(text: str, lang: str) -> str | None:
    """Return what `text` seems to be in ("German", "Latin script") if not in `lang`, or None."""
    expected = expected_scripts(lang)
    counts = {name: len(letters.findall(text)) for name, letters in _LETTERS.items()}
    total = sum(counts.values())
    if total < _LETTERS_MIN:
        return None
    if sum(counts[name] for name in expected) * 4 < total:
        script = max(counts, key=lambda name: counts[name])
        # The names of products and people may be Latin in any text.
        return None if script == "Latin" and _is_name(_WORD.findall(text)) else f"{script} script"
    if lang not in _FUNCTION_WORDS:
        return None
    words = _WORD.findall(_ADDRESS.sub(" ", text))
    if len(words) < _WORDS_MIN or _is_name(words):
        return None
    own, others = 0, set()
    for word in words:
        owner = _OWNER.get(word.lower())
        if owner == lang:
            own += 1
        elif owner is not None and len(word) > 1:
            others.add((owner, word.lower()))
    found = Counter(owner for owner, _ in others)
    best = max(found, key=lambda name: found[name], default=None)
    if best is None or found[best] < max(_OTHER_MIN, _OTHER_TIMES * own):
        return None
    return NAMES[best]


def _is_name(words: Sequence[str]) -> bool:
    """Say whether words look like a name or a heading: after the first, at most half begin with a small letter."""
    small = sum(word[0].islower() for word in words[1:])
    return 2 * small <= len(words) - 1


NAMES = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
    "pt": "Portuguese",
    "nl": "Dutch",
}
