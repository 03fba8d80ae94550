"""config/config.yaml: which study is made, and runtime options of this machine, which change no result."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mdnmt.config.base import Frozen

# Runtime options: they change no result, and another machine has its own.
RUNTIME = {"device", "workers", "threads", "save_every_minutes", "stop_after_minutes", "tensorboard", "graphs"}


def _as_word(value: Any) -> Any:
    """Undo what YAML makes of a bare `on` or `off`."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


class ProjectConfig(Frozen):
    """What config/config.yaml and `snakemake --config key=value` may say."""

    study: str = Field("demo", description="a file of config/studies/")
    seeds: int | tuple[int, ...] | None = Field(None, description="how many, or a list; null: as the study says")
    first_downloads: bool = Field(
        True, description="download corpora whose checksum is not known yet; false: leave their tasks out"
    )
    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda, cuda:1, ...")
    workers: int = Field(1, gt=0, description="processes that train one run together, each on its own GPU")
    threads: int = Field(1, gt=0, description="CPU threads of a training or decoding job")
    save_every_minutes: float = Field(10, gt=0, description="between checkpoints, beside those of validations")
    stop_after_minutes: float | None = Field(None, gt=0, description="then save and end with status 75")
    on_nan: Literal["stop", "rollback"] = Field(
        "stop", description="on a NaN or infinite loss: stop, or return to the last checkpoint and skip the batch"
    )
    graphs: Annotated[Literal["auto", "on", "off"], BeforeValidator(_as_word)] = Field(
        "auto", description="CUDA graphs: where they prove to compute the same bits; on: or stop; off: never"
    )
    accept_code_change: bool = Field(
        False, description="resume from checkpoints that other training code wrote; run.json lists the attempts"
    )
    finished_only: bool = Field(
        False, description="make tables, tests, figures and claims from finished runs alone; train nothing"
    )
    tensorboard: bool = Field(False, description="TensorBoard files in each run's folder")

    @property
    def command(self) -> str:
        """Return the command that makes the same study in a fresh clone, whose config.yaml has the defaults."""
        set_here = self.model_dump(exclude_defaults=True, exclude=RUNTIME | {"study"}, mode="json")
        values = {"study": self.study, **set_here}
        pairs = [f"{key}={str(value).replace(' ', '')}" for key, value in values.items()]
        return f"snakemake --cores all --config {shlex.join(pairs)}"

    @property
    def training_options(self) -> str:
        """Return the options of `mdnmt train` that say how it saves and stops."""
        said = f"--save-every-minutes {self.save_every_minutes:g} --workers {self.workers} --on-nan {self.on_nan}"
        if self.graphs != "auto":
            said += f" --graphs {self.graphs}"
        if self.stop_after_minutes:
            said += f" --stop-after-minutes {self.stop_after_minutes:g}"
        if self.accept_code_change:
            said += " --accept-code-change"
        return f"{said} --tensorboard" if self.tensorboard else said
