"""A paper's recipe, tables and figures as data, in the paper's own order."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from mdnmt.config.base import Frozen
from mdnmt.config.corpus import Language
from mdnmt.config.decoding import Decoding, Labels, Split
from mdnmt.config.exhibit_kinds import FigureKind, TableKind
from mdnmt.config.layers import Layer, training_of
from mdnmt.config.loader import find_named, load_model, named_in, validate_model
from mdnmt.config.method import MethodIndex
from mdnmt.config.metrics import METRICS, Metric
from mdnmt.config.task import Name, Tokenizer
from mdnmt.config.training import Training, merge_recipes
from mdnmt.workspace import config_file

Knowledge = Literal["nothing", "context", "label"]
Pair = Annotated[str, StringConstraints(pattern=r"^[A-Z]{2,3}-[A-Z]{2,3}$")]  # of languages: EN-FR


class Recipe(Frozen):
    """How a paper trains and decodes, as far as it says so; every study that uses recipes sets this for its tasks."""

    architecture: dict[str, Any] = Field({}, description="options of every builder")
    training: dict[str, Any] = Field({}, description="where it differs from the default recipe")
    decoding: dict[str, Any] = Field({}, description="beam search")


class ComparedRecipe(Frozen):
    """A system that a paper compares with, and its options there."""

    recipe_of: Name | None = Field(None, description="another paper, whose recipe it keeps; null: that of this paper")
    architecture: dict[str, Any] = Field({}, description="over that recipe")
    training: dict[str, Any] = Field({}, description="as for architecture")


class TableVariant(Frozen):
    """Options that differ for all systems of one table. Each becomes a separate method, `<method>-<suffix>`."""

    suffix: Name = Field(description="of the methods' names")
    architecture: dict[str, Any] = Field({}, description="options of every builder")
    training: dict[str, Any] = Field({}, description="of the recipe")


class TableRow(Frozen):
    """A row. A method with `train_on: each` becomes one row per domain."""

    group: str = Field(description="the heading above it, shared by its neighbours")
    printed: str | None = Field(
        None, description="its name in config/published; {domain}: the printed name of its domain; null: its label"
    )
    method: str | None = Field(None, description="of config/methods/")
    best_of: tuple[str, ...] | None = Field(
        None, description="in place of method: several, of which the best by validation is shown"
    )
    label: str | None = Field(None, description="as this paper prints it; null: the method's own")
    knows: Knowledge | None = Field(
        None, description="what it knows about the domain (label, or what the sentence reveals); for word_accuracy"
    )
    labels: tuple[Labels, ...] = Field(
        ("given",), min_length=1, description="of kind scores: label conditions, one row each"
    )
    own_domain: bool = Field(
        False,
        description="of kind scores, a method with train_on: each: one row, each domain by its own model; not tested",
    )

    @model_validator(mode="after")
    def _names_what_it_shows(self) -> Self:
        if (self.method is None) == (self.best_of is None):
            raise ValueError("a row has either `method` or `best_of`")
        if self.best_of is not None and len(set(self.best_of)) < max(2, len(self.best_of)):
            raise ValueError(f"best_of needs two or more methods, each once; found {', '.join(self.best_of) or 'none'}")
        if len(set(self.labels)) < len(self.labels) or (self.best_of and self.labels != ("given",)):
            raise ValueError(f"labels are of one method, each once; found {', '.join(self.labels)}")
        if self.own_domain and (self.best_of or self.labels != ("given",)):
            raise ValueError("own_domain is of one method with the right labels; leave `best_of` and `labels` out")
        return self

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the method, or those of which the best is shown."""
        return self.best_of or (str(self.method),)


