"""One job per GPU, or one per slot: find the cards, and lock free ones for a process.

A scheduler counts GPUs but does not assign them, so two jobs with one GPU each would both use the first. Here a job
locks a file (flock) that represents the card, on this machine and for this user; the lock ends with the process.
With MDNMT_GPU_SLOTS=k, which `mdnmt campaign` sets, k processes share a card: each locks one of its k slots, and the
card itself together with the others, so that a job that wants the card alone waits for all of them.

Jobs of other users have other locks; nvidia-smi shows whether they use a card. Nothing here needs torch or a GPU.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from mdnmt.errors import ConfigError, Interrupted

POLL_SECONDS = 2.0
SLOTS = "MDNMT_GPU_SLOTS"  # processes that may share a card; 1 if it is not set
_ACQUIRED = "MDNMT_GPU_HELD"  # the cards that this process or its parent has locked
_lock_descriptors: list[int] = []  # open files; CUDA is set up once per process, so it keeps its cards until it ends


@dataclass(frozen=True)
class Card:
    """A GPU that this process may use.

    Attributes:
        token: its name in CUDA_VISIBLE_DEVICES: its UUID if known.
        label: its name in messages.
    """

    token: str
    label: str

    @property
    def lock(self) -> Path:
        """The file that represents the GPU in locks."""
        return lock_folder() / f"gpu-{re.sub(r'[^A-Za-z0-9-]', '_', self.token)}.lock"


def visible_cards() -> list[Card]:
    """Return the cards that CUDA_VISIBLE_DEVICES allows, or all cards of the machine if it is not set."""
    there = _installed()
    said = os.environ.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return there
    chosen = []
    for token in filter(None, (part.strip() for part in said.split(","))):
        # Numbers as in nvidia-smi, to which CUDA_DEVICE_ORDER is set. Like CUDA, stop at the first invalid entry.
        found = [card for number, card in enumerate(there) if token == str(number) or card.token.startswith(token)]
        if not found and (there or not re.fullmatch(r"\d+|(GPU|MIG)-.+", token)) and not token.startswith("MIG-"):
            break
        chosen.append(found[0] if found else Card(token, f"GPU {token}"))
    return chosen


def count_visible(device: str = "auto") -> int:
    """Return how many GPUs jobs with this device may use: 0 for `cpu`, or if torch is missing or built without CUDA."""
    if device == "cpu":
        return 0
    try:
        if metadata.version("torch").endswith("+cpu"):
            return 0
    except metadata.PackageNotFoundError:
        return 0
    return len(visible_cards())


def acquire(
    count: int = 1,
    number: int | None = None,
    *,
    limit_minutes: float | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> list[Card]:
    """Lock free cards until this process ends and hide the others from CUDA; wait while there are too few.

    Idle cards come first. A card that another program uses is taken only if no other is free, with a warning on
    stderr. Cards that this process or its parent already holds are kept. Call this before CUDA is initialised.

    Args:
        count: number of cards.
        number: take the visible card with this number, and hide none.
        limit_minutes: how long to wait; None: without limit.
        wait: called between two attempts.

    Returns:
        The cards; none if there is no GPU, or if this process or its parent already holds cards.

    Raises:
        ConfigError: there are GPUs, but too few.
        Interrupted: no card was free in time.
    """
    if _ACQUIRED in os.environ:
        return []
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    cards = visible_cards()
    if not cards:
        return []
    wanted = cards if number is None else cards[number : number + 1]
    if len(wanted) < count:
        what = f"{count} GPUs" if number is None else f"GPU {number}"
        raise ConfigError(f"found {len(cards)} GPUs that this process may use, expected {what}; or choose device: cpu")
    started, announced = time.monotonic(), False
    while not (taken := _try(wanted, count)):
        if limit_minutes is not None and time.monotonic() - started >= 60 * limit_minutes:
            raise Interrupted(f"no GPU came free in {limit_minutes:g} min; start the same command again")
        if not announced:
            holders = ", ".join(f"{card.label} by process {_holder(card)}" for card in wanted if _holder(card))
            print(f"mdnmt: waiting for a GPU; in use: {holders or 'all of them'}", file=sys.stderr, flush=True)
            announced = True
        wait(POLL_SECONDS)
    if number is None:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(card.token for card in taken)
    os.environ[_ACQUIRED] = ",".join(card.token for card in taken)
    return taken


def cards_of(device: str) -> list[str]:
    """Return the names of this job's GPUs for nvidia-smi and NVML: those that it holds, else `device` (`cuda:1`)."""
    # Each of several workers knows all cards of the job.
    held = [token for token in os.environ.get(_ACQUIRED, "").split(",") if token]
    number = int(device.partition(":")[2] or 0)
    return held or [card.token for card in visible_cards()[number : number + 1]]


