"""Metrics: BLEU, chrF, TER and COMET of translations, perplexity and accuracy of forced decoding."""
