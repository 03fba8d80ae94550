"""A real SLURM on this host: munge, slurmctld and two slurmd on loopback, all of it in one folder.

Nothing of the system is touched: own keys, own sockets, own ports. Only processes that were started here are stopped.
Two nodes of four processors, each with two GPUs that are no more than device files; no accounting.
"""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "srun")
PLACES = ("/usr/sbin", "/usr/local/sbin", "/sbin")
NODES = ("n1", "n2")
GPUS = 2

CONFIG = """\
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={ctld_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire={requeue_seconds}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
GresTypes=gpu
ReturnToService=2
SlurmdTimeout={slurmd_timeout}
SlurmctldTimeout=30
InactiveLimit=0
KillWait={kill_wait}
MinJobAge={min_job_age}
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
{nodes}
PartitionName=work Nodes=ALL Default=YES MaxTime=UNLIMITED PriorityTier=5 PreemptMode=OFF
PartitionName=requeued Nodes=ALL MaxTime=UNLIMITED PriorityTier=1 PreemptMode=REQUEUE
PartitionName=cancelled Nodes=ALL MaxTime=UNLIMITED PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent Nodes=ALL MaxTime=UNLIMITED PriorityTier=9 PreemptMode=OFF
"""


def program(name: str) -> str | None:
    """Return where a program stands; daemons are often outside of a user's PATH."""
    return shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", ""), *PLACES)))


def why_not() -> str | None:
    """Return why no SLURM can be started here, and what to do; None: it can."""
    missing = [name for name in PROGRAMS if program(name) is None]
    if missing:
        return f"no {', '.join(missing)} here: `apt-get install slurm-wlm munge` brings them"
    if os.geteuid() != 0:
        return "SLURM's daemons are started as root: run these tests in a container"
    return None


def until(happened: Callable[[], bool], what: str, seconds: float = 120.0) -> None:
    """Wait until something happened.

    Raises:
        AssertionError: it did not within a time that no machine should need.
    """
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"waited {seconds:.0f} s in vain: {what}"
        select.select([], [], [], 0.2)