def processes_on(device: str) -> int | None:
    """Return how many processes use the GPUs of this job, itself included; None if unknown, or on a CPU."""
    if not device.startswith("cuda"):
        return None
    answers = [_ask("--query-compute-apps=pid", "-i", card) for card in cards_of(device)]
    known = [lines for lines in answers if lines is not None]
    return sum(map(len, known)) if known else None


def lock_folder() -> Path:
    """Return the folder of the lock files, the same for every process of this user on this machine.

    Not XDG_RUNTIME_DIR, which jobs without a login session lack, and which vanishes with the last session.

    Raises:
        ConfigError: another user owns it.
    """
    folder = Path(os.environ.get("MDNMT_LOCKS") or Path("/tmp") / f"mdnmt-{os.getuid()}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if found.st_uid != os.getuid() or folder.is_symlink():
        raise ConfigError(f"{folder}: belongs to user {found.st_uid}, not to you; name another in MDNMT_LOCKS")
    return folder


def _try(cards: Sequence[Card], count: int) -> list[Card]:
    """Lock `count` of the cards and return them, or lock none."""
    # One process chooses at a time: otherwise two that want two cards each could lock one each and wait for ever.
    choosing = os.open(lock_folder() / "choosing.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(choosing, fcntl.LOCK_EX)
        slots = int(os.environ.get(SLOTS, 1))
        locked = [(card, files) for card in cards if (files := _lock_slot(card, slots))]
        # Those that share a card are no strangers to each other, and nvidia-smi cannot tell them from others.
        strangers = _foreign_processes() if locked and slots == 1 else {}
        ordered = sorted(locked, key=lambda pair: (pair[0].token in strangers, _used_slots(pair[0], slots)))
        taken = ordered[:count] if len(ordered) >= count else []
        for card, files in locked:
            if (card, files) not in taken:
                for file in files:
                    os.close(file)
        for card, files in taken:
            for file in files:
                os.ftruncate(file, 0)
                os.pwrite(file, str(os.getpid()).encode(), 0)
            _lock_descriptors.extend(files)
            if who := strangers.get(card.token):
                print(
                    f"mdnmt: {card.label} is in use by {who}, which has no lock on it, and no other GPU is "
                    "free: sharing it",
                    file=sys.stderr,
                    flush=True,
                )
        return [card for card, _ in taken]
    finally:
        os.close(choosing)


def _slot(card: Card, number: int) -> Path:
    return card.lock.with_suffix(f".{number}.lock")


def _lock_slot(card: Card, slots: int) -> list[int]:
    """Lock a card, or with several slots the first free one of them; return the open files, none if it is taken."""
    whole = _lock(card.lock, fcntl.LOCK_EX if slots == 1 else fcntl.LOCK_SH)
    if whole is None or slots == 1:
        return [] if whole is None else [whole]
    for number in range(slots):
        if (file := _lock(_slot(card, number), fcntl.LOCK_EX)) is not None:
            return [whole, file]
    os.close(whole)
    return []


def _used_slots(card: Card, slots: int) -> int:
    """Return how many slots of a card are locked, one of them by this process; nothing is counted for a whole card."""
    if slots == 1:
        return 0
    free = [file for number in range(slots) if (file := _lock(_slot(card, number), fcntl.LOCK_EX)) is not None]
    for file in free:
        os.close(file)
    return slots - len(free)


def _lock(path: Path, kind: int) -> int | None:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return None
        # A cleaner of /tmp may have removed the file after we opened it and before we locked it.
        if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
            return file
        os.close(file)


def _holder(card: Card) -> str:
    return card.lock.read_text(encoding="ascii", errors="replace").strip() if card.lock.exists() else ""


def _installed() -> list[Card]:
    lines = _ask("--query-gpu=uuid,index,name")
    if lines is not None:
        rows = [[cell.strip() for cell in line.split(",", 2)] for line in lines]
        return [Card(row[0], f"GPU {row[1]} ({row[2]})") for row in rows if len(row) == 3]
    numbers = sorted(int(path.name[6:]) for path in Path("/dev").glob("nvidia[0-9]*"))
    return [Card(str(number), f"GPU {number}") for number in numbers]


def _foreign_processes() -> dict[str, str]:
    """Return token -> a process that uses the card, in words; empty if nvidia-smi cannot tell."""
    found = {}
    for line in _ask("--query-compute-apps=gpu_uuid,pid,process_name") or []:
        cells = [cell.strip() for cell in line.split(",", 2)]
        if len(cells) == 3 and cells[1] != str(os.getpid()):
            found[cells[0]] = f"process {cells[1]} ({Path(cells[2]).name})"
    return found


def _ask(query: str, *options: str) -> list[str] | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    try:
        command = [program, *options, query, "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return [line for line in done.stdout.splitlines() if line.strip()]
