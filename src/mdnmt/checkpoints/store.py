"""Store the checkpoints of a run, one directory each, atomically: a killed process leaves no partial checkpoint.

    ckpt/update-00000400/{model,optimizer,generators}.safetensors, state.json, manifest.json
    ckpt/weights-00000200/model.safetensors, manifest.json      weights only, for the average; no run resumes from it
    ckpt/model.safetensors                                      hard link to the final weights of a finished run

A checkpoint is written to a temporary directory beside its final path, every file synced and the manifest last; then
the directory is renamed. The run's lease (`mdnmt.train.lease`) ensures that only one process writes here.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from mdnmt.checkpoints import weights as tensor_files
from mdnmt.checkpoints.invalid_checkpoint import InvalidCheckpoint
from mdnmt.checkpoints.manifest import Manifest, read_manifest, write_manifest
from mdnmt.errors import CheckpointError, owned_by_another
from mdnmt.fingerprint import sha256_file
from mdnmt.fsio import SUMS, link_or_copy, read_json, remove_tree, sync_directory, write_bytes, write_sums

_T = TypeVar("_T")

_MODEL, _OPTIMIZER, _GENERATORS, _STATE = (
    "model.safetensors",
    "optimizer.safetensors",
    "generators.safetensors",
    "state.json",
)
# Suffix of the first save of an update while a second one replaces it.
_REPLACED = ".replaced"
_NAME = re.compile(r"update-(\d{8,})(\.replaced)?")
_WEIGHTS_NAME = re.compile(r"weights-(\d{8,})")
# What a killed save or removal leaves behind.
_LEFTOVER = re.compile(r"\.(update|weights)-\d{8,}(\.[\w-]+)*\.(tmp|removed)")


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to resume from one update.

    Attributes:
        update: number of the update after which it was saved.
        weights: the model's tensors by name, on the CPU.
        optimizer: the optimiser's tensors by name, on the CPU.
        generators: what `mdnmt.checkpoints.random_state.capture` returned.
        state: the counters of the training loop and the run's conditions, as plain JSON values.
    """

    update: int
    weights: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    generators: dict[str, Tensor]
    state: dict[str, Any]


