"""Languages: ISO 639 codes, scripts, and what the tools need to know about them.

This is the only place that knows languages. A code is written as people write it in file names: two or three letters of
ISO 639, with a script or region if needed (`en`, `eng`, `pt-BR`, `zh_Hant`, `sr-Latn-RS`, `eng_Latn`). Everything else
asks for the `Language` of a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

# A language, then a script of four letters, then a region of two letters or three digits.
PATTERN = r"^[a-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?$"

# ISO 639-1 code, ISO 639-2/3 code (terminological/bibliographic), English name.
_ISO_639 = """
aa aar Afar; ab abk Abkhazian; ae ave Avestan; af afr Afrikaans; ak aka Akan; am amh Amharic; an arg Aragonese; ar
ara Arabic; as asm Assamese; av ava Avaric; ay aym Aymara; az aze Azerbaijani; ba bak Bashkir; be bel Belarusian; bg
bul Bulgarian; bi bis Bislama; bm bam Bambara; bn ben Bengali; bo bod/tib Tibetan; br bre Breton; bs bos Bosnian; ca
cat Catalan; ce che Chechen; ch cha Chamorro; co cos Corsican; cr cre Cree; cs ces/cze Czech; cu chu Church Slavic;
cv chv Chuvash; cy cym/wel Welsh; da dan Danish; de deu/ger German; dv div Divehi; dz dzo Dzongkha; ee ewe Ewe; el
ell/gre Greek; en eng English; eo epo Esperanto; es spa Spanish; et est Estonian; eu eus/baq Basque; fa fas/per
Persian; ff ful Fulah; fi fin Finnish; fj fij Fijian; fo fao Faroese; fr fra/fre French; fy fry Frisian; ga gle
Irish; gd gla Scottish Gaelic; gl glg Galician; gn grn Guarani; gu guj Gujarati; gv glv Manx; ha hau Hausa; he heb
Hebrew; hi hin Hindi; ho hmo Hiri Motu; hr hrv Croatian; ht hat Haitian; hu hun Hungarian; hy hye/arm Armenian; hz
her Herero; ia ina Interlingua; id ind Indonesian; ie ile Interlingue; ig ibo Igbo; ii iii Sichuan Yi; ik ipk
Inupiaq; io ido Ido; is isl/ice Icelandic; it ita Italian; iu iku Inuktitut; ja jpn Japanese; jv jav Javanese; ka
kat/geo Georgian; kg kon Kongo; ki kik Kikuyu; kj kua Kuanyama; kk kaz Kazakh; kl kal Kalaallisut; km khm Khmer; kn
kan Kannada; ko kor Korean; kr kau Kanuri; ks kas Kashmiri; ku kur Kurdish; kv kom Komi; kw cor Cornish; ky kir
Kyrgyz; la lat Latin; lb ltz Luxembourgish; lg lug Ganda; li lim Limburgish; ln lin Lingala; lo lao Lao; lt lit
Lithuanian; lu lub Luba-Katanga; lv lav Latvian; mg mlg Malagasy; mh mah Marshallese; mi mri/mao Maori; mk mkd/mac
Macedonian; ml mal Malayalam; mn mon Mongolian; mr mar Marathi; ms msa/may Malay; mt mlt Maltese; my mya/bur
Burmese; na nau Nauru; nb nob Norwegian Bokmal; nd nde North Ndebele; ne nep Nepali; ng ndo Ndonga; nl nld/dut
Dutch; nn nno Norwegian Nynorsk; no nor Norwegian; nr nbl South Ndebele; nv nav Navajo; ny nya Chichewa; oc oci
Occitan; oj oji Ojibwa; om orm Oromo; or ori Odia; os oss Ossetian; pa pan Punjabi; pi pli Pali; pl pol Polish; ps
pus Pashto; pt por Portuguese; qu que Quechua; rm roh Romansh; rn run Rundi; ro ron/rum Romanian; ru rus Russian; rw
kin Kinyarwanda; sa san Sanskrit; sc srd Sardinian; sd snd Sindhi; se sme Northern Sami; sg sag Sango; sh hbs
Serbo-Croatian; si sin Sinhala; sk slk/slo Slovak; sl slv Slovenian; sm smo Samoan; sn sna Shona; so som Somali; sq
sqi/alb Albanian; sr srp Serbian; ss ssw Swati; st sot Southern Sotho; su sun Sundanese; sv swe Swedish; sw swa
Swahili; ta tam Tamil; te tel Telugu; tg tgk Tajik; th tha Thai; ti tir Tigrinya; tk tuk Turkmen; tl tgl Tagalog; tn
tsn Tswana; to ton Tongan; tr tur Turkish; ts tso Tsonga; tt tat Tatar; tw twi Twi; ty tah Tahitian; ug uig Uyghur;
uk ukr Ukrainian; ur urd Urdu; uz uzb Uzbek; ve ven Venda; vi vie Vietnamese; vo vol Volapuk; wa wln Walloon; wo wol
Wolof; xh xho Xhosa; yi yid Yiddish; yo yor Yoruba; za zha Zhuang; zh zho/chi Chinese; zu zul Zulu
"""
# Languages without a two-letter code for which there are corpora.
_THREE_LETTERS = """
ace Acehnese; ast Asturian; awa Awadhi; azb South Azerbaijani; ban Balinese; bem Bemba; bho Bhojpuri; bjn Banjar; bug
Buginese; ceb Cebuano; chr Cherokee; cjk Chokwe; ckb Central Kurdish; crh Crimean Tatar; csb Kashubian; dik Dinka; dsb
Lower Sorbian; dyu Dyula; fon Fon; frr North Frisian; fur Friulian; gsw Swiss German; haw Hawaiian; hil Hiligaynon; hmn
Hmong; hne Chhattisgarhi; hsb Upper Sorbian; ilo Iloko; kab Kabyle; kac Jingpho; kam Kamba; kbp Kabiye; kea
Kabuverdianu; kmb Kimbundu; kok Konkani; lad Ladino; lij Ligurian; lmo Lombard; ltg Latgalian; lua Luba-Kasai; luo Luo;
lus Mizo; mag Magahi; mai Maithili; min Minangkabau; mni Manipuri; mos Mossi; nap Neapolitan; nds Low German; nso
Northern Sotho; nus Nuer; pag Pangasinan; pap Papiamento; pms Piedmontese; sah Yakut; sat Santali; scn Sicilian; sco
Scots; shn Shan; sma Southern Sami; smj Lule Sami; syr Syriac; szl Silesian; taq Tamasheq; tet Tetum; tpi Tok Pisin; tum
Tumbuka; tyv Tuvan; udm Udmurt; umb Umbundu; vec Venetian; war Waray; yue Cantonese; zgh Tamazight
"""
# Varieties and withdrawn codes -> the code of the language whose rules suit them.
_VARIETIES = """
cmn:zh yue:zh wuu:zh lzh:zh nan:zh hsn:zh arb:ar arz:ar apc:ar ary:ar acm:ar acq:ar aeb:ar ajp:ar ars:ar pes:fa prs:fa
ekk:et lvs:lv zsm:ms swh:sw npi:ne ory:or uzn:uz khk:mn plt:mg azj:az als:sq ydd:yi kmr:ku quz:qu quy:qu ayr:ay gug:gn
gaz:om fuv:ff knc:kr fil:tl pbt:ps tzm:zgh tdt:tet cnr:sr iw:he in:id ji:yi mo:ro jw:jv
"""
# Codes of countries that people take for their languages' codes, as far as they are no language's.
_COUNTRIES = {"cn": "zh", "cz": "cs", "dk": "da", "gr": "el", "ir": "fa", "jp": "ja", "ua": "uk", "vn": "vi"}
# How languages call themselves, and each other, in the first lines of tables.
_NAMES = """
anglais:en englisch:en inglés:en 英文:en 英语:en français:fr francais:fr französisch:fr 法语:fr deutsch:de allemand:de
español:es spanisch:es italiano:it português:pt nederlands:nl русский:ru 中文:zh 汉语:zh 日本語:ja 한국어:ko العربية:ar
polski:pl čeština:cs türkçe:tr українська:uk svenska:sv
"""
# Script of ISO 15924 -> its Unicode blocks, as ranges of a character class.
SCRIPTS = {
    "Latin": r"A-Za-z\u00c0-\u024f\u1e00-\u1eff",
    "Cyrillic": r"\u0400-\u052f",
    "Greek": r"\u0370-\u03ff\u1f00-\u1fff",
    "Armenian": r"\u0530-\u058f",
    "Hebrew": r"\u0590-\u05ff",
    "Arabic": r"\u0600-\u06ff\u0750-\u077f",
    "Syriac": r"\u0700-\u074f",
    "Thaana": r"\u0780-\u07bf",
    "Devanagari": r"\u0900-\u097f",
    "Bengali": r"\u0980-\u09ff",
    "Gurmukhi": r"\u0a00-\u0a7f",
    "Gujarati": r"\u0a80-\u0aff",
    "Odia": r"\u0b00-\u0b7f",
    "Tamil": r"\u0b80-\u0bff",
    "Telugu": r"\u0c00-\u0c7f",
    "Kannada": r"\u0c80-\u0cff",
    "Malayalam": r"\u0d00-\u0d7f",
    "Sinhala": r"\u0d80-\u0dff",
    "Thai": r"\u0e00-\u0e7f",
    "Lao": r"\u0e80-\u0eff",
    "Tibetan": r"\u0f00-\u0fff",
    "Burmese": r"\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f",
    "Georgian": r"\u10a0-\u10ff\u1c90-\u1cbf",
    "Ethiopic": r"\u1200-\u139f",
    "Cherokee": r"\u13a0-\u13ff\uab70-\uabbf",
    "Khmer": r"\u1780-\u17ff",
    "Ol Chiki": r"\u1c50-\u1c7f",
    "Tifinagh": r"\u2d30-\u2d7f",
    "Han": r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
    "Japanese": r"\u3040-\u30ff",
    "Yi": r"\ua000-\ua4cf",
    "Meitei": r"\uabc0-\uabff",
    "Hangul": r"\uac00-\ud7af\u1100-\u11ff",
}
# Scripts without spaces between words.
SPACELESS = ("Han", "Japanese", "Thai", "Lao", "Khmer", "Burmese", "Tibetan", "Yi")
_SCRIPTS_OF = {
    lang: tuple(scripts.split("+"))
    for scripts, langs in {
        "Cyrillic": "ab av ba be bg ce cu cv kk kv ky mk mn os ru sah tg tt tyv udm uk",
        "Cyrillic+Latin": "sr sh",
        "Latin+Cyrillic": "az bs crh tk uz",
        "Arabic": "ar azb ckb fa ks ps sd ug ur",
        "Latin+Arabic": "ku ms ha",
        "Devanagari": "awa bho hi hne kok mag mai mr ne sa",
        "Bengali": "as bn",
        "Bengali+Meitei": "mni",
        "Hebrew": "he yi",
        "Ethiopic": "am ti",
        "Han": "zh yue",
        "Japanese+Han": "ja",
        "Hangul+Han": "ko",
        "Latin+Tifinagh": "kab zgh",
        "Burmese": "my shn",
        "Tibetan": "bo dz",
        "Greek": "el",
        "Armenian": "hy",
        "Syriac": "syr",
        "Thaana": "dv",
        "Gurmukhi": "pa",
        "Gujarati": "gu",
        "Odia": "or",
        "Tamil": "ta",
        "Telugu": "te",
        "Kannada": "kn",
        "Malayalam": "ml",
        "Sinhala": "si",
        "Thai": "th",
        "Lao": "lo",
        "Georgian": "ka",
        "Cherokee": "chr",
        "Khmer": "km",
        "Ol Chiki": "sat",
        "Yi": "ii",
    }.items()
    for lang in langs.split()
}
# Script subtag of ISO 15924 -> scripts.
_SUBTAGS = """
Latn:Latin Cyrl:Cyrillic Grek:Greek Armn:Armenian Hebr:Hebrew Arab:Arabic Syrc:Syriac Thaa:Thaana Deva:Devanagari
Beng:Bengali Guru:Gurmukhi Gujr:Gujarati Orya:Odia Taml:Tamil Telu:Telugu Knda:Kannada Mlym:Malayalam Sinh:Sinhala
Thai:Thai Laoo:Lao Tibt:Tibetan Mymr:Burmese Geor:Georgian Ethi:Ethiopic Cher:Cherokee Khmr:Khmer Tfng:Tifinagh
Hans:Han Hant:Han Hani:Han Jpan:Japanese+Han Yiii:Yi Mtei:Meitei Hang:Hangul Kore:Hangul+Han Olck:Ol_Chiki
"""
_SCRIPTS_OF_TAG = {
    tag: tuple(scripts.replace("_", " ").split("+")) for tag, scripts in (pair.split(":") for pair in _SUBTAGS.split())
}


@dataclass(frozen=True)
class Language:
    """What the tools know about a language.

    Attributes:
        code: as it was written, such as `fra` or `pt-BR`.
        base: the code by which tools know it: two letters if ISO 639 has them, without script and region.
        name: in English; the code itself if it is unknown.
        scripts: those in which it is written, the first one above all.
        is_known: whether the code is in this module's table.
    """

    code: str
    base: str
    name: str
    scripts: tuple[str, ...]
    is_known: bool

    @property
    def is_spaceless(self) -> bool:
        """Return whether it is written without spaces between words."""
        return self.scripts[0] in SPACELESS

    @property
    def tokens_per_word(self) -> float:
        """Return roughly how many characters (Chinese: words) stand for one English word; 1 with spaces."""
        rates = {"Japanese": 2.0, "Thai": 4.0, "Lao": 4.0, "Khmer": 4.0, "Burmese": 3.0, "Tibetan": 3.0, "Yi": 2.0}
        return rates.get(self.scripts[0], 1.0)

    @property
    def bleu_tokenization(self) -> str:
        """Return sacreBLEU's tokenisation: `zh`, `ja-mecab` (if its packages are there), `char` or `13a`."""
        if self.base == "ja" and self.is_spaceless and _has_mecab():
            return "ja-mecab"
        return "zh" if self.base == "zh" else "char" if self.is_spaceless else "13a"


