"""Open several files of one corpus as one archive with one size limit; members are `<file>/<member>`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from mdnmt.corpora.formats.archive import Archive, Budget, blocks_within, open_archive
from mdnmt.errors import DataError


class JoinedArchives(Archive):
    """Archives side by side, in the order in which they were given."""

    def __init__(self, archives: Sequence[Archive], budget: Budget) -> None:
        self.label = " + ".join(archive.label for archive in archives)
        self.budget = budget
        self._archives = {archive.label: archive for archive in archives}
        if len(self._archives) != len(archives):
            raise DataError(f"{self.label}: two files of one corpus have the same name")

    def names(self) -> list[str]:
        """Return the names of all files in all archives."""
        return [f"{label}/{name}" for label, archive in self._archives.items() for name in archive.names()]

    def blocks(self, name: str) -> Iterator[bytes]:
        """Yield a member's bytes in blocks; DataError if it is missing, damaged or too large."""
        archive, member = self._find(name)
        for block in archive.blocks(member):
            self.budget.spend(len(block), f"{archive.label}:{member}")
            yield block

    def _find(self, name: str) -> tuple[Archive, str]:
        label, _, member = name.partition("/")
        if label not in self._archives:
            raise DataError(f"{self.label}: has no file {label!r}; this is not the corpus that was expected")
        return self._archives[label], member


@contextmanager
def open_files(paths: Sequence[Path], unpacked_bytes_max: int) -> Iterator[Archive]:
    """Open a corpus's files: one as it is, several as `JoinedArchives`; a file without a suffix is plain text.

    Raises:
        DataError: one of them is not an archive, is damaged, or has a refused member.
    """
    with ExitStack() as stack:
        archives = [stack.enter_context(_open(path, unpacked_bytes_max)) for path in paths]
        yield archives[0] if len(archives) == 1 else JoinedArchives(archives, Budget(unpacked_bytes_max))


def _open(path: Path, unpacked_bytes_max: int) -> AbstractContextManager[Archive]:
    return open_archive(path, unpacked_bytes_max) if path.suffix else nullcontext(_Text(path, unpacked_bytes_max))


class _Text(Archive):
    """A text file, seen as an archive with one member of the same name."""

    def __init__(self, path: Path, unpacked_bytes_max: int) -> None:
        self.label, self.budget = path.name, Budget(unpacked_bytes_max)
        self._path = path

    def names(self) -> list[str]:
        return [self.label]

    def blocks(self, name: str) -> Iterator[bytes]:
        if name != self.label:
            raise DataError(f"{self.label}: has no member {name!r}; this is not the file that was expected")
        try:
            with self._path.open("rb") as handle:
                yield from blocks_within(handle, self.budget, self.label)
        except OSError as error:
            raise DataError(f"{self._path}: cannot be read ({error.strerror})") from None
