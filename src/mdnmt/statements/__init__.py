"""Statements about numbers: the claims of the papers, and the audit of their own arithmetic."""
