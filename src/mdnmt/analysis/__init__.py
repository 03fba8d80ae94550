"""Analyse finished runs: their internals, their word choice, and their cost."""
