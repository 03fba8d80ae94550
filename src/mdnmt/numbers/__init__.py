"""One tidy table of all numbers of a study."""
