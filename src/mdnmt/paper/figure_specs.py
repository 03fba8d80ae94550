"""What a figure shows: which systems, from which files of their runs. `mdnmt.paper.specs` has all of it by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.paper import CurveAxis
from mdnmt.paper.spec_parts import Column, ScoreRun, Titled, WordRow

Panel = Literal["train_loss", "train_accuracy", "valid_loss", "valid_ppl", "valid_accuracy", "valid_bleu"]


class AnalysedSeed(Frozen):
    """The analysis of one run of a system."""

    analysis: Path
    seed: int | None = None


class AnalysedRun(Frozen):
    """One system's analysis directory, or the reason why there is none; `repeats` are measured, not drawn."""

    label: str
    method: str = ""  # its directory; empty: not known
    analysis: Path | None = None
    seed: int | None = None  # None: not known
    repeats: tuple[AnalysedSeed, ...] = ()  # the other seeds
    missing: str | None = None

    @property
    def name(self) -> str:
        """Return the label, with the seed if it is known."""
        return self.label if self.seed is None else f"{self.label}, seed {self.seed}"

    @property
    def seeds(self) -> tuple[AnalysedSeed, ...]:
        """Return all analyses, the one that is drawn first."""
        own = () if self.analysis is None else (AnalysedSeed(analysis=self.analysis, seed=self.seed),)
        return (*own, *self.repeats)


class HeatmapSpec(Titled):
    """Domain proportions of one sentence, word by layer, of both sides (Jiang et al. 2020, Fig. 8).

    `proportion_words`: the proportion of the sentence's own domain alone, in the encoder (Fig. 7).
    """

    kind: Literal["proportion_heatmap", "proportion_words"] = "proportion_heatmap"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()  # labels; empty: the names in meta.json
    sentence: int | None = Field(default=None, ge=0)  # index in sentences.json; None: chosen by a fixed rule
    domain: str | None = None  # choose among sentences of this domain
    max_words: int = Field(default=22, ge=2, le=60)


class HistogramsSpec(Titled):
    """Distribution of word-level domain proportions, layer by layer (Jiang et al. 2020, Fig. 9)."""

    kind: Literal["proportion_histograms"] = "proportion_histograms"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()
    bins: int = Field(default=20, ge=2, le=100)


class DomainAttentionSpec(Titled):
    """Attention of a sentence's words to the domain vectors, and the top words of each (Zhang et al. 2021, Fig. 4)."""

    kind: Literal["domain_attention"] = "domain_attention"
    run: AnalysedRun
    domains: tuple[Column, ...] = ()
    sentence: int | None = Field(default=None, ge=0)  # as in HeatmapSpec
    domain: str | None = None
    max_words: int = Field(default=22, ge=2, le=60)
    top_words: int = Field(default=8, ge=1, le=30)
    min_count: int = Field(default=3, ge=1)  # of a word in the text that was analysed


class TsneSpec(Titled):
    """Encoder sentence vectors in two dimensions, a panel a system (Song et al. 2026, Fig. 5)."""

    kind: Literal["tsne"] = "tsne"
    systems: tuple[AnalysedRun, ...]
    domains: tuple[Column, ...] = ()
    perplexity: float = Field(default=30.0, gt=0)
    seed: int = 1
    max_sentences: int = Field(default=250, ge=5)  # a domain


class CurveRun(Frozen):
    """The curves of one run."""

    curves: Path  # curves.tsv
    seed: int


class CurveSystem(Frozen):
    """One system's runs, one a seed, or the reason why there is none."""

    label: str
    method: str = ""
    runs: tuple[CurveRun, ...] = ()
    missing: str | None = None


class CurvesSpec(Titled):
    """How training went, against updates or epochs: a panel a quantity, a line a system (Song et al. 2026, Fig. 3)."""

    kind: Literal["curves"] = "curves"
    systems: tuple[CurveSystem, ...]
    x: CurveAxis = "updates"
    panels: tuple[Panel, ...] = Field(default=("train_loss", "valid_ppl", "valid_accuracy", "valid_bleu"), min_length=1)


class SweepSpec(Titled):
    """Right words of generated text as an option changes: a point a system, a line a kind of word."""

    kind: Literal["word_sweep"] = "word_sweep"
    num_domains: int = Field(ge=1)
    systems: tuple[WordRow, ...]


class SweepRun(ScoreRun):
    """The scores of one run and its analysis."""

    analysis: Path | None = None


class SweepPoint(Frozen):
    """One value of an option: the runs of the method that has it, or the reason why there is none."""

    value: float
    label: str
    method: str = ""
    runs: tuple[SweepRun, ...] = ()
    missing: str | None = None


class OptionSweepSpec(Titled):
    """BLEU, and how evenly words are shared among domains, against the smoothing of WALDM's proportion (sec. 3.1)."""

    kind: Literal["option_sweep"] = "option_sweep"
    points: tuple[SweepPoint, ...]
    baseline: SweepPoint | None = None  # a system without the option: a line; its `value` means nothing


class GateUseSpec(Titled):
    """How much each domain uses each expert (Song et al. 2026, Fig. 4).

    `analysed` are runs on real text, `systems` on generated text (words.json); one of the two is given.
    """

    kind: Literal["gate_use"] = "gate_use"
    analysed: tuple[AnalysedRun, ...] = ()
    systems: tuple[WordRow, ...] = ()
    domains: tuple[Column, ...] = ()


class NamedSystem(Frozen):
    """A system by its key in a file of several, or the reason why it is not there."""

    label: str
    method: str
    missing: str | None = None


class AmbiguitySpec(Titled):
    """Ambiguous words translated as the domain does, a row a system (Jiang et al. 2020, sec. 5)."""

    kind: Literal["ambiguity"] = "ambiguity"
    ambiguity: Path | None = None  # what `mdnmt ambiguity` wrote
    systems: tuple[NamedSystem, ...]
    domains: tuple[Column, ...] = ()
    missing: str | None = None


class ArchitectureSystem(Frozen):
    """A method as it is built: all that its model follows from, but for the vocabulary."""

    label: str
    method: str
    builder: str  # a module of mdnmt.methods
    architecture: dict[str, Any]  # its options, complete
    num_domains: int = Field(ge=1)


class ArchitectureSpec(Titled):
    """What a method exchanges of the Transformer, drawn from its own model (Jiang et al. 2020, Fig. 3 to 5)."""

    kind: Literal["architecture"] = "architecture"
    systems: tuple[ArchitectureSystem, ...] = Field(min_length=1)


AnyFigure = (
    HeatmapSpec
    | HistogramsSpec
    | DomainAttentionSpec
    | TsneSpec
    | CurvesSpec
    | SweepSpec
    | OptionSweepSpec
    | GateUseSpec
    | AmbiguitySpec
    | ArchitectureSpec
)
