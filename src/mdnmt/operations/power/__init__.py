"""Which claims a study can decide, with how many seeds and hours."""
