"""The results of a study as pandas DataFrames, for notebooks and scripts."""

from mdnmt.numbers.table import load, load_published

__all__ = ["load", "load_published"]