class PaperTable(Frozen):
    """A table of a paper."""

    kind: TableKind = Field(description="what it shows, and how it is made (docs/studies.md)")
    title: str = Field(description="what it shows, in our words")
    where: str = Field("", description="its number in the paper: Table 2")
    pairs: tuple[Pair, ...] = Field(
        (), description="its language pair (EN-FR), or all that the paper prints it for; none: every pair"
    )
    metrics: tuple[Metric, ...] = Field(("bleu",), description="of kind scores: one group of columns each")
    shows: Literal["domains", "average"] = Field("domains", description="average: only the mean of the domains")
    delta: bool = Field(False, description="beside each score its difference to the baseline")
    split: Split = Field("test", description="of kind scores: the text that is translated and scored")
    development: bool = Field(
        False, description="of kind scores: a first column with the validation sets of all domains scored as one text"
    )
    rows: tuple[TableRow, ...] = Field((), description="of systems, in the paper's order")
    variant: TableVariant | None = Field(None, description="options that differ for all systems of this table")
    printed: str | None = Field(None, description="its name in config/published/<paper>.tsv")
    printed_columns: dict[str, str | tuple[str, ...]] = Field(
        {},
        description="domain of the paper's own task (or avg, total, a quantity) -> its column in config/published; "
        "domains are in this order",
    )
    total: bool = Field(False, description="of kind corpora: a last row with the sums over all domains")
    notes: tuple[str, ...] = Field((), description="sentences below the table")
    differs: str | None = Field(None, description="why nothing in it can be compared with the printed numbers")
    printed_metrics: dict[Metric, tuple[str, ...]] = Field(
        {"bleu": ("BLEU", "BLEU-4"), "chrf": ("chrF",), "comet": ("COMET",)},
        description="metric -> the names in config/published of the printed metric that it is compared with",
    )
    metric_differs: dict[str, str] = Field({}, description="metric or quantity -> why it is not the printed one")
    metric_notes: dict[Metric, str] = Field(
        {}, description="metric -> what is known about how the printed number was computed"
    )
    words: tuple[str, ...] = Field(
        (), description="kind examples: words of the source language that come first, on a task of its language pair"
    )
    tables: tuple[str, ...] = Field((), description="kind estimates: the score tables whose differences it sums up")
    notation: tuple[tuple[str, str, str], ...] = Field((), description="kind notation: symbol, place, meaning")

    @model_validator(mode="after")
    def _has_rows(self) -> Self:
        if not (self.rows or self.tables) and self.kind not in ("corpora", "examples", "notation"):
            raise ValueError(f"a table of kind {self.kind} needs {'tables' if self.kind == 'estimates' else 'rows'}")
        return self

    @model_validator(mode="after")
    def _validation_text_is_scored_plainly(self) -> Self:
        if self.split == "test" and not self.development:
            return self
        what = "split: valid" if self.split != "test" else "development"
        if self.kind != "scores":
            raise ValueError(f"{what} belongs in tables of kind scores, not {self.kind}")
        if self.split != "test" and self.development:
            raise ValueError("development is a column beside test scores; a table with split: valid has its own")
        if self.development and self.shows != "domains":
            raise ValueError("development is a column beside those of the domains; expected shows: domains")
        if any(row.labels != ("given",) for row in self.rows):
            raise ValueError(f"{what} is of systems that are given the right labels; leave `labels` of rows out")
        apart = [name for name in self.metrics if METRICS[name].file != "scores.json"]
        if apart and self.split != "test":
            raise ValueError(f"{what}: {apart[0]} is computed only for test text; leave it out")
        return self

    @model_validator(mode="after")
    def _best_of_is_for_what_is_scored(self) -> Self:
        if self.kind not in ("scores", "resources") and any(row.best_of for row in self.rows):
            raise ValueError(f"best_of belongs in tables of kind scores or resources, not {self.kind}")
        if self.kind != "scores" and any(row.labels != ("given",) for row in self.rows):
            raise ValueError(f"labels of rows belong in tables of kind scores, not {self.kind}")
        if self.kind != "scores" and any(row.own_domain for row in self.rows):
            raise ValueError(f"own_domain of rows belongs in tables of kind scores, not {self.kind}")
        return self


class PaperFigure(Frozen):
    """A figure of a paper; `methods` are its panels or lines, or the one method it looks into."""

    kind: FigureKind = Field(description="what it shows, and how it is drawn (docs/studies.md)")
    title: str = Field(description="what it shows, in our words")
    where: str = Field("", description="its number in the paper: Figure 6")
    pairs: tuple[Pair, ...] = Field((), description="as in a table")
    caption: str = Field(description="sentences below the figure: how to read it")
    methods: tuple[str, ...] = Field(min_length=1, description="its panels or lines, in this order")
    labels: dict[str, str] = Field({}, description="method -> its name in this figure, if not its own label")
    options: dict[str, Any] = Field({}, description="options of its kind (docs/studies.md)")

    @model_validator(mode="before")
    @classmethod
    def _options_have_their_own_key(cls, value: Any) -> Any:
        for name in ("panels", "domain", "x", "generated"):
            if isinstance(value, dict) and name in value:
                raise ValueError(f"{name} is an option of the kind; write options: {{{name}: ...}}")
        return value

    @model_validator(mode="after")
    def _labels_are_of_its_methods(self) -> Self:
        if others := self.labels.keys() - set(self.methods):
            raise ValueError(f"labels: {sorted(others)[0]} is not one of the figure's methods")
        return self


