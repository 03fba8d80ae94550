"""Score translations, and test differences between systems for significance over sentences and seeds."""
