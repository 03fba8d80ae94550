"""Pack a study's evidence for reviewers: an RO-Crate with its bundle, environment, commands and verdicts."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study with finished runs")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a folder that does not exist yet")
    parser.add_argument("--bundle", type=Path, help="a bundle that has the study (default: pack its finished runs)")
    parser.add_argument("--sbom", type=Path, default=Path("sbom.json"), help="from make sbom (default: %(default)s)")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this Ed25519 private key (PEM)")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Write the certificate."""
    from collections import Counter

    from mdnmt.exchange.certificate import Sources, certify, require_sources
    from mdnmt.exchange.certificate_documents import APPENDIX, TO_ADD
    from mdnmt.exchange.signature import read_private_key
    from mdnmt.studies.resolve import resolve

    key = read_private_key(args.sign) if args.sign else None
    sources = Sources(Path(), args.config_folder, args.results, args.sbom, args.bundle, key)
    require_sources(sources, args.study, args.out)
    study = resolve(args.config_folder, args.study, args.corpora)
    counts = Counter(one.status for one in certify(study, sources, args.out))
    print(f"{args.out}: {', '.join(f'{number} {status}' for status, number in sorted(counts.items()))}")
    print(f"{args.out / APPENDIX}: lists the {len(TO_ADD)} things that a human must add")
