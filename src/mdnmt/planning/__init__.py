"""What a study will cost, before anything runs: which runs are there, which are missing, hours and disk."""
