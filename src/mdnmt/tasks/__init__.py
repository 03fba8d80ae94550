"""Task data: clean, split, segment and binarise the text of a task."""
