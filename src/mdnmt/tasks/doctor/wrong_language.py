"""Find sentences that seem to be in the wrong language, by their script and their function words.

This only finds suspects. It knows the function words of seven languages and the scripts of some more. It ignores lines
of fewer than five words, lines that look like names or headings, repetitions of a word, and single letters (`à`, `y`,
`c.`), which occur in any language as numbers, elisions and abbreviations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mdnmt.languages import count_letters, language, script_letters

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


def suspect(text: str, lang: str) -> str | None:
    """Return what `text` seems to be in ("German", "Latin script") if not in `lang`, or None."""
    about = language(lang)
    own_letters = sum(script_letters(text, name) for name in about.scripts)
    if own_letters * 4 < len(text) - text.count(" "):  # most text stops here
        counts = count_letters(text)
        total = sum(counts.values())
        if total < _LETTERS_MIN:
            return None
        if own_letters * 4 < total:
            script = max(counts, key=lambda name: counts[name])
            # The names of products and people may be Latin in any text.
            return None if script == "Latin" and _is_name(_WORD.findall(text)) else f"{script} script"
    if own_letters < _LETTERS_MIN or about.base not in _FUNCTION_WORDS:
        return None
    words = _WORD.findall(_ADDRESS.sub(" ", text))
    if len(words) < _WORDS_MIN or _is_name(words):
        return None
    own, others = 0, set()
    for word in words:
        owner = _OWNER.get(word.lower())
        if owner == about.base:
            own += 1
        elif owner is not None and len(word) > 1:
            others.add((owner, word.lower()))
    found = Counter(owner for owner, _ in others)
    best = max(found, key=lambda name: found[name], default=None)
    if best is None or found[best] < max(_OTHER_MIN, _OTHER_TIMES * own):
        return None
    return language(best).name


def _is_name(words: Sequence[str]) -> bool:
    """Say whether words look like a name or a heading: after the first, at most half begin with a small letter."""
    small = sum(word[0].islower() for word in words[1:])
    return 2 * small <= len(words) - 1
