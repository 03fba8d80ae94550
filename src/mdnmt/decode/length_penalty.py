"""Length penalty: divides a hypothesis's log-probability, so that short hypotheses are not preferred."""

from __future__ import annotations

from mdnmt.config.decoding import Decoding


def length_penalty(length: int, config: Decoding) -> float:
    """Return the length penalty of a hypothesis of `length` tokens, </s> included; alpha is `config.length_penalty`.

    `power` is length ** alpha, as in fairseq. `gnmt` is ((5 + length) / (5 + 1)) ** alpha (Wu et al. 2016, eq. 14), as
    in tensor2tensor.
    """
    base = (5 + length) / 6 if config.length_penalty_form == "gnmt" else length
    return float(base**config.length_penalty)
