"""Beam search, forced decoding and detokenisation of finished models."""
