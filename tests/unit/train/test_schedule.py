"""Learning rates by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from mdnmt.config.method import load_method
from mdnmt.config.training import Training
from mdnmt.train.schedule import learning_rate

CONFIG = Path(__file__).resolve().parents[3] / "config"


def rates(recipe: Training, updates: Iterable[int]) -> dict[int, float]:
    return {update: learning_rate(update, recipe) for update in updates}


def test_the_recipe_of_jiang() -> None:
    expected = {
        1: 1e-7 + (5e-4 - 1e-7) / 4000,
        2000: 1e-7 + (5e-4 - 1e-7) / 2,
        4000: 5e-4,
        4001: 5e-4 * (4000 / 4001) ** 0.5,
        16000: 2.5e-4,
        10**16: 1e-9,  # the least
    }
    assert rates(Training(), expected) == pytest.approx(expected, rel=1e-12)


def test_without_warm_up_it_starts_at_the_peak() -> None:
    recipe = Training(warmup_updates=0, learning_rate=0.1)
    assert [learning_rate(update, recipe) for update in (1, 4)] == pytest.approx([0.1, 0.05])


def test_the_recipe_of_mbart() -> None:
    recipe = Training.model_validate(load_method(CONFIG, "mbart50-finetuned").training)
    expected = {1: 3e-5 / 2500, 1250: 1.5e-5, 2500: 3e-5, 2501: 3e-5 * 37499 / 37500}
    expected |= {21250: 1.5e-5, 39999: 3e-5 / 37500, 40000: 0.0}  # half-way from the peak to the end, and the end
    assert rates(recipe, expected) == pytest.approx(expected, rel=1e-12)
    assert recipe.max_tokens * recipe.accumulate_batches == 2048 and recipe.adam_eps == 1e-6


def test_a_straight_line_without_room_behind_the_warm_up() -> None:
    recipe = Training(schedule="polynomial", warmup_updates=5, max_updates=5, warmup_init_learning_rate=0.0)
    assert [learning_rate(update, recipe) for update in (4, 5)] == pytest.approx([4e-4, 1e-9])


def test_constant_and_then_a_straight_line_to_zero() -> None:
    recipe = Training(
        schedule="constant", decay_updates=4, max_updates=20,
        warmup_updates=4, warmup_init_learning_rate=0.0, learning_rate=1,
    )  # fmt: skip
    expected = {1: 0.25, 2: 0.5, 4: 1.0, 5: 1.0, 16: 1.0, 17: 0.75, 18: 0.5, 19: 0.25, 20: 1e-9}
    assert rates(recipe, expected) == pytest.approx(expected, rel=1e-12)
    assert learning_rate(19, recipe.model_copy(update={"decay_updates": None})) == 1.0


@pytest.mark.parametrize(
    "wrong", [{"decay_updates": 3}, {"schedule": "constant", "decay_updates": 9, "max_updates": 8}]
)
def test_a_decay_belongs_to_a_constant_rate_and_into_the_run(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="decay_updates"):
        Training.model_validate(wrong)
