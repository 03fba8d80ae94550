"""The Stanford segmenter for Chinese, a Java program: run once for many lines, because it starts slowly.

It is not part of the environment. Without it or Java, tasks that need it are left out with a message.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mdnmt.corpora.checksum_cache import ChecksumCache
from mdnmt.errors import ConfigError, DataError

NAME = "stanford"
PLACE = "resources/stanford-segmenter"
VARIABLE = "STANFORD_SEGMENTER"
_MODEL, _WORDS = "data/ctb.gz", "data/dict-chris6.ser.gz"
_GET = (
    f"get the zip from https://nlp.stanford.edu/software/segmenter.html and unpack it as {PLACE} "
    f"(or name its folder in the environment variable {VARIABLE})"
)


def why_missing() -> str | None:
    """Return what is missing to run the segmenter, as one line that begins with `needs`, or None."""
    folder = _folder()
    for what in (_MODEL, _WORDS):
        if not (folder / what).is_file():
            return f"needs the Stanford segmenter: {folder} has no {what}; {_GET}"
    if not _jars(folder):
        return f"needs the Stanford segmenter: {folder} has no .jar; {_GET}"
    if shutil.which("java") is None:
        return "needs the Stanford segmenter: no `java` is on the PATH to run it; install a Java runtime"
    return None


def identity(cache: ChecksumCache) -> str:
    """Return a sha256 over program, model and dictionary, because each of them changes the segmentation."""
    folder = _folder()
    parts = [cache.sha256(path) for path in (folder / _MODEL, folder / _WORDS, *_jars(folder))]
    return hashlib.sha256("".join(parts).encode("ascii")).hexdigest()


def segment(lines: Sequence[str]) -> list[str]:
    """Return lines with spaces between words; one process segments all of them.

    Raises:
        ConfigError: the segmenter or Java is missing.
        DataError: it failed (the message has its last line), or gave another number of lines.
    """
    full = [line for line in lines if line.strip()]
    if not full:
        return list(lines)
    if (reason := why_missing()) is not None:
        raise ConfigError(reason)
    with tempfile.TemporaryDirectory(prefix="mdnmt-") as folder:
        text = Path(folder, "lines.txt")
        text.write_text("".join(f"{line}\n" for line in full), encoding="utf-8")
        words = iter(_run(text))
        found = [next(words, None) if line.strip() else line for line in lines]
        rest = sum(1 for _ in words)
    cut = [line for line in found if line is not None]
    if rest or len(cut) != len(lines):
        given, made = len(full), len(full) + rest - (len(lines) - len(cut))
        raise DataError(f"the Stanford segmenter: gave {made} lines for {given}; expected one for each")
    return cut


def _run(text: Path) -> list[str]:
    folder = _folder().resolve()
    # As its own segment.sh calls it.
    command = ["java", "-mx2g", "-Dfile.encoding=UTF-8", "-cp", f"{folder}/*", "edu.stanford.nlp.ie.crf.CRFClassifier"]
    command += ["-sighanCorporaDict", str(folder / "data"), "-textFile", str(text), "-inputEncoding", "UTF-8"]
    command += ["-sighanPostProcessing", "true", "-keepAllWhitespaces", "false"]
    command += ["-loadClassifier", str(folder / _MODEL), "-serDictionary", str(folder / _WORDS)]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except OSError as error:
        raise ConfigError(f"the Stanford segmenter: java cannot be started ({error.strerror})") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2].strip()
        raise DataError(f"the Stanford segmenter: java ended with status {done.returncode}: {said or 'said nothing'}")
    try:
        return done.stdout.decode("utf-8").replace("\r\n", "\n").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"the Stanford segmenter: byte {error.start} of what it gave is not UTF-8") from None


def _folder() -> Path:
    return Path(os.environ.get(VARIABLE) or PLACE).expanduser()


def _jars(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.jar") if not path.stem.endswith(("-sources", "-javadoc")))
