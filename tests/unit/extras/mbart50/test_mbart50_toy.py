"""The toy in place of mBART-50 is of its classes, small, always the same, and planned without being there."""

from __future__ import annotations

from pathlib import Path

from mdnmt.extras.mbart50.config import Mbart50Config
from mdnmt.extras.mbart50.data import MbartTokenizer
from mdnmt.extras.mbart50.weight_files import files_of, plan
from mdnmt.extras.toy_weights import make_toy
from mdnmt.fingerprint import sha256_file


def test_a_toy_is_small_and_always_the_same(tmp_path: Path) -> None:
    made = {}
    for name in ("one", "two"):
        make_toy(tmp_path / name)
        made[name] = [sha256_file(path) for path in files_of(tmp_path / name)]
        assert sum(path.stat().st_size for path in (tmp_path / name).iterdir()) < 1_000_000
    assert made["one"] == made["two"]
    make_toy(tmp_path / "other", seed=2)
    other = [sha256_file(path) for path in files_of(tmp_path / "other")]
    assert other[:2] == made["one"][:2] and other[2] != made["one"][2]
    tokenizer = MbartTokenizer(tmp_path / "one", "en_XX", "fr_XX")
    (line,) = tokenizer.encode(["some words"], "en_XX")
    assert len(line) > 3


def test_a_toy_is_planned_before_it_is_made(tmp_path: Path) -> None:
    config = Mbart50Config(weights="toy/mbart50")
    assert plan(config, tmp_path, source_lang="en", target_lang="fr") == (config, None)
    _, missing = plan(Mbart50Config(), tmp_path, source_lang="en", target_lang="fr")
    assert missing is not None and "hf download" in missing
    _, missing = plan(config, tmp_path, source_lang="en", target_lang="sv")
    assert missing is not None and "another language pair" in missing
