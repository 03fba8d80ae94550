"""Splits of a task: sampling, held-out sentences, leakage into the training text."""
