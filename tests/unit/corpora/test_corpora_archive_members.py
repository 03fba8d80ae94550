"""Members that are read at once have a bound, whatever their archive allows."""

from __future__ import annotations

import pytest
from reader_archives import Memory, segments

from mdnmt.config.corpus_reader import GettextMoReader, HomeassistantReader, QuranReader
from mdnmt.corpora.formats import archive_members
from mdnmt.corpora.formats.archive_members import read_whole
from mdnmt.errors import DataError


def test_a_member_is_read_up_to_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "MEMBER_BYTES_MAX", 50)
    assert read_whole(Memory({"a": b"x" * 50}), "a") == b"x" * 50
    with pytest.raises(DataError, match="memory:b: has more than 50 bytes, too many to read at once"):
        read_whole(Memory({"b": b"x" * 51}), "b")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("usr/share/locale/fr/LC_MESSAGES/a.mo", GettextMoReader(name="gettext-mo")),
        ("homeassistant/components/sun/translations/fr.json", HomeassistantReader(name="homeassistant")),
        ("fr-1/package/data.js", QuranReader(name="quran", packages={"en": "en", "fr": "fr"})),
    ],
)
def test_readers_of_such_members_keep_to_it(name: str, options: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_members, "MEMBER_BYTES_MAX", 100)
    found = {name: b"x" * 101, name.replace("fr", "en"): b"x" * 101}
    with pytest.raises(DataError, match="has more than 100 bytes"):
        list(segments(Memory(found), options, "en", "fr"))
