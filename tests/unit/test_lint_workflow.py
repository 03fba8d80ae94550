"""Findings of Snakemake's linter are kept, except the one that this project decided against."""

from lint_workflow import ONE_ENVIRONMENT, findings

TEXT = f"""Using a profile.
Lints for rule fetch (line 3, x.smk):
    * {ONE_ENVIRONMENT}:
      Some words.

Lints for rule numbers (line 2, y.smk):
    * Param folder is a prefix of input or output file but hardcoded:
      Other words.
    * {ONE_ENVIRONMENT}:
      Some words.
"""


def test_all_but_one_kind_is_kept() -> None:
    (found,) = findings(TEXT)
    assert found.startswith("Lints for rule numbers (line 2, y.smk): Param folder is a prefix")
    assert findings("Congratulations, your workflow is in a good condition!\n") == []
