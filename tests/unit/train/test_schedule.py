"""Learning rates by hand."""

from __future__ import annotations

import pytest

from mdnmt.config.training import Training
from mdnmt.train.schedule import inverse_sqrt


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        (1, 1e-7 + (5e-4 - 1e-7) / 4000),
        (2000, 1e-7 + (5e-4 - 1e-7) / 2),
        (4000, 5e-4),
        (4001, 5e-4 * (4000 / 4001) ** 0.5),
        (16000, 2.5e-4),
        (10**16, 1e-9),  # the least
    ],
)
def test_the_recipe_of_jiang(update: int, expected: float) -> None:
    assert inverse_sqrt(update, Training()) == pytest.approx(expected, rel=1e-12)


def test_without_warm_up_it_starts_at_the_peak() -> None:
    recipe = Training(warmup_updates=0, learning_rate=0.1)
    assert [inverse_sqrt(update, recipe) for update in (1, 4)] == pytest.approx([0.1, 0.05])


def test_it_rises_to_the_peak_and_then_falls() -> None:
    rates = [inverse_sqrt(update, Training(warmup_updates=10)) for update in range(1, 30)]
    assert rates[:10] == sorted(rates[:10])
    assert rates[9:] == sorted(rates[9:], reverse=True)
    assert max(rates) == rates[9] == 5e-4
