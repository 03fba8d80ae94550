"""The doctor: each kind of trouble is found at its line, text without trouble passes."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdnmt.cli import main
from mdnmt.tasks.doctor.encoding import find_encoding
from mdnmt.tasks.doctor.findings import Finding
from mdnmt.tasks.doctor.misalignment import Shift, ShiftFinder
from mdnmt.tasks.doctor.not_text import is_header, oddities
from mdnmt.tasks.doctor.wrong_language import suspect
from mdnmt.tasks.text.normalisation import normalise

WORDS = ("court", "law", "judge", "paper", "river", "mountain", "letter", "king", "garden", "window", "street", "a")
FRENCH = {word: word.upper() + "E" for word in WORDS}
FRENCH["a"] = "ii"


def text(lines: int, seed: int) -> list[tuple[str, str]]:
    """Return distinct pairs whose two sides are about as long as each other, without function words."""
    draw = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < lines:
        words = [*draw.choices(WORDS, k=draw.randint(1, 12)), f"n{seed}x{len(found)}"]
        found[" ".join(words)] = " ".join(FRENCH.get(word, word.upper()) for word in words)
    return list(found.items())


class Project:
    """A task `mine` of the domains law and news, in a folder of its own."""

    def __init__(self, folder: Path, task: str = "", numbers: str = "valid: 10, test: 10") -> None:
        self.folder = folder
        (folder / "config/corpora").mkdir(parents=True)
        (folder / "config/tasks").mkdir()
        domains = ""
        for name in ("law", "news"):
            (folder / "texts" / name).mkdir(parents=True)
            source = f"source: {{provider: local, folder: {folder / 'texts' / name}}}\nreader: {{name: plain}}\n"
            (folder / f"config/corpora/my-{name}.yaml").write_text(f"title: x\nlanguages: [en, fr]\n{source}")
            domains += f"  {name}: {{corpora: [my-{name}], {numbers}}}\n"
        head = "title: Mine\nsource_lang: en\ntarget_lang: fr\ndomains:\n"
        (folder / "config/tasks/mine.yaml").write_text(head + domains + task)
        self.write("law", "train", text(400, 1))
        self.write("news", "train", text(400, 2))

    def write(self, domain: str, split: str, pairs: list[tuple[str, str]]) -> None:
        for index, lang in enumerate(("en", "fr")):
            self.raw(domain, f"{split}.{lang}", "".join(pair[index] + "\n" for pair in pairs).encode())

    def raw(self, domain: str, name: str, data: bytes) -> None:
        (self.folder / "texts" / domain / name).write_bytes(data)

    def ask(self, capsys: Any) -> tuple[int, str]:
        folders = ["--config", str(self.folder / "config"), "--corpora", str(self.folder / "corpora")]
        status = main(["doctor", "mine", *folders])
        return status, capsys.readouterr().out.replace(f"{self.folder}/texts/", "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_text_without_trouble_passes(project: Project, capsys: Any) -> None:
    status, said = project.ask(capsys)
    assert status == 0, said
    assert "law, train: law/train.en: 400 pairs, 400 kept by the cleaning" in said
    assert "law: about 380 pairs to train on" in said
    assert "between the splits" not in said  # there is no held-out text of their own
    assert said.endswith("mine: nothing to fix\n")
    project.write("law", "test", text(10, 5))
    said = project.ask(capsys)[1]
    assert "between the splits: no sentence is shared\n" in said and said.endswith("mine: nothing to fix\n")
    assert "law en 100.0/100.0/0.0, law fr 100.0/100.0/0.0" in said  # ceilings of BLEU, chrF, TER


@pytest.mark.slow
def test_what_the_tokenizer_loses_is_measured_and_the_remedy_works(project: Project, capsys: Any) -> None:
    pairs = [(one, f"“{other}. C’est ainsi.” “{other}”") for one, other in text(400, 1)]
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 2 and "law: the tokenizer moses loses where spaces were in fr" in said
    assert "first at law/train.fr:1" in said.replace(str(project.folder / "texts/"), "").replace("train.en", "train.fr")
    task = project.folder / "config/tasks/mine.yaml"
    task.write_text(task.read_text() + "segmentation: {tokenizer: reversible}\n")
    status, said = project.ask(capsys)
    assert status == 0 and "law fr 100.0/100.0/0.0" in said
    task.write_text(task.read_text().replace("reversible", "moses") + "of: jiang2020\n")
    status, said = project.ask(capsys)
    assert status == 0 and "note: law: the tokenizer moses loses" in said and "the paper did so" in said


def test_an_unknown_language_is_said_once_with_what_follows(project: Project, capsys: Any) -> None:
    for path in (project.folder / "config").rglob("*.yaml"):
        path.write_text(path.read_text().replace("fr]", "qaa]").replace("target_lang: fr", "target_lang: qaa"))
    for path in (project.folder / "texts").rglob("*.fr"):
        path.rename(path.with_suffix(".qaa"))
    status, said = project.ask(capsys)
    assert status == 2 and said.count("'qaa': no language code of ISO 639") == 1
    for word in ("moses", "BLEU", "Latin script"):
        assert word in said


def test_options_that_do_not_fit_text_without_spaces_are_named(project: Project, capsys: Any) -> None:
    for path in (project.folder / "config").rglob("*.yaml"):
        path.write_text(path.read_text().replace("fr]", "th]").replace("target_lang: fr", "target_lang: th"))
    letters = "กขคงจฉชซฌญฎฏฐฑฒณดตถ"
    for path in (project.folder / "texts").rglob("*.fr"):
        words = path.read_text().split("\n")[:-1]
        thai = ["".join(letters[ord(one) % len(letters)] for one in line if one.isalnum()) for line in words]
        path.with_suffix(".th").write_text("\n".join(thai) + "\n")
    status, said = project.ask(capsys)
    assert status == 2 and "the tokenizer moses does not split Thai" in said
    assert "the cleaning counts words at spaces, which Thai does not have" in said
    task = project.folder / "config/tasks/mine.yaml"
    task.write_text(
        task.read_text() + "segmentation: {tokenizer: reversible}\ncleaning: {unit: tokens, max_length_ratio: 16}\n"
    )
    status, said = project.ask(capsys)
    assert status == 0 and "400 kept by the cleaning" in said, said


def test_lines_that_are_not_utf8_are_named_and_the_rest_is_read(project: Project, capsys: Any) -> None:
    lines = [pair[1].encode() for pair in text(400, 1)]
    lines[6], lines[9] = "GARÇON MÉCHANT".encode("cp1252"), "法律".encode("gb18030") * 3
    project.raw("law", "train.fr", b"\n".join(lines) + b"\n")
    status, said = project.ask(capsys)
    assert status == 2
    assert (
        "error: 2 x train.fr is not UTF-8: bytes of another encoding (law/train.fr:7 (byte 0xc7), law/train.fr:10"
        in said
    )
    assert "iconv" not in said, "no encoding makes both lines French"
    assert "400 pairs" in said


def french(lines: int) -> list[str]:
    return [f"la fenêtre {n} du château où l’été {word}" for n, (word, _) in enumerate(text(lines, 1))]


@pytest.mark.slow
def test_advice_on_encodings_is_that_of_the_whole_file(project: Project, capsys: Any) -> None:
    lines = french(400)

    def told(data: bytes) -> str:
        project.raw("law", "train.fr", data)
        status, said = project.ask(capsys)
        assert status == 2
        return "\n".join(line for line in said.splitlines() if "error" in line)

    whole = "\n".join(lines) + "\n"
    assert "400 x train.fr is not UTF-8 (" in (said := told(whole.encode("cp1252")))
    assert "iconv -f cp1252 -t UTF-8 train.fr" in said
    wide = told(whole.encode("utf-16"))
    assert "train.fr is UTF-16, not UTF-8; convert it by `iconv -f UTF-16 -t UTF-8 train.fr`" in wide
    assert wide.count("error:") == 1, "one advice, and all pairs are read"
    for bad, kind in (
        (b"\xed\xa0\xbd\xed\xb8\x80", "a character as two surrogates (CESU-8)"),
        (b"\xed\xa0\xbd", "half a character (a surrogate)"),
        ("été".encode("cp1252"), "bytes of another encoding"),
        ("é".encode()[:1], "a character cut off at the end"),
    ):
        said = told(whole.encode().replace(b"\n", bad + b"\n", 78).replace(bad + b"\n", b"\n", 77))
        assert f"train.fr is not UTF-8: {kind} (law/train.fr:78 " in said
        assert "mend or remove these lines, do not convert the file: 399 other lines are UTF-8" in said
        assert "iconv" not in said
    joined = told("\n".join(lines[:150]).encode() + b"\n" + "\n".join(lines[150:]).encode("latin-1", "replace") + b"\n")
    assert "it seems to be joined from files of different encodings" in joined
    assert "iconv" not in joined


SAMPLES = {
    "fr": "La fenêtre du château est à côté, ça va très bien.",
    "de": "Über die Straße gehen schöne Mädchen.",
    "pl": "Zażółć gęślą jaźń, proszę o pomoc.",
    "cs": "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "ru": "Красная площадь находится в Москве, это красиво для людей.",
    "el": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας.",
    "zh": "这是一个关于中国经济发展的报告，我们在这里说明。",
    "ja": "これは日本語の文章です。東京は日本の首都であります。",
    "ko": "이것은 한국어 문장입니다. 서울은 대한민국의 수도이다.",
}
TRADITIONAL = "這是一個關於中國經濟發展的報告，我們在這裡說明。"


@pytest.mark.parametrize(
    ("lang", "encodings"),
    [
        ("fr", "cp1252 latin-1 macintosh cp850"),
        ("de", "cp1252 cp850"),
        ("pl", "cp1250 iso8859-2 cp852"),
        ("cs", "cp1250 iso8859-2"),
        ("ru", "cp1251 koi8-r iso8859-5 cp866 maccyrillic"),
        ("el", "cp1253 iso8859-7"),
        ("zh", "gb18030 gbk"),
        ("ja", "shift_jis euc-jp"),
        ("ko", "euc-kr"),
    ],
)
def test_an_encoding_is_named_only_if_the_text_is_right_in_it(lang: str, encodings: str) -> None:
    for name in encodings.split():
        data = (SAMPLES[lang] + "\n").encode(name) * 9
        found = find_encoding(lambda data=data: [data[:31], data[31:]], lang)  # type: ignore[misc]
        assert found.whole is not None, name
        assert data.decode(found.whole) == data.decode(name), f"{name} is not {found.whole}"


def test_utf_16_is_seen_with_and_without_a_mark_and_a_nul_byte_is_not_utf_16() -> None:
    big = (TRADITIONAL + "\n").encode("big5") * 9
    assert find_encoding(lambda: [big], "zh").whole == "big5"
    for lang, sample in SAMPLES.items():
        for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"):
            data = (sample + "\n").encode(name) * (1 if "-" not in name[4:] else 9)
            assert find_encoding(lambda data=data: [data], lang).wide == name, lang  # type: ignore[misc]
        data = f"a\0b\n{sample}\n".encode() * 9
        assert find_encoding(lambda data=data: [data], lang).wide is None  # type: ignore[misc]
    junk = bytes(range(256)) * 20
    assert find_encoding(lambda: [junk], "fr").whole is None


@pytest.mark.slow
def test_what_is_no_text_is_counted_and_what_cleans_it_is_said(project: Project, capsys: Any) -> None:
    pairs = text(400, 1)
    for number, end in (
        (0, " &amp; &quot;x&quot;"),
        (1, " <br/> <b>X</b>"),
        (2, " ."),
        (3, " X @-@ Y"),
        (4, " " + "UklGR" * 500),
    ):
        for line in range(number, 60, 10):
            pairs[line] = (pairs[line][0] + end, pairs[line][1] + end)
    pairs[5] = ('"HE SAID ""NO"" TO"', "JA")
    pairs[6] = ("A", "FEN锚TRE")
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 2
    for side in ("source", "target"):
        assert f"warning: 6 x the {side} has HTML entities, such as &amp; (law/train.en:1, 11, 21, ...)" in said
        assert f"warning: 6 x the {side} has HTML tags, such as <b> (law/train.en:2, 12, 22, ...)" in said
        assert f"warning: 12 x the {side} seems to be tokenised" in said
        assert f"warning: 6 x the {side} has more than 2,000 characters (law/train.en:5, 15, 25, ...)" in said
    assert "warning: the source is a quoted cell of a table" in said
    assert "quotes: true" in said
    assert "note: the target has words with letters that do not belong together (law/train.en:7)" in said
    for option in ("unescape: true", "detokenise: true", "max_characters: 2000"):
        assert option in said
        key, value = option.split(": ")
        task = project.folder / "config/tasks/mine.yaml"
        task.write_text(task.read_text().partition("cleaning:")[0] + f"cleaning: {{{key}: {value}}}\n")
        said = project.ask(capsys)[1]
    assert "note: 6 x dropped by the cleaning: too many characters" in said and "more than 2,000" not in said
    project.write("law", "test", [*text(60, 9)[:20], ("A " + "UklGR" * 500, "JA " + "UklGR" * 500)])
    said = project.ask(capsys)[1]
    assert "more than 2,000 characters (law/test.en:21); remove the line from both sides: held-out text" in said
    task.write_text(task.read_text().partition("cleaning:")[0] + "cleaning: {unescape: true, detokenise: true}\n")
    cleaned = project.ask(capsys)[1]
    assert "HTML" not in cleaned
    assert "tokenised" not in cleaned


def test_nul_bytes_marks_and_unreadable_signs(project: Project, capsys: Any) -> None:
    pairs = text(400, 1)
    pairs[2], pairs[4] = (pairs[2][0], "\ufeff" + pairs[2][1]), (pairs[4][0], "AV\0ANT")
    pairs[5], pairs[7] = (pairs[5][0], "le gar\ufffdon ici"), (pairs[7][0], "un garÃ§on lÃ -bas")
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 2
    assert "error: a NUL byte (law/train.fr:5)" in said
    assert "warning: a byte order mark within the text (law/train.fr:3)" in said
    assert "unreadable bytes (U+FFFD) (law/train.en:6)" in said
    assert "UTF-8 that was read as Latin-1 (law/train.en:8)" in said


def test_unequal_numbers_of_lines_and_an_empty_file(project: Project, capsys: Any) -> None:
    for data, error in (
        ("".join(pair[1] + "\n" for pair in text(398, 2)), "news/train.en:399 has no counterpart"),
        ("".join(pair[1] + "\n" for pair in text(402, 2)), "news/train.fr:401 has no counterpart"),
        ("", "error: train.fr is empty"),
    ):
        project.raw("news", "train.fr", data.encode())
        status, said = project.ask(capsys)
        assert status == 2 and error in said


def test_lost_lines_are_found_by_lengths(project: Project, capsys: Any) -> None:
    pairs = text(1001, 1)
    targets = [pair[1] for pair in pairs]
    del targets[399]
    project.write("law", "train", [(pair[0], target) for pair, target in zip(pairs[:1000], targets, strict=True)])
    status, said = project.ask(capsys)
    assert status == 2
    assert "error: the target seems to be 1 line(s) earlier than its source (lines 401-1000)" in said


def test_the_finder_of_shifts_is_quiet_where_there_is_none() -> None:
    for offset in (0, 2, -3):
        finder, draw = ShiftFinder(), random.Random(3)
        lengths = [draw.randint(1, 120) for _ in range(520)]
        for line in range(500):
            finder.add("x" * lengths[line + 10], "y" * int(1.2 * lengths[line + 10 - offset]))
        assert finder.finish() == ([Shift(1, 500, offset)] if offset else [])
    finder = ShiftFinder()
    for line in range(500):  # five forms, filled in again and again
        finder.add("x" * (61, 55, 67, 60, 50)[line % 5], "y" * (44, 55, 49, 61, 33)[line % 5])
    assert not finder.finish()


def test_blank_sides_are_notes_until_there_are_many(project: Project, capsys: Any) -> None:
    pairs = text(400, 1)
    pairs[3], pairs[8], pairs[9] = ("", "vide"), ("empty", " "), ("", "")
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 0
    assert "note: the source is empty (law/train.en:4)" in said
    assert "note: the target is empty (law/train.en:9)" in said
    assert "note: both sides are empty (law/train.en:10)" in said
    project.write(
        "law", "train", [("", target) if line % 3 else (source, target) for line, (source, target) in enumerate(pairs)]
    )
    status, said = project.ask(capsys)
    assert status == 2
    assert "x the source is empty" in said
    assert "% of the lines" in said


def test_duplicates_have_both_places(project: Project, capsys: Any) -> None:
    pairs = text(400, 1)
    pairs[20] = (pairs[4][0].upper(), pairs[4][1])
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 0
    assert "note: repeats an earlier pair (except for case and spaces) (law/train.en:21 = 5)" in said
    # Another translation of the same sentence is no repetition, and neither are blank lines.
    pairs = text(400, 1)
    pairs[20], pairs[30], pairs[31] = (pairs[4][0], "AUTREMENT DIT"), ("", ""), ("", "")
    project.write("law", "train", pairs)
    assert "repeats" not in project.ask(capsys)[1]
    project.write("law", "train", [*text(300, 1), *text(100, 1)])
    status, said = project.ask(capsys)
    assert status == 2
    assert "warning: 100 x repeats an earlier pair" in said


def test_overlap_of_own_held_out_text(project: Project, capsys: Any) -> None:
    law, news = text(400, 1), text(400, 2)
    project.write("law", "valid", [*text(10, 5), (law[30][0], "AUTRE")])
    project.write("law", "test", [*text(10, 6), ("other", news[7][1]), ("third", text(10, 5)[2][1])])
    status, said = project.ask(capsys)
    assert status == 2
    assert "note: the source of a valid pair is also in train text (law/valid.en:11); training text loses it" in said
    assert "note: the target of a test pair is also in train text (law/test.en:11)" in said
    assert "warning: the target of a valid pair is also in test text (law/valid.en:3)" in said


@pytest.mark.slow
def test_too_little_text(tmp_path: Path, capsys: Any) -> None:
    status, said = Project(tmp_path / "a", numbers="valid: 300, test: 200").ask(capsys)
    assert status == 2
    assert "error: 500 held-out pairs are requested, at most 400 are available" in said
    status, said = Project(tmp_path / "b", numbers="valid: 300, test: 10").ask(capsys)
    assert status == 2
    assert "warning: only about 90 pairs are left to train on beside 310 held-out ones" in said
    status, said = Project(tmp_path / "c", numbers="valid: null, test: 10").ask(capsys)
    assert status == 2
    assert "error: valid is null, but no corpus has valid text of its own" in said
    few = Project(tmp_path / "d")
    few.write("law", "test", text(5, 9))
    assert "error: 10 test pairs are asked for, its files have 5" in few.ask(capsys)[1]


ENGLISH = "The judge said that this was not what they had been told about it {}"
FRENCH_LINE = "Le juge a dit que ce n'est pas ce que vous avez dit dans la lettre {}"


def test_wrong_languages_and_exchanged_sides(project: Project, capsys: Any) -> None:
    pairs = [(ENGLISH.format(n), FRENCH_LINE.format(n)) for n in range(400)]
    pairs[11], pairs[12] = (pairs[11][0], ENGLISH.format("x")), (pairs[12][0], "这是一个法律文件")
    project.write("law", "train", pairs)
    status, said = project.ask(capsys)
    assert status == 0
    assert "note: the target seems to be English, not French (law/train.en:12)" in said
    assert "note: the target seems to be Han script, not French (law/train.en:13)" in said
    project.write("law", "train", [(target, source) for source, target in pairs])
    status, said = project.ask(capsys)
    assert status == 2
    assert "error: the two sides seem to be exchanged" in said


def test_evidence_of_a_language() -> None:
    for line, lang, found in (
        (ENGLISH, "en", None),
        (FRENCH_LINE, "fr", None),
        (ENGLISH, "de", "English"),
        (FRENCH_LINE, "en", "French"),
        ("Der Richter hat gesagt, dass er nicht kommen wird", "en", "German"),
        ("Der Richter hat gesagt, dass er nicht kommen wird", "de", None),
        ("这是一个法律文件", "zh", None),
        ("This is English text", "zh", "Latin script"),
        ("Это русский текст", "ru", None),
        ("Это русский текст", "en", "Cyrillic script"),
        ("これは日本語です", "ja", None),
        ("New York", "fr", None),  # too short to say
        ("Pierres à aiguiser ou à polir, à la main", "fr", None),  # `à` is no less French than Portuguese
        ("y faire des essais, y effectuer des mesures ou y prendre des échantillons", "fr", None),
        ("THE JUDGE SAID THAT THIS WAS NOT WHAT THEY HAD BEEN TOLD", "fr", None),  # capitals alone: a heading
        ("American Society for Testing and Materials, Institute of the Petroleum", "fr", None),  # a name
        ("Remplacer os.popen, os.popen2 et puis os.popen3 ici", "fr", None),  # one word again and again
        ("dry box van trailer means a box van trailer but no other van", "en", None),
        ("[Repealed, R.S., 1985, c. 47 (4th Supp.), s. 52]", "en", None),
        ("voyez https://example.org/the/and/of/with plus loin dans ce texte", "fr", None),  # an address
        ("MediaTek Dimensity", "zh", None),
        ("o juiz não disse isso quando ele já estava aqui, mas também muito mais", "fr", "Portuguese"),
        ("12 345 %", "en", None),
        (ENGLISH, "pl", None),  # a language that is not known, in its script
    ):
        assert suspect(line, lang) == found, line


@given(st.text(max_size=80), st.sampled_from(["en", "de", "fr", "zh", "ja", "ru", "xx"]))
def test_any_text_can_be_asked(line: str, lang: str) -> None:
    assert suspect(line, lang) is None or isinstance(suspect(line, lang), str)


def test_other_layouts_are_read_to_their_first_error(project: Project, capsys: Any) -> None:
    folder = project.folder / "texts/news"
    for name in ("train.en", "train.fr"):
        (folder / name).unlink()
    rows = "".join(f"{source}\t{target}\n" for source, target in text(50, 2))
    (folder / "train.tsv.gz").write_bytes(gzip.compress((rows + "one column\n").encode()))
    config = project.folder / "config/corpora/my-news.yaml"
    config.write_text(config.read_text().replace("{name: plain}", "{name: tsv, columns: {en: 1, fr: 2}}"))
    status, said = project.ask(capsys)
    assert status == 2
    assert "train.tsv.gz: 50 pairs" in said
    assert "train.tsv.gz:51" in said
    assert "the rest of the text was not checked" in said


def test_corpora_that_were_not_fetched_are_named(project: Project, capsys: Any) -> None:
    wheel = f"provider: pip, package: x, version: '1', file: x.whl, sha256: {'a' * 64}, size_bytes: 1"
    config = project.folder / "config/corpora/my-news.yaml"
    config.write_text(f"title: x\nlanguages: [en, fr]\nsource: {{{wheel}}}\nreader: {{name: gnuhealth}}\n")
    status, said = project.ask(capsys)
    assert status == 0
    assert "news: not fetched, so not checked: my-news; `mdnmt fetch my-news`" in said
    assert "news: about" not in said


def test_places_of_one_file_have_its_name_once() -> None:
    finding = Finding("note", "odd", "look", 5, ["a/b:1", "a/b:20", "a/b:300"])
    assert str(finding) == "note: 5 x odd (a/b:1, 20, 300, ...); look"
    assert str(Finding("error", "odd", "look", 1, ["a:1 = b:2"])) == "error: odd (a:1 = b:2); look"
    assert str(Finding("error", "odd", "look", 2, ["a:1 = b:2", "a:3 = b:2"])) == (
        "error: 2 x odd (a:1 = b:2, a:3 = b:2); look"
    )
    assert str(Finding("error", "odd", "look", 2, ["a:9 = 4", "a:11 = 2"])) == "error: 2 x odd (a:9 = 4, 11 = 2); look"
    assert str(Finding("error", "odd", "look")) == "error: odd; look"


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.binary(max_size=300))
def test_any_bytes_give_findings(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    project = Project(tmp_path_factory.mktemp("fuzz"))
    project.raw("law", "train.fr", data)
    folders = ["--config", str(project.folder / "config"), "--corpora", str(project.folder / "corpora")]
    assert main(["doctor", "mine", *folders]) == 2


def test_plain_french_and_code_are_no_markup() -> None:
    lines = [
        "Est-ce vrai ? Oui : non ; « bien » !",
        "AT&T & Co, a < b > c, <option> <name@example.org>",
        "n° 5, 3,5 % …",
    ]
    for line in lines:
        assert not list(oddities("source", line, line, "fr")), line
    for header in (("English", "French"), ("source", "target"), ("EN", "fr-FR")):
        assert is_header(*header, ("eng", "fr"))
    assert not is_header("French", "français bien sûr", ("en", "fr"))
    assert not is_header("No", "Si", ("en", "it")), "codes of other languages"


def test_text_that_a_program_changed_is_told_from_text() -> None:
    for lang, line, what in (
        ("ar", "قال : &quot; نعم &quot; ، هل تتكلم", "tokenised"),  # mozilla/translations#1063
        ("hi", "उसने पूछा , और किसी को", "tokenised"),
        ("th", "ฉัน พูด ภาษา ไทย ได้ ดี", "tokenised"),
        ("fr", "la fen\\u00eatre est ouverte", "escaped characters"),
        ("fr", "le gar?on est ici", "question marks within words"),
        ("fr", "17\tla fenêtre", "a tab"),
        # None of these is odd.
        ("hi", "संयुक्त राष्ट्र की बैठक आज हुई ।", ""),
        ("th", "ฉันพูดภาษาไทยได้ ราคา 50 บาท ครับ ขอบคุณมากครับ", ""),
        ("my", "ကျွန်တော် မြန်မာစကား ပြောတတ်ပါတယ်။", ""),
        ("zh", "你好?我很好.", ""),
        ("en", "Really?Yes, see a.org/b?c=d and C:\\users\\x", ""),
        ("fr", "une unité\n\t\tde mémoire", ""),
    ):
        said = [oddity.what for oddity in oddities("target", line, normalise(line), lang)]
        assert any(what in one for one in said) if what else not said, said
