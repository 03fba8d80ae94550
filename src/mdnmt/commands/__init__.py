"""The verbs of the command line; each module offers `add_arguments(parser)` and `run(args)`."""

# Sections of `mdnmt --help`, before those of plug-ins; the workflow calls every verb that is in none of them.
_STUDY = "demo new init doctor plan run watch exhibit compare translate retrain bundle verify clean"
_MORE = "explain check-plugin fetch campaign unlock rates"
SECTIONS = {
    "A study, from your text to its page": _STUDY.split(),
    "More": _MORE.split(),
    "For developers of this project": ["audit", "pin", "recipes", "schema"],
}
OF_THE_WORKFLOW = "Called by the workflow"
