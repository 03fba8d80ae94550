"""The time that a regular expression takes grows with the text alone, counted in steps and not in seconds."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from regex_steps import Expression, expressions, literals, steps

from mdnmt.corpora.formats.lines import LINE_BYTES_MAX

SOURCE = Path(__file__).parents[2] / "src"
KINDS = ["a", "@", "a@", ".", "a.", "a..", " ", "a ", "://", "a://", "@ ", "a ’ ", "’", "中", "中 ", "-a", "@@a", "0,"]
ALPHABET = ["a", "A", "0", " ", "\n"]
LENGTH = 60  # characters; and twice as many
NOT_OF_USERS = {"mdnmt.operations.progress.failures": "reads docs/troubleshooting.md"}


def awkward(expression: Expression) -> list[str]:
    """Return text that is repeated: known kinds, and what the expression itself names, alone and in twos."""
    named = literals(expression.pattern)
    named = named[:: len(named) // 6 + 1]
    return list(dict.fromkeys([*KINDS, *named, *ALPHABET, *map("".join, product(named, [*named, *ALPHABET]))]))


def counted(expression: Expression, kind: str, length: int) -> int:
    return steps(expression.pattern, (kind * length)[:length], anchored=expression.anchored)


def test_the_matcher_sees_what_is_quadratic() -> None:
    for pattern in (r"\w+://\S+|\S+@\S+|\b\w+(?:\.\w+)+", r"a+b", r"a+?b"):
        old = Expression("here", re.compile(pattern), anchored=False)
        assert counted(old, "a", 24) > 3.3 * counted(old, "a", 12)


@pytest.mark.slow
def test_twice_the_text_is_twice_the_work_for_every_expression() -> None:
    found = [one for one in expressions(SOURCE) if one.place.partition(":")[0] not in NOT_OF_USERS]
    assert len(found) > 90
    offenders = []
    for expression in found:
        work = {kind: counted(expression, kind, LENGTH) for kind in awkward(expression)}
        twice = {kind: counted(expression, kind, 2 * LENGTH) for kind in work}
        grown = [kind for kind in work if twice[kind] > 2.3 * work[kind] + 20]
        offenders += [f"{expression.place}: {kind!r}: {work[kind]} steps, then {twice[kind]}" for kind in grown]
        if not grown and isinstance(expression.pattern.pattern, str):
            # What costs most, at the length of the longest line: Python's own matcher comes to an end.
            kind = max(work, key=work.__getitem__)
            text = kind * (LINE_BYTES_MAX // len(kind.encode()))
            if expression.anchored:
                expression.pattern.match(text)
            else:
                expression.pattern.sub("", text)
    assert not offenders, "\n".join(offenders)
