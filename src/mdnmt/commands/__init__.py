"""The verbs of the command line; each module offers `add_arguments(parser)` and `run(args)`."""

# Sections of `mdnmt --help`; the workflow calls every verb that is in none of them.
SECTIONS = {
    "Before a study": ("init", "check-plugin", "plan", "doctor", "fetch"),
    "Making a study": ("run", "exhibit", "campaign", "watch", "unlock"),
    "With its results": ("translate", "serve", "export", "import", "compare", "rates", "retrain", "clean"),
    "Passing results on": ("bundle", "verify", "certify", "push", "pull"),
    "For developers of this project": ("audit", "pin", "recipes", "schema"),
}
OF_THE_WORKFLOW = "Called by the workflow"
