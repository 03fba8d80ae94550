"""Pack a study's evidence for reviewers: its bundle, environment, commands and verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mdnmt.exchange.verify import Finding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("study", help="a study with finished runs")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="a folder that does not exist yet")
    parser.add_argument("--bundle", type=Path, help="a bundle that has the study (default: pack its finished runs)")
    parser.add_argument("--sbom", type=Path, default=Path("sbom.json"), help="from make sbom (default: %(default)s)")
    parser.add_argument("--sign", type=Path, metavar="KEY", help="sign it with this SSH key")
    parser.add_argument("--config-folder", type=Path, default=Path("config"), help="default: %(default)s")
    parser.add_argument("--results", type=Path, default=Path("results"), help="default: %(default)s")
    parser.add_argument("--corpora", type=Path, default=Path("resources/corpora"), help="default: %(default)s")


def run(args: argparse.Namespace) -> None:
    """Write the certificate."""
    from collections import Counter

    from mdnmt.exchange.signature import name_of_key
    from mdnmt.extras.certify.certificate import Sources, certify, require_sources
    from mdnmt.extras.certify.documents import APPENDIX, TO_ADD
    from mdnmt.studies.resolve import resolve

    if args.sign:
        name_of_key(args.sign)
    sources = Sources(args.config_folder, args.results, args.sbom, args.bundle, args.sign)
    require_sources(sources, args.study, args.out)
    study = resolve(args.config_folder, args.study, args.corpora)
    counts = Counter(one.status for one in certify(study, sources, args.out))
    print(f"{args.out}: {', '.join(f'{number} {status}' for status, number in sorted(counts.items()))}")
    print(f"{args.out / APPENDIX}: lists the {len(TO_ADD)} things that a human must add")


def manifest_in(folder: Path) -> Path | None:
    """Return the manifest of a certificate; None for a folder that is none."""
    from mdnmt import fsio
    from mdnmt.extras.certify.certificate import is_certificate

    return folder / fsio.SUMS if is_certificate(folder) else None


def verify(folder: Path, results: Path, processes: int) -> Iterable[Finding]:
    """Yield what `mdnmt verify` says about a certificate."""
    from mdnmt.extras.certify.certificate import verify_certificate

    return verify_certificate(folder, results, processes)
