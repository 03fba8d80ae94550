"""What a kind of claim rule defines, and how its class is found."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar, cast

from pydantic import Field, GetJsonSchemaHandler, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticKnownError

from mdnmt import plugins
from mdnmt.config.base import Frozen
from mdnmt.config.loader import did_you_mean
from mdnmt.config.paper import PaperConfig
from mdnmt.errors import ConfigError
from mdnmt.plugin_kinds import CLAIM_RULE

Share = Annotated[float, Field(gt=0, le=1)]
Needed = Literal["all", "most", "one"] | Share
Bound = tuple[Literal["above", "below", "within"], float]


class Threshold(Frozen):
    """A bound on a number; default: above 0."""

    above: float | None = Field(None, description="more than this")
    below: float | None = Field(None, description="less than this")
    within: float | None = Field(None, gt=0, description="closer to 0 than this")

    @model_validator(mode="after")
    def _one_bound(self) -> Self:
        if sum(bound is not None for bound in (self.above, self.below, self.within)) > 1:
            raise ValueError("a rule has one of above, below, within")
        return self

    @property
    def bound(self) -> Bound:
        """Return which bound it is, and its value."""
        if self.below is not None:
            return "below", self.below
        return ("within", self.within) if self.within is not None else ("above", self.above or 0.0)


class Use(NamedTuple):
    """What a rule reads of one table or figure.

    Attributes:
        folder: whether it is a table or a figure.
        exhibit: its key in the paper, or mdnmt-<exhibit> for one of ours.
        methods: that it must show; none of a figure: all that it shows.
        metrics: that a table of scores must show.
    """

    folder: Literal["tables", "figures"]
    exhibit: str
    methods: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()


class Rule(Frozen):
    """What decides a claim.

    Each kind is a subclass with `@claim_rule`, in a file of its own that is named after the kind: one of
    `mdnmt/statements/claims/rules/`, or a plug-in. A file is imported when a claim names its kind.
    """

    kind: str = Field(description="what it compares: the file of its kind")
    needed: Needed = Field("all", description="in how many of the comparisons it must hold: all, most, one, or a share")
    not_tested: str | None = Field(
        None,
        min_length=1,
        description="which choice of ours, and not the method, decides this rule; it gives no verdict",
    )

    @property
    def never(self) -> str | None:
        """Return why nothing that a study makes can decide it; None: something can."""
        return None

    @abstractmethod
    def uses(self) -> Iterator[Use]:
        """Yield the tables and figures that it reads, and what of them."""

    def check(self, paper: PaperConfig) -> None:
        """Check what `uses` does not say: domains, label conditions.

        Raises:
            ConfigError: a table or figure of the paper does not have something that the rule names.
        """

    def without(self, left_out: Collection[str]) -> Self:
        """Return the rule without tables that a study leaves out."""
        return self

    @abstractmethod
    def words(self) -> str:
        """Return the rule as a sentence, with its threshold."""

    @abstractmethod
    def comparisons(self, evidence: Any) -> Iterator[Any]:
        """Yield a `Comparison` for each comparison, also for those that cannot be made.

        Args:
            evidence: an `Evidence`; the module of both imports this one, so the annotation is `Any`.
        """

    def pairs(self, evidence: Any) -> Iterator[Any] | None:
        """Yield a `Pair` of cells for each comparison of scores, or a `Comparison` that cannot be made.

        They need the rows and columns of tables, but no numbers: the power plan asks before anything is trained.
        None: the rule does not compare scores cell by cell.
        """
        return None

    def sides(self) -> Iterator[tuple[str, ...]]:
        """Yield a name for each side of each comparison, for a rule without `pairs`; one alone has a threshold."""
        return iter(())

    @model_validator(mode="wrap")
    @classmethod
    def _of_its_kind(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if cls is not Rule or isinstance(value, Rule):
            return handler(value)
        if not isinstance(value, Mapping) or "kind" not in value:
            raise PydanticKnownError("union_tag_not_found", {"discriminator": "kind"})
        found = rule_class(str(value["kind"]))
        try:
            return cast(Self, found.model_validate(value))
        except ValidationError as error:
            # Add the kind to the location, as pydantic does for a union: messages then name the keys of this kind.
            details = [
                InitErrorDetails(
                    type=one["type"], loc=(value["kind"], *one["loc"]), input=one["input"], ctx=one.get("ctx", {})
                )
                for one in error.errors(include_url=False)
            ]
            raise ValidationError.from_exception_data(cls.__name__, details) from None

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        if cls is not Rule:
            return handler(schema)
        kinds = [handler(rule_class(kind).__pydantic_core_schema__) for kind in own_kinds()]
        return {"description": "What decides a claim.", "oneOf": kinds}


R = TypeVar("R", bound=type[Rule])
_CLASSES: dict[str, type[Rule]] = {}  # module -> its class


def claim_rule(rule: R) -> R:
    """Register the class of a kind of rule; its module is named after the kind."""
    _CLASSES[rule.__module__] = rule
    return rule


def own_kinds() -> list[str]:
    """Return the kinds of rules that mdnmt has itself."""
    folder = Path(__file__).resolve().parents[1] / CLAIM_RULE.package
    return sorted(path.stem for path in folder.glob("*.py") if path.stem != "__init__")


def rule_class(kind: str) -> type[Rule]:
    """Return the class of a kind of rule.

    Raises:
        ValueError: there is no such kind, or its file does not define it.
    """
    plugin = plugins.find_own(CLAIM_RULE, kind)
    if plugin is not None:
        plugins.load(CLAIM_RULE, plugin)
    elif kind in own_kinds():
        import_module(rule_module(kind))
    else:
        known = [*own_kinds(), *(one.name for one in plugins.find_all(CLAIM_RULE))]
        raise ValueError(f"no kind of claim rule {kind!r}{did_you_mean(kind, known)}; there are: {', '.join(known)}")
    found = _CLASSES.get(rule_module(kind))
    if found is None:
        raise ConfigError(f"{rule_module(kind)}: expected a class of Rule with @claim_rule ({CLAIM_RULE.page})")
    return found


def rule_module(kind: str) -> str:
    """Return the module of a kind of rule."""
    return plugins.module_of(kind, f"mdnmt.{CLAIM_RULE.package.replace('/', '.')}")


def require_known(name: str, names: Iterable[str], what: str) -> None:
    """Raise a ConfigError with the nearest of `names` if a name is none of them."""
    known = sorted(names)
    if name not in known:
        raise ConfigError(f"{what} {name!r}{did_you_mean(name, known)}; there are: {', '.join(known) or 'none'}")
