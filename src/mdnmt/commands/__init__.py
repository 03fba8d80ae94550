"""The verbs of the command line; each module offers `add_arguments(parser)` and `run(args)`."""

# Sections of `mdnmt --help`; the workflow calls every verb that is in none of them.
SECTIONS = {
    "Before a study": ("plan", "doctor", "fetch"),
    "While it runs": ("watch", "unlock"),
    "With its results": ("translate", "compare", "clean"),
    "For developers of this project": ("audit", "pin", "recipes", "schema"),
}
OF_THE_WORKFLOW = "Called by the workflow"
