"""config/config.yaml: which study is made, and habits of this machine that change no result."""

from __future__ import annotations

from pydantic import Field

from mdnmt.config.base import Frozen


class ProjectConfig(Frozen):
    """What config/config.yaml and `snakemake --config key=value` may say."""

    study: str = Field("demo", description="a file of config/studies/")
    seeds: int | tuple[int, ...] | None = Field(None, description="how many, or a list; null: as the study says")
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda, cuda:1, ...")
    threads: int = Field(1, gt=0, description="CPU threads of a training or decoding job")
    save_every_minutes: float = Field(10, gt=0, description="between checkpoints, beside those of validations")
    stop_after_minutes: float | None = Field(None, gt=0, description="then save and end with status 75")
    tensorboard: bool = Field(False, description="TensorBoard files in each run's folder")
