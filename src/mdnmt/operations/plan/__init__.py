"""What a study will cost, before anything runs: which runs exist, which are missing, hours and disk."""
