"""The one line that a user sees."""

from __future__ import annotations

from mdnmt.errors import ConfigError, DamagedTask


def test_a_name_of_any_length_makes_a_line_that_can_be_read() -> None:
    said = str(ConfigError(f"config/a.yaml: unknown key '{'x' * 10**6}'; allowed: title"))
    assert (
        len(said) <= 2000 and said.startswith("config/a.yaml: unknown key 'xxx") and said.endswith("; allowed: title")
    )
    path = "/".join(["folder"] * 100)
    assert path in str(ConfigError(f"{path}: missing"))  # a long path stays whole


def test_a_damaged_task_says_what_to_do() -> None:
    said = str(DamagedTask("results/tasks/a-01234567/codes.bpe: was altered"))
    assert said.endswith("was altered; remove the task's folder and start the same command again")
