"""The report: one page, and tables in every format."""
