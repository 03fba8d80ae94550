"""The names of text files: what a name says about the language, and which two files belong together.

Beside `acts.en` these are `acts.en.txt` and `acts.EN`, and `newstest2014-fren-src.en` with `newstest2014-fren-ref.fr`,
as corpora are published.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.folder import COMPRESSION_SUFFIXES
from mdnmt.errors import DataError

_NAME = re.compile(r"(.+)\.([A-Za-z]{2,3}(?:[-_][A-Za-z]{4})?(?:[-_](?:[A-Za-z]{2}|[0-9]{3}))?)")
_ROLE = re.compile(r"[-._](?:src|ref|tgt|trg|source|target|reference)$", re.IGNORECASE)
# Ends of names that look like codes of languages; `po` and `md` are none, and `mo` has not been one since 2008.
_NO_LANGUAGES = """
txt csv tsv tmx xml xlf zip tar tgz tbz bz2 gz xz zst log pdf doc odt ods xls rtf htm md po pot mo sgm ids yml ini cfg
sql bak npy bin exe py db wav mp3 mp4 jpg png gif svg rst tex srt
"""
# End of a name -> what to do with a file of that format.
_OTHER_FORMATS = {
    **dict.fromkeys(
        ["csv"], "`mdnmt init` writes a `reader` for it; by hand, give `files` and `reader: {name: tsv, ...}`"
    ),
    **dict.fromkeys(["zip", "tar", "tgz", "gz", "bz2"], "is an archive: unpack it there"),
    **dict.fromkeys(["po", "pot", "mo"], "is not read: convert it by `po2tmx` (translate-toolkit)"),
    **dict.fromkeys(
        ["sgm", "sgml"], "is not read: take its plain text, for example by `sacrebleu -t wmt14 -l fr-en --echo src`"
    ),
    **dict.fromkeys(["xls", "xlsx", "ods"], "is not read: save it as a table (.csv or .tsv, UTF-8)"),
    **dict.fromkeys(
        ["doc", "docx", "odt", "rtf", "pdf", "htm", "html"], "is not read: save it as text, a segment a line"
    ),
    **dict.fromkeys(["json", "jsonl", "xml"], "is not read: write it as a table (.tsv) or a translation memory (.tmx)"),
    "txt": "does not say its language: call it <name>.en or <name>.en.txt, with its language's code",
}


def not_read(name: str) -> str | None:
    """Return what to do with a file that may hold text in a format that is not read as it is; None for other files."""
    if stem_and_language(name) is not None or name.lower().startswith(("readme", "licen")):
        return None
    return _OTHER_FORMATS.get(name.lower().rpartition(".")[2])


def unpacked_name(name: str) -> str:
    """Return a file's name without the suffix of its compression."""
    return next((name.removesuffix(end) for end in COMPRESSION_SUFFIXES if end and name.endswith(end)), name)


def stem_and_language(name: str, languages: Collection[str] = ()) -> tuple[str, str] | None:
    """Return what a name of a text file says: its stem and its language; None if it names no language.

    Args:
        name: of the file, plain or packed.
        languages: codes that are languages even if they look like the end of another name.
    """
    plain = unpacked_name(name)
    found = _NAME.fullmatch(plain[:-4] if plain.lower().endswith(".txt") else plain)
    if found is None:
        return None
    lang = found[2].lower() if found[2].isupper() else found[2]
    return None if lang.lower() in _NO_LANGUAGES.split() and lang not in languages else (found[1], lang)


def without_role(stem: str) -> str:
    """Return a stem without `-src` or `-ref`, which WMT's test sets have."""
    return _ROLE.sub("", stem)


def text_file(archive: Archive, stem: str, lang: str) -> str | None:
    """Return the file of a text in a language, plain or packed; None if there is none.

    Raises:
        DataError: there are several.
    """
    return text_files(archive, [stem], lang)[0]


def text_files(archive: Archive, wanted: Sequence[str], lang: str) -> list[str | None]:
    """Return the same for several stems; the archive, which may have thousands of files, is listed once.

    Raises:
        DataError: there are several files of one text.
    """
    exact: dict[str, list[str]] = {}
    trimmed: dict[str, list[str]] = {}
    for name in archive.names():
        said = stem_and_language(name, (lang,))
        if said is not None and said[1] == lang:
            exact.setdefault(said[0], []).append(name)
            trimmed.setdefault(without_role(said[0]), []).append(name)
    files: list[str | None] = []
    for stem in wanted:
        found = exact.get(stem) or trimmed.get(stem) or []
        found = [name for name in found if unpacked_name(name) == f"{stem}.{lang}"] or found
        if len(found) > 1:
            raise DataError(f"{archive.label}: has {' and '.join(found)}; keep one of them")
        files.append(found[0] if found else None)
    return files


def stems(names: Collection[str], languages: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the stems that have a file in each of two languages, and the files that have only one, both sorted."""
    said = [stem_and_language(name, languages) for name in names]
    sides = [{one[0] for one in said if one is not None and one[1] == lang} for lang in languages]
    whole = sides[0] & sides[1]
    alone = [{without_role(stem): stem for stem in side - whole} for side in sides]
    pairs = alone[0].keys() & alone[1].keys()
    left = [
        f"{stem}.{lang}"
        for side, lang in zip(alone, languages, strict=True)
        for key, stem in side.items()
        if key not in pairs
    ]
    return sorted(whole | pairs), sorted(left)
