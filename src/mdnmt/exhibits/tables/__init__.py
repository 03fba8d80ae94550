"""One file per kind of table."""
