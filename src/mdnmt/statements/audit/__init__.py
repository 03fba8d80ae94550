"""The papers' own arithmetic and consistency, recomputed from the numbers that they print."""
