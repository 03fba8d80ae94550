"""Tables and figures: what each kind selects, computes and draws."""
