"""Tables, figures and the report: from finished numbers to what a person reads."""
