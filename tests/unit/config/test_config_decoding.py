"""The precision of translation: a key that came late and must move no address."""

from __future__ import annotations

import pytest

from mdnmt.config.decoding import Decoding
from mdnmt.config.loader import validate_model
from mdnmt.errors import ConfigError
from mdnmt.fingerprint import STAGE_VERSIONS, fingerprint


def test_the_usual_precision_changes_no_address_and_another_one_does() -> None:
    plain, said, other = Decoding(), Decoding(precision="fp32"), Decoding(precision="int8")
    assert plain.model_dump(mode="json") == said.model_dump(mode="json")
    assert "precision" not in plain.model_dump_json() and other.model_dump()["precision"] == "int8"
    if STAGE_VERSIONS["decode"] == 2:  # as it was before there was a precision
        assert fingerprint("decode", plain.model_dump(mode="json")) == "2b16b2cd"
    assert fingerprint("decode", plain.model_dump()) != fingerprint("decode", other.model_dump())


def test_a_study_may_take_back_the_precision_of_a_recipe() -> None:
    recipe, own = {"precision": "int8"}, Decoding(precision="fp32").model_dump(exclude_unset=True)
    assert Decoding.model_validate({**recipe, **own}).precision == "fp32"
    assert Decoding().model_dump(exclude_unset=True) == {}


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_what_is_written_is_read_again(precision: str) -> None:
    config = validate_model({"precision": precision}, Decoding, "options")
    assert Decoding.model_validate_json(config.model_dump_json()) == config


def test_a_precision_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="precision"):
        validate_model({"precision": "int4"}, Decoding, "options")
