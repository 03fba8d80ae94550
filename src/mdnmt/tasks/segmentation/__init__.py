"""From words to tokens and numbers: BPE, vocabulary, arrays."""
