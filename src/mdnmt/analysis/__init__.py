"""Finished runs looked into: what they do inside, and what they cost."""
