"""Beam search and what stands around it."""
