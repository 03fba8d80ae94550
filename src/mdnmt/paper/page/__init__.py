"""What stands on the page, part by part: read from JSON, counted, and made ready to be drawn by the templates here."""
