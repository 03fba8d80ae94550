"""File formats, read with size limits: archives, XML, JSON, gettext, lines of text."""
