"""The report: one HTML page, and tables in every format."""
