"""Exchange finished runs, and their evidence in a form that can be committed and checked without training."""