class PaperConfig(Frozen):
    """One file of config/papers/."""

    title: str = Field(description="of the paper")
    citation: str = Field(description="authors, year and where it was published")
    authors: str = Field("", description="as the text cites them: Jiang et al.; none: the citation up to its comma")
    recipe: Recipe = Field(Recipe(), description="as the paper has it")
    printed_recipe: Recipe = Field(
        Recipe(), description="the options that the paper's own text gives (docs/recipes.md)"
    )
    printed_for: dict[Pair, Recipe] = Field(
        {}, description="language pair -> the options that the text gives for it alone, over printed_recipe"
    )
    tokenizers: dict[Language, Tokenizer] = Field(
        {}, description="language -> the tokenizer that the text names; verdicts on tasks with another one say so"
    )
    compared: dict[Name, ComparedRecipe] = Field(
        {}, description="method -> its own recipe, where the paper compares it"
    )
    tables: dict[str, PaperTable] = Field({}, description="name -> table; a study calls it <paper>-<name>")
    figures: dict[str, PaperFigure] = Field({}, description="name -> figure; a study calls it <paper>-<name>")

    @model_validator(mode="after")
    def _tables_and_figures_have_different_names(self) -> Self:
        if both := sorted(self.tables.keys() & self.figures.keys()):
            raise ValueError(
                f"tables and figures both have {both[0]!r}; a study could not tell them apart, so rename one"
            )
        return self

    @property
    def cited_as(self) -> str:
        """Return the authors as the text cites them."""
        return self.authors or self.citation.partition(",")[0]

    def printed(self, pair: str) -> Recipe:
        """Return the options that the text gives for a language pair."""
        own, common = self.printed_for.get(pair, Recipe()), self.printed_recipe
        return Recipe(
            architecture={**common.architecture, **own.architecture},
            training=merge_recipes([common.training, own.training]),
            decoding={**common.decoding, **own.decoding},
        )


def load_paper(config_folder: Path, name: str) -> PaperConfig:
    """Return config/papers/<name>.yaml.

    Raises:
        ConfigError: there is no such file, or a mistake in it.
    """
    path = find_named(config_folder / "papers", name, "paper")
    paper = load_model(path, PaperConfig)
    validate_model(paper.recipe.training, Training, f"{path}: recipe.training")
    validate_model(paper.recipe.decoding, Decoding, f"{path}: recipe.decoding")
    for table_id, table in paper.tables.items():
        if table.variant is not None:
            validate_model(table.variant.training, Training, f"{path}: tables.{table_id}.variant.training")
    stated = {"printed_recipe": paper.printed_recipe}
    stated |= {f"printed_for.{pair}": recipe for pair, recipe in paper.printed_for.items()}
    for key, recipe in stated.items():
        validate_model(recipe.training, Training, f"{path}: {key}.training")
        validate_model(recipe.decoding, Decoding, f"{path}: {key}.decoding")
    return paper


def recipe_layers(
    config_folder: Path, name: str, paper: PaperConfig, methods: MethodIndex
) -> dict[str | None, tuple[Layer, ...]]:
    """Return method -> its recipe in a paper, for systems that the paper compares itself with; None: for all others.

    Raises:
        ConfigError: an unknown method or paper, or an invalid option of a recipe.
    """

    def layer(of: str, recipe: Recipe) -> Layer:
        file = config_file(config_folder, f"papers/{of}.yaml")
        return Layer(file, ("recipe",), recipe.architecture, recipe.training, recipe.decoding)

    own = layer(name, paper.recipe)
    found: dict[str | None, tuple[Layer, ...]] = {None: (own,)}
    where = f"{own.file}: compared"
    for method, compared in paper.compared.items():
        base = own
        with named_in(where):
            methods.path(method)
            if of := compared.recipe_of:
                base = layer(of, load_paper(config_folder, of).recipe)
        found[method] = (base, Layer(own.file, ("compared", method), compared.architecture, compared.training))
        validate_model(training_of(found[method]), Training, f"{where}.{method}.training")
    return found
