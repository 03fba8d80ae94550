"""Score translations: BLEU, chrF, paired tests, seeds."""
