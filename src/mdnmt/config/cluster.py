"""config/cluster.yaml (optional): a cluster's names for accounts and partitions, and what jobs of each size request."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.loader import load_model
from mdnmt.workspace import config_file

# A name must not contain characters that a shell or sbatch would interpret.
_NAME = r"^[A-Za-z0-9_.,:+/@-]+$"


class SizeClass(Frozen):
    """What the jobs of a run ask for: the first class that its model fits into."""

    up_to_parameters: int = Field(gt=0, description="of the largest model of this class")
    mem_mb: int = Field(gt=0, description="memory of a job (not of the GPU)")
    train_minutes: int = Field(gt=0, description="limit of one job; a longer run uses several jobs")
    translate_minutes: int = Field(gt=0, description="to translate the test sets, or to analyse the model")
    gpus: int = Field(1, ge=0, description="of a job; 0: it runs on CPUs")


SIZES = {
    "tiny": SizeClass(up_to_parameters=1_000_000, mem_mb=2_000, train_minutes=30, translate_minutes=30, gpus=0),
    "small": SizeClass(up_to_parameters=20_000_000, mem_mb=8_000, train_minutes=240, translate_minutes=60),
    "base": SizeClass(up_to_parameters=150_000_000, mem_mb=16_000, train_minutes=720, translate_minutes=120),
    "large": SizeClass(up_to_parameters=400_000_000, mem_mb=32_000, train_minutes=1440, translate_minutes=240),
    "huge": SizeClass(up_to_parameters=2_000_000_000, mem_mb=64_000, train_minutes=1440, translate_minutes=480),
}


class Partitions(Frozen):
    """Where jobs are sent; null: SLURM's default."""

    cpu: str | None = Field(None, pattern=_NAME, description="for jobs without a GPU")
    gpu: str | None = Field(None, pattern=_NAME, description="for jobs with one")


class ClusterConfig(Frozen):
    """What config/cluster.yaml may say; all of it may be left out, and so may the file."""

    account: str | None = Field(
        None, pattern=_NAME, description="the account that jobs are charged to; null: sbatch's default"
    )
    qos: str | None = Field(None, pattern=_NAME, description="quality of service")
    partitions: Partitions = Field(Partitions(), description="where jobs are sent")
    gpu_model: str | None = Field(None, pattern=r"^[A-Za-z0-9_.]+$", description="e.g. a100; null: any")
    ask_for_gpus_by: Literal["gpus", "gres"] = Field(
        "gpus", description="sbatch's option; some clusters support only one of them"
    )
    modules: tuple[str, ...] = Field((), description="loaded at the start of every job (`module load`)")
    cores: int = Field(8, gt=0, description="of jobs that use many: task data, measurements")
    longest_minutes: int | None = Field(None, gt=0, description="no job asks for more time than this")
    sbatch_options: str = Field("", description="further options of sbatch, as on its command line")
    sizes: dict[str, SizeClass] = Field(SIZES, min_length=1, description="classes of jobs, in place of the defaults")

    @model_validator(mode="after")
    def _modules_are_names(self) -> ClusterConfig:
        import re

        for name in self.modules:
            if not re.fullmatch(_NAME, name):
                raise ValueError(f"modules: found {name!r}, expected a name as `module avail` prints it")
        if any(character in self.sbatch_options for character in "`$;|&<>\n\"'"):
            raise ValueError("sbatch_options: expected plain options, without quotes or signs that a shell acts on")
        return self

    def size_of(self, parameters: int) -> SizeClass:
        """Return the smallest class that a model fits into; if it fits into none, the largest."""
        ordered = sorted(self.sizes.values(), key=lambda size: size.up_to_parameters)
        return next((size for size in ordered if parameters <= size.up_to_parameters), ordered[-1])

    def minutes(self, wanted: int) -> int:
        """Return the time limit, in minutes, of a job that wants `wanted` minutes."""
        return min(wanted, self.longest_minutes or wanted)

    def request(self, gpus: int) -> dict[str, str | int]:
        """Return what every job asks for, as resources of Snakemake's SLURM plugin.

        Args:
            gpus: number of GPUs that the job uses.
        """
        found: dict[str, str | int | None] = {
            "slurm_account": self.account,
            "qos": self.qos,
            "slurm_extra": self.sbatch_options,
            "slurm_partition": self.partitions.gpu if gpus else self.partitions.cpu,
        }
        if gpus and self.ask_for_gpus_by == "gres":
            found["gres"] = ":".join(["gpu", *([self.gpu_model] if self.gpu_model else []), str(gpus)])
        elif gpus:
            found |= {"gpu": gpus, "gpu_model": self.gpu_model}
        return {name: value for name, value in found.items() if value}


def load_cluster(config_folder: Path) -> ClusterConfig:
    """Return what config/cluster.yaml says.

    Raises:
        ConfigError: a mistake in the file.
    """
    return load_model(config_file(config_folder, "cluster.yaml"), ClusterConfig)