@lru_cache(maxsize=1)
def _has_mecab() -> bool:
    """Return whether the packages of `sacrebleu[ja]` are there and can be loaded, with their library."""
    try:
        return bool(import_module("MeCab") and import_module("ipadic"))
    except ImportError:
        return False


def _table() -> dict[str, tuple[str, str]]:
    """Return code -> (code by which tools know it, name), for all codes of two and three letters."""
    found: dict[str, tuple[str, str]] = {}
    for entry in " ".join(_ISO_639.split()).split("; "):
        code, longer, name = entry.split(" ", 2)
        found |= dict.fromkeys((code, *longer.split("/")), (code, name))
    for entry in " ".join(_THREE_LETTERS.split()).split("; "):
        code, name = entry.split(" ", 1)
        found[code] = (code, name)
    for variety, code in (pair.split(":") for pair in _VARIETIES.split()):
        found[variety] = (code, found.get(variety, found[code])[1])
    return found


_KNOWN = _table()
_OF_NAME = {name.casefold(): code for code, name in reversed(_KNOWN.values())}
_OF_NAME |= dict(one.split(":") for one in _NAMES.split())


@lru_cache(maxsize=256)
def language(code: str) -> Language:
    """Return the language of a code; of an unknown one nothing is known but the code, and Latin script is assumed."""
    first, *subtags = re.split("[-_]", code)
    base, name = _KNOWN.get(first.lower(), (first.lower(), code))
    scripts = next((_SCRIPTS_OF_TAG[tag.title()] for tag in subtags if tag.title() in _SCRIPTS_OF_TAG), None)
    return Language(code, base, name, scripts or _SCRIPTS_OF.get(base, ("Latin",)), first.lower() in _KNOWN)


