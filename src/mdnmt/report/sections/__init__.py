"""The sections of the page: data read from JSON and prepared for the templates here."""
