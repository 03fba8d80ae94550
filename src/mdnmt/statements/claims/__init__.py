"""Decide the sentences of the papers from the tables and figures that a study has made."""
