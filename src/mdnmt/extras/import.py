"""Import another toolkit's checkpoint as a finished run."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("toolkit", choices=("fairseq",), help="which toolkit saved the checkpoint")
    parser.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="for example checkpoint_best.pt")
    parser.add_argument("--dict-src", type=Path, required=True, metavar="FILE", help="dict.<source language>.txt")
    parser.add_argument("--dict-tgt", type=Path, required=True, metavar="FILE", help="dict.<target language>.txt")
    parser.add_argument(
        "--bpe-codes", nargs="+", default=[], metavar="[NAME=]FILE",
        help="codes of subword-nmt: one file, or NAME=FILE for each language or domain (default: words stay whole)",
    )  # fmt: skip
    parser.add_argument(
        "--tokenizer", choices=("moses", "none", "reversible", "character", "jieba"), default="moses",
        help="none: text is tokenised already (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--domains", nargs="+", default=[], metavar="NAME", help="WALDM: in the order of its labels")
    parser.add_argument("--source-lang", metavar="LANG", help="default: from the checkpoint or the dictionary")
    parser.add_argument("--target-lang", metavar="LANG", help="default: from the checkpoint or the dictionary")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="folder to write; new or empty")


def run(args: argparse.Namespace) -> None:
    """Write the folder and print its name."""
    from mdnmt.errors import ConfigError
    from mdnmt.extras.fairseq.import_run import import_run

    codes: dict[str, Path] = {}
    for given in args.bpe_codes:
        name, _, file = given.rpartition("=")
        if name in codes:
            raise ConfigError(f"--bpe-codes: found two files for {name or 'everything'}; expected one")
        codes[name] = Path(file)
    import_run(
        args.checkpoint,
        (args.dict_src, args.dict_tgt),
        args.out,
        bpe_codes=codes,
        tokenizer=args.tokenizer,
        domains=args.domains,
        languages=(args.source_lang, args.target_lang),
    )
    print(f"{args.out}: written; mdnmt translate, export and serve accept it as a run")
