"""The training engine: batches, updates, validation, and state that survives anything."""
