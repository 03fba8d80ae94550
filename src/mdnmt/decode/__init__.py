"""Translate with finished models: beam search, forced decoding and detokenisation."""
