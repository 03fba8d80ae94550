"""A certificate: a folder with a study's bundle and everything else a reviewer needs, checked by `mdnmt verify`.

`sums.json` lists the sha256 of every file except those that a human completes. An optional `signature.sig` signs it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mdnmt import fsio, provenance
from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.errors import ConfigError, DataError, MdnmtError
from mdnmt.exchange.bundle import MANIFEST, RUNS, SIGNATURE, STUDIES, Bundle
from mdnmt.exchange.evidence import unpacked
from mdnmt.exchange.pack_study import pack_study
from mdnmt.exchange.signature import sign
from mdnmt.exchange.verify import Finding, verify
from mdnmt.extras.certify import documents
from mdnmt.extras.certify.study_facts import read_facts
from mdnmt.fingerprint import sha256_file
from mdnmt.studies.study import Study
from mdnmt.workspace import PACKAGED, SNAKEFILE, config_file

BUNDLE, SBOM, VERIFICATION = "bundle", "environment/sbom.json", "verification.txt"
# Older certificates also had an RO-Crate.
COMPLETED_BY_HAND = {documents.APPENDIX, documents.CODECHECK, "ro-crate-metadata.json"}


def require_sources(study: str, out: Path, sbom: Path, bundle: Path | None) -> None:
    """Check that all parts of a certificate exist, before anything is packed.

    Raises:
        ConfigError: a part is missing; the message says what makes it.
    """
    if out.exists():
        raise ConfigError(f"{out}: exists already; expected the name of a new folder")
    try:
        listed = json.loads(sbom.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{sbom}: no such file; `make sbom` writes it") from None
    except ValueError:
        listed = None
    if not isinstance(listed, dict) or listed.get("bomFormat") != "CycloneDX" or not listed.get("components"):
        raise ConfigError(f"{sbom}: expected an SBOM in CycloneDX JSON; `make sbom` writes it")
    if bundle is not None and f"{STUDIES}/{study}" not in Bundle(bundle).archives:
        raise ConfigError(f"{bundle}: has no study {study}; `mdnmt bundle {study} --bundle ...` adds it")


def certify(
    study: Study, out: Path, *, config: Path, results: Path, sbom: Path, bundle: Path | None, key: Path | None
) -> list[Finding]:
    """Write the certificate of a study; on failure nothing is left behind.

    Args:
        study: the study.
        out: a folder that does not exist yet.
        config: the folder of configuration.
        results: the folder of results.
        sbom: a list of the installed packages in CycloneDX JSON.
        bundle: a bundle that has the study; None: pack one from the results.
        key: an SSH key that signs the certificate; None: it stays unsigned.

    Returns:
        What `mdnmt verify` says about its bundle.

    Raises:
        MdnmtError: a file is missing or was altered, or the bundle does not verify.
    """
    with partial_folder(out) as temporary, ExitStack() as stack:
        part = temporary / out.name
        part.mkdir()
        if bundle is not None:
            shutil.copytree(bundle, part / BUNDLE)
        packed = Bundle(part.resolve() / BUNDLE)
        if bundle is None:
            pack_study(study, results, packed)
        root = stack.enter_context(unpacked(packed, (RUNS, STUDIES)))
        facts = read_facts(study, packed, root)
        findings = list(verify(packed, results.resolve()))
        if wrong := [one for one in findings if one.status == "differs"]:
            raise DataError(
                f"{len(wrong)} of {len(findings)} checks of the bundle differ; nothing was written; the first: "
                f"{wrong[0].what}: {wrong[0].detail}"
            )
        shutil.copy(SNAKEFILE, part)
        shutil.copy(PACKAGED / "LICENSE", part)
        shutil.copytree(PACKAGED / "workflow" / "rules", part / "workflow" / "rules")
        shutil.copytree(PACKAGED / "envs" / "lock", part / "environment" / "lock")
        shutil.copy(sbom, part / SBOM)
        (part / "config").mkdir()
        shutil.copy(config_file(config, f"studies/{study.name}.yaml"), part / "config")
        made = provenance.collect()
        fsio.write_text(part / "numbers.csv", facts.numbers)
        fsio.write_text(part / "verdicts.csv", facts.verdict_table())
        fsio.write_lines(part / VERIFICATION, [one.line() for one in findings])
        fsio.write_text(part / documents.CODECHECK, documents.write_codecheck(facts))
        fsio.write_text(part / documents.COMMANDS, documents.write_commands(facts, made["commit"]))
        size = sum(path.stat().st_size for path in part.rglob("*") if path.is_file())
        fsio.write_text(part / documents.APPENDIX, documents.write_appendix(facts, made, findings, size))
        names = {path.relative_to(part).as_posix() for path in part.rglob("*") if path.is_file()}
        fsio.write_sums(part, sorted(names - COMPLETED_BY_HAND))
        if key is not None:
            sign(part / fsio.SUMS, key)
        part.rename(out)
    fsio.sync_directory(out.parent)
    return findings


def verify_certificate(folder: Path, results: Path, processes: int = 1) -> Iterator[Finding]:
    """Yield a finding for each file of a certificate, then the findings about its bundle.

    Args:
        folder: folder of the certificate; an absolute path.
        results: where tasks may be built; an absolute path.
        processes: how many check the bundle at the same time.
    """
    try:
        sums: dict[str, Any] = fsio.read_json(folder / fsio.SUMS)
    except (MdnmtError, FileNotFoundError) as error:
        yield Finding(fsio.SUMS, "differs", str(error))
        sums = {}
    there = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted({*sums, *there} - {fsio.SUMS, SIGNATURE} - COMPLETED_BY_HAND):
        if name not in there:
            yield Finding(name, "differs", f"missing, but {fsio.SUMS} lists it")
        elif name not in sums:
            yield Finding(name, "differs", f"is not listed in {fsio.SUMS}")
        elif sha256_file(there[name]) != sums[name]:
            yield Finding(name, "differs", f"was altered, its sha256 is not that of {fsio.SUMS}")
        else:
            yield Finding(name, "ok")
    if (folder / BUNDLE / MANIFEST).is_file():
        for one in verify(Bundle(folder / BUNDLE), results, processes):
            yield Finding(f"{BUNDLE}/{one.what}", one.status, one.detail)
    else:
        yield Finding(f"{BUNDLE}/{MANIFEST}", "differs", "missing: the certificate has no bundle")
