"""From folders of text to a task and a study: what `mdnmt init` finds, chooses and writes."""
