"""Is one system better than another? Paired tests over sentences and seeds, corrected for many comparisons."""
