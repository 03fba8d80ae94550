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
    from mdnmt.extras.certify.certificate import certify, require_sources
    from mdnmt.extras.certify.documents import APPENDIX, TO_ADD
    from mdnmt.studies.resolve import resolve

    if args.sign:
        name_of_key(args.sign)
    require_sources(args.study, args.out, args.sbom, args.bundle)
    study = resolve(args.config_folder, args.study, args.corpora)
    findings = certify(
        study,
        args.out,
        config=args.config_folder,
        results=args.results,
        sbom=args.sbom,
        bundle=args.bundle,
        key=args.sign,
    )
    counts = Counter(one.status for one in findings)
    print(f"{args.out}: {', '.join(f'{number} {status}' for status, number in sorted(counts.items()))}")
    print(f"{args.out / APPENDIX}: lists the {len(TO_ADD)} things that a human must add")


def manifest_in(folder: Path) -> Path | None:
    """Return the manifest of a certificate; None for a folder that is none."""
    from mdnmt import fsio
    from mdnmt.exchange.bundle import MANIFEST
    from mdnmt.extras.certify.documents import CODECHECK

    is_bundle = (folder / MANIFEST).is_file()
    return folder / fsio.SUMS if (folder / CODECHECK).is_file() and not is_bundle else None


def verify(folder: Path, results: Path, processes: int) -> Iterable[Finding]:
    """Yield what `mdnmt verify` says about a certificate."""
    from mdnmt.extras.certify.certificate import verify_certificate

    return verify_certificate(folder, results, processes)
