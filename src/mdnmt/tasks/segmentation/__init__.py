"""From words to BPE pieces and token ids: codes, vocabulary, arrays."""
