"""A configuration of the toy task."""

from __future__ import annotations

from pathlib import Path

DOMAINS = ("economy", "law")


def set_corpus(configuration: Path, name: str, *, redistributable: bool) -> None:
    """Write a corpus with a licence of its own."""
    (configuration / "corpora" / f"{name}.yaml").write_text(
        f"title: Text {name}\nlicence: {'CC0' if redistributable else 'CC BY-NC-ND 4.0'}\n"
        f"redistributable: {str(redistributable).lower()}\nlanguages: [en, fr]\n"
        "source: {provider: manual, file: a.zip, page: 'https://example.org', steps: none, members: ['*']}\n"
        "reader: {name: plain}\n",
        encoding="utf-8",
    )
