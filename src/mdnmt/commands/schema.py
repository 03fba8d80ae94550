"""Write the JSON schemas of the configuration, for completion and checks in an editor."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("config/schema.json"),
        help="one file for all kinds; schema/<kind>.json refer to it and are written beside it (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> None:
    """Write the schemas.

    Raises:
        ConfigError: the folder is missing, for example outside of a project.
    """
    from mdnmt.config.schema import KINDS, editor_schema, json_schema
    from mdnmt.errors import ConfigError
    from mdnmt.fsio import write_json

    if not args.out.parent.exists():
        raise ConfigError(f"{args.out.parent}: no such folder; start the command in the folder that has it")
    write_json(args.out, json_schema())
    for kind in KINDS:
        write_json(args.out.parent / "schema" / f"{kind}.json", editor_schema(kind))
