"""How the text of a corpus is read: one class per reader, with its options."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, SerializeAsAny, model_validator

from mdnmt.config.base import Frozen, or_plugin
from mdnmt.plugin_kinds import READER


class StatcanReader(Frozen):
    """Tables of Statistics Canada: which of their texts are taken."""

    name: Literal["statcan"] = Field(description="the reader")
    parts: tuple[Literal["titles", "footnotes", "labels"], ...] = Field(
        default=("titles", "footnotes", "labels"), min_length=1, description="which texts to read"
    )
    min_label_tokens: int = Field(
        default=5, ge=1, strict=True, description="words and signs; shorter labels are left out"
    )


class HscodesReader(Frozen):
    """EU customs tariff: self-explanatory texts (CN) and the nested list (TARIC)."""

    name: Literal["hscodes"] = Field(description="the reader")
    parts: tuple[Literal["cn", "taric"], ...] = Field(
        default=("cn", "taric"), min_length=1, description="which texts to read"
    )


class NaceReader(Frozen):
    """EU classification of economic activities: what each class includes and excludes."""

    name: Literal["nace"] = Field(description="the reader")


class GnuhealthReader(Frozen):
    """Translations of GNU Health modules (.po)."""

    name: Literal["gnuhealth"] = Field(description="the reader")


class BibleJsonReader(Frozen):
    """A Bible as JSON: a list of books with their chapters."""

    name: Literal["bible-json"] = Field(description="the reader")
    members: dict[str, str] = Field(min_length=2, description="language -> member of the archive")


class ZefaniaReader(Frozen):
    """Bibles in Zefania XML, a package a language."""

    name: Literal["zefania"] = Field(description="the reader")
    packages: dict[str, str] = Field(min_length=2, description="language -> what its file's name begins with")


class BibletkReader(Frozen):
    """The Chinese Union Version (Big5, made simplified) beside an English Bible in Zefania XML."""

    name: Literal["bibletk"] = Field(description="the reader")
    english: str = Field(min_length=1, description="what the English file's name begins with")


class QuranReader(Frozen):
    """Translations of the Quran, a package a language."""

    name: Literal["quran"] = Field(description="the reader")
    packages: dict[str, str] = Field(min_length=2, description="language -> what its file's name begins with")


class HomeassistantReader(Frozen):
    """The interface of Home Assistant."""

    name: Literal["homeassistant"] = Field(description="the reader")
    min_tokens: int = Field(default=3, ge=1, strict=True, description="of the English side; shorter ones are left out")


class GettextMoReader(Frozen):
    """Compiled gettext catalogues of Debian packages."""

    name: Literal["gettext-mo"] = Field(description="the reader")
    min_tokens: int = Field(default=3, ge=1, strict=True, description="of the English side; shorter ones are left out")
    accelerator: Literal["&", "_", ""] = Field("&", description="sign before a menu's key, which is removed")
    tags_are_names: bool = Field(
        False, strict=True, description="keep <npcname> and remove only colours; false: remove all tags"
    )
    context_prefix: bool = Field(False, strict=True, description="remove a context such as `female^`")


class LibreofficeHelpReader(Frozen):
    """The manual of LibreOffice."""

    name: Literal["libreoffice-help"] = Field(description="the reader")
    min_tokens: int = Field(default=4, ge=1, strict=True, description="of the English side; shorter ones are left out")


class DdtpReader(Frozen):
    """Descriptions of Debian's packages."""

    name: Literal["ddtp"] = Field(description="the reader")


class PlainReader(Frozen):
    """Line-aligned text, `<split>.<lang>`, plain or packed (.gz, .xz, .zst)."""

    name: Literal["plain"] = Field(description="the reader")


class FilesReader(Frozen):
    """Line-aligned text of any name, `<name>.<lang>`, plain or packed; names without the language."""

    name: Literal["files"] = Field(description="the reader")
    train: tuple[str, ...] = Field(min_length=1, description="`acts` for acts.en and acts.fr; several are concatenated")
    valid: tuple[str, ...] = Field(default=(), description="as train; none: drawn at random")
    test: tuple[str, ...] = Field(default=(), description="as train; none: drawn at random")

    @model_validator(mode="after")
    def _each_file_once(self) -> Self:
        names = (*self.train, *self.valid, *self.test)
        if len(set(names)) < len(names):
            raise ValueError("train, valid and test: a file is named twice")
        return self


class ParallelReader(Frozen):
    """Line-aligned members of an archive, such as Europarl's or News Commentary's."""

    name: Literal["parallel"] = Field(description="the reader")
    members: dict[str, str] = Field(
        min_length=2, description="language -> member of the archive, or the end of its path"
    )
    valid: dict[str, str] = Field({}, description="the same for valid; none: drawn at random")
    test: dict[str, str] = Field({}, description="the same for test; none: drawn at random")


class MosesReader(Frozen):
    """A Moses zip of OPUS: `<corpus>.<pair>.<language>`, line-aligned."""

    name: Literal["moses"] = Field(description="the reader")


