"""Test whether one system is better than another: paired tests over sentences and seeds, with Holm's correction."""