class RealSlurm:
    """A SLURM in a `with` block.

    Args:
        slurmd_timeout: seconds without an answer after which a node is down.
        kill_wait: seconds between SIGTERM and SIGKILL.
        min_job_age: seconds for which an ended job is remembered.
        requeue_seconds: roughly how long a requeued job waits before it may start.
    """

    def __init__(
        self, *, slurmd_timeout: int = 20, kill_wait: int = 20, min_job_age: int = 3600, requeue_seconds: int = 5
    ) -> None:
        # Short, for the path of a socket may have 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._ports = dict(zip(("slurmctld", *NODES), _free_ports(1 + len(NODES)), strict=True))
        self._options = {
            "slurmd_timeout": slurmd_timeout,
            "kill_wait": kill_wait,
            "min_job_age": min_job_age,
            "requeue_seconds": requeue_seconds,
        }
        # A job of a SLURM outside must not shine through.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_"))}
        path = f"{self.folder}{os.pathsep}{inherited['PATH']}"
        self.environment = {**inherited, "PATH": path, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def __enter__(self) -> RealSlurm:
        with ExitStack() as undo:
            undo.callback(self._stop)
            self._write()
            self._start_munge()
            self.start_controller()
            for node in NODES:
                self.start_node(node)
            until(lambda: self.node_states() == dict.fromkeys(NODES, "idle"), f"nodes are idle: {self.node_states()}")
            undo.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def call(self, *command: str, check: bool = True) -> str:
        """Run one of SLURM's commands and return what it printed."""
        done = subprocess.run(command, env=self.environment, text=True, capture_output=True, check=False, timeout=120)
        assert done.returncode == 0 or not check, f"{command}: {done.stderr}"
        return done.stdout

    def jobs(self) -> dict[str, tuple[str, str]]:
        """Return job id -> state and comment, of all jobs that SLURM remembers."""
        lines = self.call("squeue", "--noheader", "--states=all", "--format=%i|%T|%k", check=False).splitlines()
        rows = [line.split("|", 2) for line in lines]
        return {row[0]: (row[1], row[2]) for row in rows}

    def job(self, comment: str, *states: str) -> str | None:
        """Return the newest job with a word in its comment and one of the states (default: running)."""
        found = [
            int(number)
            for number, (state, words) in self.jobs().items()
            if comment in words and state in (states or ("RUNNING",))
        ]
        return str(max(found)) if found else None

    def node_of(self, job: str) -> str:
        """Return the node on which a job runs."""
        return self.call("squeue", "--noheader", f"--jobs={job}", "--format=%N").strip()

    def node_states(self) -> dict[str, str]:
        """Return node -> state."""
        lines = self.call("sinfo", "--noheader", "--Node", "--format=%N %t", check=False).splitlines()
        return dict(line.split()[:2] for line in lines)

    def start_controller(self, *options: str) -> None:
        """Start slurmctld and wait until it answers."""
        self._start("slurmctld", "slurmctld", "-D", *options)
        until(lambda: "UP" in self.call("scontrol", "ping", check=False), "slurmctld answers")

    def stop_controller(self) -> None:
        """Stop slurmctld; nodes and jobs go on."""
        self._end(self.daemons.pop("slurmctld"))

    def start_node(self, node: str) -> None:
        """Start a node's slurmd."""
        self._start(node, "slurmd", "-D", "-N", node)

    def kill_node(self, node: str, *, with_jobs: bool) -> None:
        """Kill a node's slurmd and slurmstepd, and everything that they started, as a power cut does.

        Args:
            node: the node.
            with_jobs: False: its jobs go on unseen, as behind a broken network.
        """
        daemon = self.daemons.pop(node)
        steps = self._steps(node)
        started = [child for step in steps for child in _descendants(step)] if with_jobs else []
        for process in [psutil.Process(daemon.pid), *steps, *started]:
            _send(process, signal.SIGKILL)
        daemon.wait()

    def _steps(self, node: str | None = None) -> list[psutil.Process]:
        """Return the slurmstepd of a node, or of all nodes: found by what they have open in our folder."""
        found = []
        for process in psutil.process_iter(["name"]):
            try:
                if not (process.info["name"] or "").startswith("slurmstepd"):
                    continue
                files = " ".join([process.cwd(), *(one.path for one in process.open_files()), *process.cmdline()])
            except psutil.Error:
                continue
            if str(self.folder) in files and (node is None or f"-{node}" in files):
                found.append(process)
        return found

    def _write(self) -> None:
        folder = self.folder
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        nodes = [
            f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={self._ports[node]} CPUs=4 "
            f"RealMemory=32000 Gres=gpu:toy:{GPUS}"
            for node in NODES
        ]
        gres = []
        for node in NODES:
            for number in range(GPUS):
                # What /dev/null is: SLURM wants a device, and nobody computes on it.
                os.mknod(folder / f"{node}-gpu{number}", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            gres.append(f"NodeName={node} Name=gpu Type=toy File={folder}/{node}-gpu[0-{GPUS - 1}]")
        (folder / "gres.conf").write_text("\n".join(gres) + "\n")
        text = CONFIG.format(folder=folder, ctld_port=self._ports["slurmctld"], nodes="\n".join(nodes), **self._options)
        (folder / "slurm.conf").write_text(text)
        # Snakemake's plugin drops SLURM_CONF on the way into a job, where a real cluster has its file in /etc.
        step = folder / "srun"
        step.write_text(f'#!/bin/sh\nSLURM_CONF={folder}/slurm.conf exec {program("srun")} "$@"\n')
        step.chmod(0o755)

    def _start_munge(self) -> None:
        own = [f"--{kind}-file={self.folder}/munge.{kind}" for kind in ("key", "log", "pid", "seed")]
        listening = self.folder / "munge.socket"
        self._start("munged", "munged", "--foreground", "--force", "--num-threads=2", f"--socket={listening}", *own)
        until(listening.exists, "munged listens")

    def _start(self, name: str, executable: str, *options: str) -> None:
        path = program(executable)
        assert path is not None
        with (self.folder / f"{name}.out").open("ab") as log:
            self.daemons[name] = subprocess.Popen(
                [path, *options],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _stop(self) -> None:
        if "slurmctld" in self.daemons:
            self.call("scancel", "--user=root", check=False)
            end = time.monotonic() + 30
            while self._steps() and time.monotonic() < end:
                select.select([], [], [], 0.2)
        for step in self._steps():
            for process in [step, *_descendants(step)]:
                _send(process, signal.SIGKILL)
        for daemon in reversed(list(self.daemons.values())):
            self._end(daemon)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self, daemon: subprocess.Popen[bytes]) -> None:
        daemon.terminate()
        try:
            daemon.wait(20)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _free_ports(number: int) -> Iterator[int]:
    with ExitStack() as stack:
        opened = [stack.enter_context(socket.socket()) for _ in range(number)]
        for one in opened:
            one.bind(("127.0.0.1", 0))
        yield from [one.getsockname()[1] for one in opened]


def _descendants(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _send(process: psutil.Process, number: signal.Signals) -> None:
    with suppress(psutil.Error):
        process.send_signal(number)
