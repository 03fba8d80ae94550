"""File formats, read with bounds: archives, XML, JSON, gettext, lines of text."""
