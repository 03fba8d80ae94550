"""The precision of translation is part of where translations stand."""

from __future__ import annotations

import pytest

from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import validate_model
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import fingerprint


def test_another_precision_has_another_address() -> None:
    plain, other = (Decoding(precision=precision).model_dump() for precision in ("fp32", "int8"))
    assert Decoding().model_dump() == plain
    assert fingerprint("decode", plain) != fingerprint("decode", other)


def test_a_precision_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="precision"):
        validate_model({"precision": "int4"}, Decoding, "options")