def code_of_name(text: str) -> str | None:
    """Return the base code of the language after which a column is called (`French`, `fra`, `fr-FR`), or None."""
    name = text.removeprefix("\ufeff").strip().strip('"').casefold()
    code = re.split("[-_]", name)[0]
    return _OF_NAME.get(name) or (_KNOWN[code][0] if code in _KNOWN else None)


def unknown_code(codes: Iterable[str]) -> tuple[str, str] | None:
    """Return what is said about the unknown codes among `codes`, and what to do; None if all are known."""
    unknown = [code for code in codes if not language(code).is_known]
    if not unknown:
        return None
    what = (
        f"{' and '.join(map(repr, unknown))}: no language code of ISO 639 known here: moses tokenises and detokenises "
        "by general rules, BLEU takes words between spaces (13a), and the doctor expects Latin script"
    )
    meant = [f"{_COUNTRIES[code]} if {code} is the country" for code in unknown if code in _COUNTRIES]
    code = "; ".join(meant) or "such as fr, fra or pt-BR; else nothing to do for text with spaces"
    return what, f"write the code of ISO 639, {code}"


_LETTERS = {name: re.compile(f"[{ranges}]") for name, ranges in SCRIPTS.items()}
_ALL_SPACELESS = re.compile(f"[{''.join(SCRIPTS[name] for name in SPACELESS)}]")
_LETTER = re.compile(r"[^\W\d_]")


def script_letters(text: str, script: str) -> int:
    """Return the number of letters of one script in a text."""
    return len(_LETTERS[script].findall(text))


def count_letters(text: str) -> dict[str, int]:
    """Return script -> number of its letters in a text."""
    return {name: len(letters.findall(text)) for name, letters in _LETTERS.items()}


def spaceless_script(text: str) -> str | None:
    """Return the script without spaces in which most letters of a text are written, or None."""
    if 2 * len(_ALL_SPACELESS.findall(text)) <= len(_LETTER.findall(text)):
        return None
    counts = count_letters(text)
    return max(SPACELESS, key=lambda name: counts[name])
