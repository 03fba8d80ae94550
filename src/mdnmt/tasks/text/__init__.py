"""Sentence pairs as text: normalise, tokenise, clean, compare and store them."""
