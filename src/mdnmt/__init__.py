"""Reproduce multi-domain neural machine translation papers, from corpus download to the finished page."""

__version__ = "0.1.0"
