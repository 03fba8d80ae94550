"""Corpora: fetch, verify, and read parallel text."""
