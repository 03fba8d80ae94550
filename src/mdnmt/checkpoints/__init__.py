"""Save, verify, load, average and retain the checkpoints of a run."""
