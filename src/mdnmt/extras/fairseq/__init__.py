"""Import checkpoints of fairseq, and of WALDM's released code, which is built on it, as finished runs."""