class IwsltReader(Frozen):
    """An evaluation campaign of IWSLT: talks with tag lines, and development and test sets in XML."""

    name: Literal["iwslt"] = Field(description="the reader")
    titles: bool = Field(False, strict=True, description="take the talks' titles and descriptions as sentences too")
    dropped: tuple[str, ...] = Field(
        default=("url", "talkid", "keywords", "speaker", "translator", "reviewer", "doc"),
        description="tags whose lines are not text; a line with another tag is, and is counted",
    )
    valid: tuple[str, ...] = Field(
        default=(), description="sets joined for valid, such as dev2010; none: drawn at random"
    )
    test: tuple[str, ...] = Field(
        default=(), description="sets joined for test, such as tst2010; none: drawn at random"
    )


class UmCorpusReader(Frozen):
    """One domain of UM-Corpus: alternating lines, English and Chinese, and its section of the test file."""

    name: Literal["um-corpus"] = Field(description="the reader")
    domain: Literal["Education", "Laws", "Microblog", "News", "Science", "Spoken", "Subtitles", "Thesis"] = Field(
        description="name of its folder"
    )
    test: bool = Field(True, strict=True, description="take the corpus' own test section; false: draw one")
    section: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="number in the header of the test section; null: by the domain's name in it",
    )


class TmxReader(Frozen):
    """A translation memory (TMX): `<split>.tmx` in your folder, plain or packed, or one file by its name."""

    name: Literal["tmx"] = Field(description="the reader")
    file: str | None = Field(None, min_length=1, description="the one file, or the archive's member; null: <split>.tmx")
    codes: dict[str, str] = Field(
        {}, description="language -> its code in the file, such as zh-TW; else any region of the language"
    )


class XliffReader(Frozen):
    """A bilingual file (XLIFF 1.2 or 2): `<split>.xlf` in your folder, plain or packed, or one file by its name."""

    name: Literal["xliff"] = Field(description="the reader")
    file: str | None = Field(None, min_length=1, description="the one file, or the archive's member; null: <split>.xlf")


class TsvReader(Frozen):
    """A table: `<split>.tsv` in your folder, plain or packed, or one file by its name."""

    name: Literal["tsv"] = Field(description="the reader")
    file: str | None = Field(None, min_length=1, description="the one file, or the archive's member; null: <split>.tsv")
    columns: dict[str, int | str] = Field(
        min_length=2, description="language -> its column: a number from 1, or a name in the first line"
    )
    header: bool = Field(False, strict=True, description="the first line has the columns' names")
    separator: Literal["tab", "comma", "semicolon"] = Field("tab", description="the character between columns")
    quotes: bool = Field(False, strict=True, description='a field may be quoted with " and then contain line breaks')
    where: dict[str, str] = Field({}, description="column -> its value; other rows are left out")

    @model_validator(mode="after")
    def _columns_can_be_found(self) -> Self:
        if self.where and not self.header:
            raise ValueError("where: columns are found by their names: set `header: true`")
        for lang, column in self.columns.items():
            if isinstance(column, str) and not self.header:
                raise ValueError(f"columns: {lang} is found by a name, {column!r}: set `header: true`")
            if isinstance(column, int) and column < 1:
                raise ValueError(f"columns: {lang}: columns are counted from 1, found {column}")
        return self


class GeneratedReader(Frozen):
    """A grammar: how many words of each kind it has, and what sentences it makes (see `mdnmt.corpora.generated`).

    The text is in any two languages; that of a Chinese side has Chinese characters and no blanks.
    """

    name: Literal["generated"] = Field(description="the reader")
    domain: int = Field(
        ge=0, le=62, strict=True, description="number of the domain; the corpora of one task differ only in it"
    )
    sentences: int = Field(gt=0, strict=True, description="number of sentences, including repetitions")
    seed: int = Field(1, ge=0, strict=True, description="another one makes other words and other sentences")
    common_words: int = Field(80, gt=0, le=1000, strict=True, description="words with one translation in all domains")
    cue_words: int = Field(10, gt=0, le=1000, strict=True, description="words of one domain only; as many in each")
    context_words: int = Field(20, gt=0, le=1000, strict=True, description="ambiguous, always beside a cue")
    label_words: int = Field(20, gt=0, le=1000, strict=True, description="ambiguous, never beside a cue")
    context_share: float = Field(0.5, ge=0, le=1, description="share of the sentences with a cue")
    min_words: int = Field(5, ge=4, strict=True, description="of a sentence")
    max_words: int = Field(9, ge=4, strict=True, description="of a sentence")

    @model_validator(mode="after")
    def _bounds_in_order(self) -> Self:
        if self.min_words > self.max_words:
            raise ValueError("min_words is above max_words")
        return self


ReaderConfig = Annotated[
    StatcanReader
    | HscodesReader
    | NaceReader
    | GnuhealthReader
    | BibleJsonReader
    | ZefaniaReader
    | BibletkReader
    | QuranReader
    | HomeassistantReader
    | GettextMoReader
    | LibreofficeHelpReader
    | DdtpReader
    | PlainReader
    | FilesReader
    | ParallelReader
    | MosesReader
    | IwsltReader
    | UmCorpusReader
    | TmxReader
    | XliffReader
    | TsvReader
    | GeneratedReader,
    Field(discriminator="name"),
    or_plugin(READER, "name"),
    SerializeAsAny(),
]
