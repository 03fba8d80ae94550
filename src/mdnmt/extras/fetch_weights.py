"""Download pretrained weights from the Hugging Face hub, and verify them; or list those that you put there."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb."""
    parser.add_argument("weights", metavar="OWNER/NAME", help="the model's name on huggingface.co, or toy/NAME")
    parser.add_argument(
        "--revision", metavar="COMMIT", help="download this commit; without it, list the folder's files"
    )
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--config", type=Path, default="config", metavar="DIR", help="the folder of the locks")


def run(args: argparse.Namespace) -> None:
    """Get the files, and write their list."""
    from mdnmt.config.loader import validate_model
    from mdnmt.extras.pretrained.config import PretrainedConfig
    from mdnmt.extras.pretrained.hub import download, list_files
    from mdnmt.extras.pretrained.toy import make_toy
    from mdnmt.extras.pretrained.weights import folder_of
    from mdnmt.paths import TOY

    given = {"weights": args.weights, "revision": args.revision}
    config = validate_model(given, PretrainedConfig, "fetch-weights")
    folder = folder_of(config, args.pretrained)
    if config.weights.startswith(TOY):
        make_toy(config.weights.removeprefix(TOY), folder)
    elif config.revision is not None:
        download(config.weights, config.revision, folder, args.config)
    languages = list_files(folder)
    print(f"{folder}: verified by sha256, {len(languages)} languages", flush=True)
