"""The training engine: batches, updates, validation and resumable state."""
