"""Find out in which encoding a text is, by reading all of it; only a conversion whose result was checked is advised.

A text of which some lines are valid UTF-8 with letters of its language, and others are not, is never to be converted as
a whole: that would destroy the valid lines. There, the lines to mend are named.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mdnmt.languages import language

Open = Callable[[], Iterable[bytes]]

_MARKS = "’‘“”«»„–—…€£§°·\u00a0"
_WESTERN = "àáâãäåæçèéêëìíîïñòóôõöøœùúûüýÿßðþ¿¡ªº"
# Characters that make up most of a text beyond ASCII (in Chinese and Korean: some of the most frequent ones), the least
# share of them, and the encodings that such texts are in, the most frequent first. By the base code of the language.
_CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然"
    "这個們來為國說時會對於著過發後裡第条本法各其与由及等，。、；：“”（）《》這條與"
)
_WEST, _CENTRAL = "cp1252 iso8859-15 macintosh cp850", "cp1250 iso8859-2 iso8859-16 cp852"
_KOREAN = "이다는에의을가하고를은로한도지사기시어리인자나서대그제해스일정부들수"
_TABLE: tuple[tuple[str, str, float, str], ...] = (
    ("zh", _CHINESE, 0.12, "gb18030 big5 big5hkscs"),
    ("ja", "".join(map(chr, range(0x3041, 0x30FF))) + "、。", 0.3, "cp932 euc-jp"),
    ("ko", _KOREAN, 0.12, "cp949"),
    ("ru uk be bg mk sr kk mn ky tg", "оеаинтсрвлкміїјуяыь", 0.6, "cp1251 koi8-r koi8-u iso8859-5 cp866 maccyrillic"),
    ("el", "αοιετσνηυρπκωςάίόέήύώλμδγθ", 0.6, "cp1253 iso8859-7 cp737"),
    ("he yi", "יוהלאתרשמבנדקעח", 0.6, "cp1255 iso8859-8"),
    ("ar fa ur", "اليمنوترهبعدسفكقحةیک", 0.6, "cp1256 iso8859-6"),
    ("th", "".join(map(chr, range(0x0E01, 0x0E4F))), 0.8, "cp874"),
    ("fr", "àâçéèêëîïôùûüœæ", 0.8, _WEST),
    ("de", "äöüßé", 0.8, _WEST),
    ("es ca gl", "áéíóúüñ¿¡çàèò·ïªº", 0.8, _WEST),
    ("pt", "ãõáâàéêíóôúçªº", 0.8, _WEST),
    ("it", "àèéìòùîªº", 0.8, _WEST),
    ("sv da no nb nn fi is", "åäöæøéáíóúýþð", 0.8, _WEST),
    ("tr az ku", "çğıöşüâîûİə", 0.8, "cp1254 iso8859-9"),
    ("lt lv et", "āčēģīķļņšūžąęėįųõäöü", 0.8, "cp1257 iso8859-13 iso8859-4"),
    ("pl", "ąćęłńóśźż", 0.8, _CENTRAL),
    ("cs sk", "áčďéěíňóřšťúůýžäľĺôŕ", 0.8, _CENTRAL),
    ("hu", "áéíóöőúüű", 0.8, _CENTRAL),
    ("ro", "ăâîșțşţ", 0.8, _CENTRAL),
    ("hr bs sl", "čćđšž", 0.8, _CENTRAL),
    ("sq", "ëç", 0.8, _CENTRAL),
    ("vi", "àáâãèéêìíòóôõùúýăđĩũơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ", 0.8, "cp1258"),
    ("", _WESTERN, 0.8, _WEST),
)
# Python's names of encodings that `iconv` calls otherwise.
_ICONV = {"big5hkscs": "big5-hkscs", "maccyrillic": "mac-cyrillic"}
_WIDE = {  # in this order: the mark of UTF-16 is the beginning of that of UTF-32
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WITHOUT_MARK = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
_HEAD_BYTES = 1 << 16
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_CESU_8 = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


@dataclass(frozen=True)
class Encoding:
    """What a text seems to be encoded in.

    Attributes:
        wide: Python's name if it is UTF-16 or UTF-32, else None.
        whole: an encoding in which all of it is plausible text of its language; None: there is none, or it is UTF-8.
        valid: number of its lines that are UTF-8 and have letters of the language beyond ASCII.
        invalid: number of its lines that are not UTF-8.
    """

    wide: str | None = None
    whole: str | None = None
    valid: int = 0
    invalid: int = 0

    def advice(self, name: str) -> str:
        """Return what to do about the lines that are not UTF-8; `name` is that of the file."""
        if self.whole is not None:
            iconv = _ICONV.get(self.whole, self.whole)
            return f"convert the file by `iconv -f {iconv} -t UTF-8 {name}`: all of it then is plausible text"
        if self.valid:
            said = "" if self.invalid <= self.valid else "; it seems to be joined from files of different encodings"
            return (
                f"mend or remove these lines, do not convert the file: {self.valid:,} other lines are UTF-8 with "
                f"letters beyond ASCII{said}"
            )
        return "find out in which encoding the file was written, and convert it to UTF-8; none that we tried fits it"


def wide_advice(wide: str, name: str) -> tuple[str, str]:
    """Return what is wrong with a file in UTF-16 or UTF-32, and what to do."""
    iconv = wide.upper().replace("-LE", "LE").replace("-BE", "BE")
    return f"{name} is {iconv}, not UTF-8", f"convert it by `iconv -f {iconv} -t UTF-8 {name}`"


def find_encoding(read: Open, lang: str) -> Encoding:
    """Read a text once, and again for each encoding that is tried.

    Args:
        read: opens the text and returns its blocks, of any size.
        lang: its language.
    """
    if wide := _wide(read):
        return Encoding(wide)
    valid = invalid = 0
    for block in _whole_lines(read()):
        try:
            text = block.decode()
        except UnicodeDecodeError:
            for line in block.split(b"\n"):
                try:
                    valid += has_letters(line.decode(), lang)
                except UnicodeDecodeError:
                    invalid += 1
        else:
            valid += 0 if text.isascii() else sum(has_letters(line, lang) for line in text.split("\n"))
    whole = _best(read, lang) if invalid and not valid else None
    return Encoding(None, whole, valid, invalid)


def what_is_wrong(line: bytes, error: UnicodeDecodeError) -> str:
    """Return how a line is not UTF-8, for a line among valid ones."""
    if _CESU_8.search(line):
        return "a character as two surrogates (CESU-8)"
    if _SURROGATE.search(line):
        return "half a character (a surrogate)"
    if error.reason == "unexpected end of data":
        return "a character cut off at the end"
    return "bytes of another encoding"


def _row(lang: str) -> tuple[str, float, str]:
    base = language(lang).base
    return next((row[1:] for row in _TABLE if base in row[0].split()), _TABLE[-1][1:])


def has_letters(text: str, lang: str) -> bool:
    """Say whether a line has letters beyond ASCII that its language may have."""
    if text.isascii():
        return False
    if language(lang).base in ("zh", "ko"):  # there, the table has only some of them
        return any("\u3000" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af" for char in text)
    letters = _row(lang)[0] + _MARKS
    return any(char in letters or char.lower() in letters for char in text if ord(char) > 0x7F)


def _wide(read: Open) -> str | None:
    head = b""
    for block in read():
        head += block
        if len(head) >= _HEAD_BYTES:
            break
    for mark, name in _WIDE.items():
        if head.startswith(mark):
            return name
    return next((name for name in _WITHOUT_MARK if b"\0" in head and _is_wide(head, name)), None)


def _is_wide(head: bytes, name: str) -> bool:
    """Say whether bytes are text in UTF-16 or UTF-32: with the other order of bytes, blanks become other characters."""
    try:
        text = codecs.getincrementaldecoder(name)().decode(head)
    except UnicodeDecodeError:
        return False
    blanks, swapped = sum(map(text.count, "\n\r ")), sum(map(text.count, "\u0a00\u0d00\u2000"))
    odd = sum(unicodedata.category(char) in ("Cn", "Co", "Cc", "Cs") for char in text) - sum(map(text.count, "\n\r\t"))
    return blanks > max(swapped, len(text) // 500) and odd <= len(text) // 50


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        lines, found, tail = block.rpartition(b"\n")
        if found:
            yield rest + lines
            rest = b""
        rest += tail
    yield rest


def _best(read: Open, lang: str) -> str | None:
    """Return the encoding in which the whole text has the most characters of its language; None if none has enough."""
    common, least, names = _row(lang)
    found: dict[str, float] = {}
    for name in names.split():
        counts: Counter[str] = Counter()
        decoder = codecs.getincrementaldecoder(name)()
        try:
            for block in read():
                counts.update(_BEYOND_ASCII.findall(decoder.decode(block)))
            counts.update(_BEYOND_ASCII.findall(decoder.decode(b"", final=True)))
        except UnicodeDecodeError:
            continue
        letters = {char: count for char, count in counts.items() if char not in _MARKS}
        known = sum(count for char, count in letters.items() if char in common or char.lower() in common)
        found[name] = known / (sum(letters.values()) or 1) if letters else float(bool(counts))
    best = max(found, key=lambda name: found[name], default="")
    return best if best and found[best] >= least else None
