"""The verbs of the command line; each module offers `add_arguments(parser)` and `run(args)`."""
