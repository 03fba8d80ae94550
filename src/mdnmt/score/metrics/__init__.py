"""Metrics of translations: BLEU, chrF, TER, COMET, perplexity and accuracy."""