class CheckpointStore:
    """The checkpoints of one run in one directory; those of another run are refused."""

    def __init__(self, directory: Path, identity: str) -> None:
        self.directory = directory
        self.identity = identity
        self._refused: set[Path] = set()

    def path(self, update: int) -> Path:
        """Return the directory of the checkpoint of `update`."""
        return self.directory / f"update-{update:08d}"

    def weights_path(self, update: int) -> Path:
        """Return the directory of the weights of `update`, if only these are kept."""
        return self.directory / f"weights-{update:08d}"

    def updates(self) -> list[int]:
        """Return the updates that have a complete checkpoint, valid or damaged, in ascending order."""
        return sorted({int(match[1]) for match in self._matches(_NAME)})

    def weights_updates(self) -> list[int]:
        """Return the updates of which only the weights are kept, in ascending order."""
        return sorted(int(match[1]) for match in self._matches(_WEIGHTS_NAME))

    def save(
        self,
        update: int,
        weights: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        generators: Mapping[str, Tensor],
        state: Mapping[str, Any],
    ) -> Path:
        """Write the checkpoint of `update` and return its directory; an earlier one of `update` is replaced.

        If the save fails or is killed at any point, all earlier checkpoints stay valid.

        Raises:
            CheckpointError: it cannot be written (disk full, no permission).
            ValueError: `state` does not survive a round trip through JSON (tuples, integer keys, NaN).
        """
        contents = {_STATE: _encode_state(state)}
        final = self.path(update)
        try:
            self._sweep()
            for name, tensors in ((_MODEL, weights), (_OPTIMIZER, optimizer), (_GENERATORS, generators)):
                contents[name] = tensor_files.encode(tensors)
            self._write(final, update, contents, self._publish)
        except OSError as error:
            owner = owned_by_another(final) if error.errno in {errno.EACCES, errno.EPERM} else ""
            raise CheckpointError(
                f"{final}: cannot save the checkpoint: {error.strerror or error}{owner}; those before it are "
                "untouched: make room or give write permission, then start the same command again"
            ) from error
        return final

    def load(self, update: int) -> Checkpoint:
        """Return the checkpoint of `update` after checking every byte against its manifest.

        Raises:
            InvalidCheckpoint: it is missing, damaged or of another run.
        """
        return self._first_whole(update, self._read)

    def load_weights(self, update: int) -> dict[str, Tensor]:
        """Return the model's tensors of one checkpoint; its other files are not read.

        Raises:
            InvalidCheckpoint: they are missing, damaged or of another run.
        """
        return self._first_whole(update, self._read_weights, [self.weights_path(update)])

    def load_latest(self) -> Checkpoint | None:
        """Return the newest valid checkpoint, or None if none was ever saved.

        Damaged newer ones are reported on stderr; the next save renames them to `refused-<name>`.

        Raises:
            CheckpointError: there are checkpoints, but no run can resume from any; starting afresh would hide this.
        """
        refusals: list[InvalidCheckpoint] = []
        for update in reversed(self.updates()):
            try:
                checkpoint = self.load(update)
            except InvalidCheckpoint as refusal:
                refusals.append(refusal)
                self._refused.update(self._candidates(update))
                continue
            for earlier in refusals:
                print(f"mdnmt: checkpoint refused: {earlier}; taking update {update} instead", file=sys.stderr)
            return checkpoint
        if refusals:
            raise CheckpointError(
                f"{self.directory}: none of {len(refusals)} checkpoints is whole (newest: {refusals[0]}); "
                "restore one from a copy, or remove the directory to train from the start"
            )
        if self.weights_updates():
            raise CheckpointError(
                f"{self.directory}: holds only weights for the average, and no checkpoint to resume from: restore one "
                "from a copy, or remove the directory to train from the start"
            )
        return None

    def prune(self, keep: Collection[int], weights_of: Collection[int] = ()) -> None:
        """Remove all checkpoints except those of `keep`, and keep only the weights of those of `weights_of`.

        Each directory is removed or renamed in one step, so that a kill leaves no partial checkpoint.

        Args:
            keep: updates whose complete checkpoints are kept.
            weights_of: further updates, whose weights are kept without the optimiser's state.
        """
        for update in self.updates():
            if update in keep:
                continue
            if update in weights_of:
                self._rename_to_weights(update)
            for folder in self._candidates(update):
                remove_tree(folder)
        for update in self.weights_updates():
            if update in keep or update not in weights_of:
                remove_tree(self.weights_path(update))
            else:
                for name in (_OPTIMIZER, _GENERATORS, _STATE):
                    (self.weights_path(update) / name).unlink(missing_ok=True)

    def copy_to(self, other: CheckpointStore, update: int, weights_of: Iterable[int]) -> None:
        """Copy a checkpoint, and the weights of others, into the store of another run, which takes them as its own.

        Args:
            other: the store.
            update: of the complete checkpoint, which is copied last.
            weights_of: further updates, of which only the weights are copied.

        Raises:
            InvalidCheckpoint: one is missing, damaged or of another run.
        """
        for needed in weights_of:
            if needed != update:
                contents = {_MODEL: tensor_files.encode(self.load_weights(needed))}
                other._write(other.weights_path(needed), needed, contents, _replace)
        whole = self.load(update)
        other.save(update, whole.weights, whole.optimizer, whole.generators, whole.state)

    def finish(self, results: Sequence[Path]) -> None:
        """Keep only the newest checkpoint of a finished run, and hard links to its results.

        If Snakemake removes the results of a job that it believes incomplete, the next start restores them from here.
        """
        for path in results:
            link_or_copy(path, self.result(path))
        write_sums(self.directory, [path.name for path in results])
        self.prune(self.updates()[-1:])

    def result(self, path: Path) -> Path:
        """Return where `finish` keeps a result."""
        return self.directory / path.name

    def load_result(self, path: Path) -> dict[str, Tensor]:
        """Return the weights of a result that `finish` kept.

        Raises:
            CheckpointError: they have no checksum or were altered; overwriting a result in place also alters this
                hard link to it.
        """
        kept, sums = self.result(path), self.directory / SUMS
        recorded = read_json(sums).get(kept.name) if sums.exists() else None
        if recorded != sha256_file(kept):
            why = f"has no checksum in {SUMS}" if recorded is None else "are not the weights that this run ended with"
            raise CheckpointError(
                f"{kept}: {why}; remove the folder {self.directory}, then start "
                "the same command again, which trains the run from its start"
            )
        return tensor_files.load_model(kept)

    def _rename_to_weights(self, update: int) -> None:
        target = self.weights_path(update)
        if target.exists():
            remove_tree(target)
        self._candidates(update)[0].replace(target)
        sync_directory(self.directory)

    def _matches(self, name: re.Pattern[str]) -> list[re.Match[str]]:
        if not self.directory.is_dir():
            return []
        return [match for entry in self.directory.iterdir() if (match := name.fullmatch(entry.name))]

    def _candidates(self, update: int) -> list[Path]:
        final = self.path(update)
        return [folder for folder in (final, final.with_name(final.name + _REPLACED)) if folder.exists()]

    def _first_whole(self, update: int, read: Callable[[int, Path], _T], others: Iterable[Path] = ()) -> _T:
        first_refusal: InvalidCheckpoint | None = None
        folders = [*self._candidates(update), *(folder for folder in others if folder.exists())]
        for folder in folders or [self.path(update)]:
            try:
                return read(update, folder)
            except InvalidCheckpoint as refusal:
                first_refusal = first_refusal or refusal
        assert first_refusal is not None
        raise first_refusal

    def _manifest(self, update: int, folder: Path) -> Manifest:
        manifest = read_manifest(folder)
        if manifest.identity != self.identity:
            raise InvalidCheckpoint(
                folder, "other identity", f"it belongs to run {manifest.identity}, this is run {self.identity}"
            )
        if manifest.update != update:
            raise InvalidCheckpoint(folder, "altered", f"it was saved after update {manifest.update}, not {update}")
        return manifest

    def _read(self, update: int, folder: Path) -> Checkpoint:
        manifest = self._manifest(update, folder)
        tensors = {
            name: tensor_files.decode(manifest.read(folder, name), folder / name)
            for name in (_MODEL, _OPTIMIZER, _GENERATORS)
        }
        state = json.loads(manifest.read(folder, _STATE))
        return Checkpoint(update, tensors[_MODEL], tensors[_OPTIMIZER], tensors[_GENERATORS], state)

    def _read_weights(self, update: int, folder: Path) -> dict[str, Tensor]:
        return tensor_files.decode(self._manifest(update, folder).read(folder, _MODEL), folder / _MODEL)

    def _sweep(self) -> None:
        """Remove leftovers of killed processes, undo an interrupted replacement and rename refused checkpoints."""
        if not self.directory.is_dir():
            return
        for folder in sorted(self._refused):
            if folder.exists():
                aside = folder.with_name(f"refused-{folder.name}")
                shutil.rmtree(aside, ignore_errors=True)
                folder.replace(aside)
        self._refused.clear()
        for entry in sorted(self.directory.iterdir()):
            if _LEFTOVER.fullmatch(entry.name):
                shutil.rmtree(entry)
            elif (match := _NAME.fullmatch(entry.name)) and match[2]:
                final = self.path(int(match[1]))
                if not final.exists():
                    entry.replace(final)

    def _write(
        self, final: Path, update: int, contents: Mapping[str, bytes], publish: Callable[[Path, Path], None]
    ) -> None:
        """Write files and their manifest beside `final`, then put them in place; a failure leaves nothing behind."""
        temporary = self.directory / f".{final.name}.{os.getpid()}.tmp"
        try:
            temporary.mkdir(parents=True)
            for name, data in contents.items():
                write_bytes(temporary / name, data)
            write_manifest(temporary, self.identity, update, contents)
            sync_directory(temporary)
            publish(temporary, final)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise

    def _publish(self, temporary: Path, final: Path) -> None:
        replaced = final.with_name(final.name + _REPLACED)
        if replaced.exists():
            remove_tree(final)  # the earlier save of this update is kept until the new one is in place
        elif final.exists():
            final.replace(replaced)
        temporary.replace(final)
        sync_directory(self.directory)
        for match in self._matches(_NAME):
            if match[2]:
                remove_tree(self.directory / match[0])


def _replace(temporary: Path, final: Path) -> None:
    if final.exists():
        remove_tree(final)
    temporary.replace(final)


def _encode_state(state: Mapping[str, Any]) -> bytes:
    text = json.dumps(state, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # JSON turns the key 1 into "1"; without this check, the error would only show when a run resumes.
    if json.loads(text) != state:
        raise ValueError("the state does not come back from JSON as it went in: use string keys and lists")
    return f"{text}\n".encode()
