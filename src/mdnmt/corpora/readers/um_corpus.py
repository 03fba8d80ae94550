"""Read UM-Corpus: alternating English and Chinese lines, one file per domain, and one test file in sections."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mdnmt.config.corpus_reader import UmCorpusReader
from mdnmt.corpora.formats.archive import Archive
from mdnmt.corpora.formats.archive_members import one_member
from mdnmt.corpora.formats.lines import lines, place
from mdnmt.errors import DataError

# The word stem by which the English header of a test section names its domain.
_STEMS = {
    "Education": "educat",
    "Laws": "law",
    "Microblog": "blog",
    "News": "news",
    "Science": "scien",
    "Spoken": "spoken",
    "Subtitles": "subtitle",
    "Thesis": "thesis",
}
# Laws have numbered lines too, but a header is short and ends in `test data` or similar.
_HEADER = re.compile(
    r"\s*[(\uff08]\s*(\d{1,4})\s*[)\uff09](.{0,80}?)\btest(?:ing)?[\s_-]*(?:data|sets?)\b.{0,20}",
    re.IGNORECASE | re.DOTALL,
)
_CHINESE = re.compile("[\u3400-\u9fff]")
# This many pairs in a row with Chinese only in the first line are not a coincidence: a line was lost before them.
_SWAPPED_MAX = 20
_SECTIONS_SHOWN = 12


def read(archive: Archive, source_lang: str, target_lang: str, options: UmCorpusReader) -> Iterator[tuple[str, str]]:
    """Yield the pairs of the domain unchanged, without its test section.

    Raises:
        DataError: the languages are not English and Chinese; or the file is missing, has an odd number of lines,
            or lacks a line.
    """
    domain = options.domain
    name = one_member(archive, rf"data/Bilingual/{domain}/Bi-[^/]*\.txt", f"data/Bilingual/{domain}/Bi-{domain}.txt")
    for _, english, chinese in _pairs(archive, name):
        yield _directed(archive, english, chinese, source_lang, target_lang)


def held_out(
    archive: Archive, split: str, source_lang: str, target_lang: str, options: UmCorpusReader
) -> Iterator[tuple[str, str]] | None:
    """Return the domain's section of the test file; None for `valid`, which UM-Corpus does not have.

    Raises:
        DataError: as `read`; or a header names the domain and another one; or the domain has no section.
    """
    return _section(archive, source_lang, target_lang, options) if split == "test" and options.test else None


def _section(
    archive: Archive, source_lang: str, target_lang: str, options: UmCorpusReader
) -> Iterator[tuple[str, str]]:
    name = one_member(archive, r"data/Testing/Testing-Data\.txt", "data/Testing/Testing-Data.txt")
    where = place(archive, name)
    headers: list[str] = []
    is_wanted, count = False, 0
    for number, english, chinese in _pairs(archive, name):
        header = _HEADER.fullmatch(english)
        if header is not None:
            is_wanted = _is_wanted(int(header[1]), header[2], options, f"{where}:{number}")
            headers = [*headers, english.strip()][-_SECTIONS_SHOWN:]
        elif not headers:
            raise DataError(f"{where}:{number}: expected the header of a section, such as `(1) ... test data`")
        elif is_wanted:
            count += 1
            yield _directed(archive, english, chinese, source_lang, target_lang)
    if not count:
        wanted = f"section ({options.section})" if options.section else f"section of {options.domain!r}"
        problem = f"has no {wanted}, only {'; '.join(headers)}; give its number in `section`, or set `test: false`"
        raise DataError(f"{where}: {problem}")


def _is_wanted(number: int, title: str, options: UmCorpusReader, where: str) -> bool:
    """Say whether a header belongs to the wanted section."""
    if options.section is not None:
        return number == options.section
    domains = [domain for domain, stem in _STEMS.items() if stem in title.lower()]
    if options.domain in domains and len(domains) > 1:
        problem = f"{title.strip()!r} names {' and '.join(domains)}; give the number of the wanted section in `section`"
        raise DataError(f"{where}: {problem}")
    return domains == [options.domain]


def _pairs(archive: Archive, name: str) -> Iterator[tuple[int, str, str]]:
    """Yield (number of the English line, English, Chinese); pairs of blank lines are left out."""
    where = place(archive, name)
    numbered = enumerate(lines(archive, name), start=1)
    swapped = 0
    for number, english in numbered:
        following = next(numbered, None)
        if following is None:
            if not english.strip():
                break
            raise DataError(f"{where}:{number}: has no Chinese line after it; English and Chinese lines alternate")
        chinese = following[1]
        if not english.strip() and not chinese.strip():
            continue
        swapped = swapped + 1 if _CHINESE.search(english) and not _CHINESE.search(chinese) else 0
        if swapped == _SWAPPED_MAX:
            problem = f"the Chinese lines come first in {_SWAPPED_MAX} pairs up to here; a line was lost before them"
            raise DataError(f"{where}:{number}: {problem}")
        yield number, english, chinese


def _directed(archive: Archive, english: str, chinese: str, source_lang: str, target_lang: str) -> tuple[str, str]:
    if (source_lang, target_lang) == ("en", "zh"):
        return english, chinese
    if (source_lang, target_lang) == ("zh", "en"):
        return chinese, english
    raise DataError(f"{archive.label}: has English and Chinese, not {source_lang}-{target_lang}")
