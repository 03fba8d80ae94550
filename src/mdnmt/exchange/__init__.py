"""Evidence of finished runs, in a form that can be committed and checked without training."""
