"""Language codes: what people write maps to what the tools know."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from mdnmt import languages
from mdnmt.cli import main
from mdnmt.languages import PATTERN, SCRIPTS, code_of_name, language, spaceless_script, unknown_code
from mdnmt.score.metrics.string_based import cached_metric


def test_all_codes_of_a_language_act_alike() -> None:
    for codes, base, script, tokenization in (
        ("en eng en-GB eng_Latn", "en", "Latin", "13a"),
        ("fr fra fre fr_CA", "fr", "Latin", "13a"),
        ("de deu ger", "de", "Latin", "13a"),
        ("pt pt-BR pt_br por", "pt", "Latin", "13a"),
        ("sr-Latn sr_Latn-RS srp-Latn", "sr", "Latin", "13a"),
        ("sr srp sr-Cyrl", "sr", "Cyrillic", "13a"),
        ("zh zho chi cmn zh-CN zh_TW zh-Hant zho_Hans yue", "zh", "Han", "zh"),
        ("th tha tha_Thai", "th", "Thai", "char"),
        ("tet tdt", "tet", "Latin", "13a"),  # hplt-project/sacremoses#114
        ("km khm", "km", "Khmer", "char"),
        ("lo lao", "lo", "Lao", "char"),
        ("my mya bur", "my", "Burmese", "char"),
        ("bo bod tib", "bo", "Tibetan", "char"),
        ("he heb iw", "he", "Hebrew", "13a"),
        ("ko kor", "ko", "Hangul", "13a"),
        ("haw", "haw", "Latin", "13a"),
    ):
        for code in codes.split():
            found = language(code)
            assert re.fullmatch(PATTERN, code), code
            assert (found.base, found.scripts[0], found.bleu_tokenization) == (base, script, tokenization), code
            assert found.is_known and unknown_code([code]) is None


# The languages and scripts of the public test set FLORES-200.
FLORES = """
ace_Arab ace_Latn acm_Arab acq_Arab aeb_Arab afr_Latn ajp_Arab aka_Latn amh_Ethi apc_Arab arb_Arab arb_Latn ars_Arab
ary_Arab arz_Arab asm_Beng ast_Latn awa_Deva ayr_Latn azb_Arab azj_Latn bak_Cyrl bam_Latn ban_Latn bel_Cyrl bem_Latn
ben_Beng bho_Deva bjn_Arab bjn_Latn bod_Tibt bos_Latn bug_Latn bul_Cyrl cat_Latn ceb_Latn ces_Latn cjk_Latn ckb_Arab
crh_Latn cym_Latn dan_Latn deu_Latn dik_Latn dyu_Latn dzo_Tibt ell_Grek eng_Latn epo_Latn est_Latn eus_Latn ewe_Latn
fao_Latn fij_Latn fin_Latn fon_Latn fra_Latn fur_Latn fuv_Latn gaz_Latn gla_Latn gle_Latn glg_Latn grn_Latn guj_Gujr
hat_Latn hau_Latn heb_Hebr hin_Deva hne_Deva hrv_Latn hun_Latn hye_Armn ibo_Latn ilo_Latn ind_Latn isl_Latn ita_Latn
jav_Latn jpn_Jpan kab_Latn kac_Latn kam_Latn kan_Knda kas_Arab kas_Deva kat_Geor kaz_Cyrl kbp_Latn kea_Latn khk_Cyrl
khm_Khmr kik_Latn kin_Latn kir_Cyrl kmb_Latn kmr_Latn knc_Arab knc_Latn kon_Latn kor_Hang lao_Laoo lij_Latn lim_Latn
lin_Latn lit_Latn lmo_Latn ltg_Latn ltz_Latn lua_Latn lug_Latn luo_Latn lus_Latn lvs_Latn mag_Deva mai_Deva mal_Mlym
mar_Deva min_Arab min_Latn mkd_Cyrl mlt_Latn mni_Beng mos_Latn mri_Latn mya_Mymr nld_Latn nno_Latn nob_Latn npi_Deva
nso_Latn nus_Latn nya_Latn oci_Latn ory_Orya pag_Latn pan_Guru pap_Latn pbt_Arab pes_Arab plt_Latn pol_Latn por_Latn
prs_Arab quy_Latn ron_Latn run_Latn rus_Cyrl sag_Latn san_Deva sat_Olck scn_Latn shn_Mymr sin_Sinh slk_Latn slv_Latn
smo_Latn sna_Latn snd_Arab som_Latn sot_Latn spa_Latn srd_Latn srp_Cyrl ssw_Latn sun_Latn swe_Latn swh_Latn szl_Latn
tam_Taml taq_Latn taq_Tfng tat_Cyrl tel_Telu tgk_Cyrl tgl_Latn tha_Thai tir_Ethi tpi_Latn tsn_Latn tso_Latn tuk_Latn
tum_Latn tur_Latn twi_Latn tzm_Tfng uig_Arab ukr_Cyrl umb_Latn urd_Arab uzn_Latn vec_Latn vie_Latn war_Latn wol_Latn
xho_Latn ydd_Hebr yor_Latn yue_Hant zho_Hans zho_Hant zsm_Latn zul_Latn
""".split()  # noqa: SIM905


def test_the_codes_of_a_public_test_set_are_known_with_their_scripts() -> None:
    scripts = {"Latn": "Latin", "Arab": "Arabic", "Cyrl": "Cyrillic", "Deva": "Devanagari", "Tfng": "Tifinagh"}
    assert unknown_code(FLORES) is None and len(FLORES) == 203
    for code in FLORES:
        first, tag = code.split("_")
        assert language(code).scripts[0] == scripts.get(tag, language(first).scripts[0]), code


def test_names_of_columns_are_languages() -> None:
    codes = {"English": "en", "FR-fr": "fr", "deu": "de", "Français": "fr", "中文": "zh", '\ufeff"Greek"': "el"}
    codes |= {"South Azerbaijani": "azb", "xx": None, "Oui": None, "": None}
    assert {name: code_of_name(name) for name in codes} == codes


JAPANESE = (
    ("私は昨日学校へ行きました。", "猫が窓から外を見ている。"),
    ("私は昨日大学へ行きました。", "猫が窓から外を見ている。"),
)


def score_japanese(folder: Path, capsys: pytest.CaptureFixture[str], lang: str = "ja") -> str:
    for name, lines in zip(("ref", "hyp"), JAPANESE, strict=True):
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(folder / name) for name in ("hyp", "hyp", "ref")]
    assert main(["score", "--pairs", *files, "--target-lang", lang, "--metrics", "bleu"]) == 0
    return capsys.readouterr().out


@pytest.fixture
def fresh() -> Iterator[None]:
    """Look for the packages anew, before and after the test."""
    forget = (cached_metric, languages._has_mecab)
    for one in forget:
        one.cache_clear()
    yield
    for one in forget:
        one.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_japanese_words_are_counted_by_mecab(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("MeCab", reason="needs `pip install sacrebleu[ja]`")
    pytest.importorskip("ipadic", reason="needs `pip install sacrebleu[ja]`")
    wanted = BLEU(tokenize="ja-mecab").corpus_score(list(JAPANESE[1]), [list(JAPANESE[0])]).score
    for lang in ("ja", "jpn"):
        said = score_japanese(tmp_path, capsys, lang)
        assert f"BLEU {wanted:.2f} " in said and "|tok:ja-mecab-" in said
    assert language("ja-Latn").bleu_tokenization == "13a"


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("there", ["MeCab", "MeCab ipadic"])
def test_japanese_is_counted_by_characters_where_mecab_cannot_be_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], there: str
) -> None:
    for name in there.split():  # installed, but the library that it loads is missing
        monkeypatch.delitem(sys.modules, name, raising=False)
        (tmp_path / "broken" / name).mkdir(parents=True)
        (tmp_path / "broken" / name / "__init__.py").write_text("raise ImportError('libmecab.so.2: cannot open')\n")
    monkeypatch.syspath_prepend(tmp_path / "broken")
    wanted = BLEU(tokenize="char").corpus_score(list(JAPANESE[1]), [list(JAPANESE[0])]).score
    said = score_japanese(tmp_path, capsys)
    assert f"BLEU {wanted:.2f} " in said and "|tok:char|" in said


def test_what_is_unknown_says_what_follows() -> None:
    assert not language("qaa").is_known and language("qaa").base == "qaa"
    what, remedy = unknown_code(["en", "qaa"]) or ("", "")
    assert "ja if jp is the country; zh if cn is" in (unknown_code(["jp", "cn"]) or ("", ""))[1]
    assert "'qaa'" in what and "'en'" not in what and "BLEU" in what and "ISO 639" in remedy


def test_scripts_without_spaces_are_seen_in_the_text() -> None:
    assert spaceless_script("私はPythonを使います。とても便利です") == "Japanese"
    assert spaceless_script("ฉันพูดภาษาไทยได้") == "Thai"
    assert spaceless_script("Python 3 是 a programming language") is None
    assert spaceless_script("한국어를 말합니다") is None and spaceless_script("") is None


@pytest.mark.slow
def test_no_letter_is_of_two_scripts() -> None:
    every = [re.compile(f"[{ranges}]") for ranges in SCRIPTS.values()]
    letters = (chr(code) for code in (*range(0xD800), *range(0xE000, 0x30000)))
    assert [one for one in letters if sum(bool(script.match(one)) for script in every) > 1] == []
