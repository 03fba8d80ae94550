"""Get the files of a corpus: over HTTP, by a package client, or by hand."""
