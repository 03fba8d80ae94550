"""Make a workspace: a folder for studies, methods and text of your own, which uses the installed workflow."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument("folder", type=Path, metavar="NAME", help="a folder that does not exist yet")


def run(args: argparse.Namespace) -> None:
    """Write the files, and say what comes next."""
    from mdnmt.machine import require_plain_path
    from mdnmt.operations.new_workspace import new_workspace, workspace_files

    require_plain_path(args.folder)
    new_workspace(args.folder)
    for name in sorted(workspace_files()):
        print(args.folder / name)
    print(f"\nNext: cd {args.folder}, then `mdnmt init FOLDER...` for your own text, or `mdnmt demo`")
