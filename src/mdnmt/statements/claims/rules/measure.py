"""Numbers of a figure against others, or against a threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import Field

from mdnmt.config.base import Frozen
from mdnmt.config.claim_rule import Rule, Threshold, Use, claim_rule
from mdnmt.config.task import Name
from mdnmt.numbers.rounding import mean
from mdnmt.statements.claims.evidence import NOT_HERE, Evidence, Measure, absent
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, of_values
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import against, alone, any_of, listed, measure_words, needed_words, title_of

Position = str | int | float  # a value of a key of `at`; for numeric keys also `first` or `last`
Reduction = Literal["mean", "min", "max"]
REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {"mean": mean, "min": min, "max": max}
ALL = ""  # in place of a method: all systems of a figure together
Place = tuple[Position, ...]  # the values of the keys of `each`
Found = dict[Place, dict[int | None, list[Measure]]]  # by place and seed


class Numbers(Frozen):
    """Which numbers of a figure. On the right side of a comparison, omitted keys are as on the left."""

    figure: Name | None = Field(None, description="of this paper")
    name: str | None = Field(None, description="the measure, such as entropy")
    methods: tuple[Name, ...] = Field((), description="systems of the figure")
    at: dict[str, Position] = Field({}, description="where, such as {side: encoder, layer: first}")


@claim_rule
class MeasureRule(Threshold, Rule):
    """Numbers of a figure minus others, or by themselves."""

    kind: Literal["measure"] = Field(description="numbers of a figure")
    figure: Name = Field(description="of this paper")
    name: str = Field(description="the measure, such as entropy")
    methods: tuple[Name, ...] = Field((), description="one by one; none: all systems of the figure together")
    at: dict[str, Position] = Field({}, description="where, such as {side: encoder, layer: first}")
    each: tuple[str, ...] = Field((), description="keys of `at` with a comparison per value; the mean over other keys")
    reduce: dict[str, Reduction] = Field({}, description="keys of `at`, in this order: how their values are combined")
    than: Numbers | None = Field(None, description="what is subtracted; null: nothing")
    if_none: str | None = Field(None, description="the measure to take for a run that lacks the named one")

    def uses(self) -> Iterator[Use]:
        """Yield the figure, and that of the right side."""
        yield Use("figures", self.figure, self.methods)
        if self.than is not None:
            yield Use("figures", self.than.figure or self.figure, self.than.methods or self.methods)

    def words(self) -> str:
        """Return the rule as a sentence."""
        taken = "".join(
            f", {word} over {key}"
            for key, how in self.reduce.items()
            for word in [{"min": "lowest", "max": "highest"}.get(how, how)]
        )
        each = f" for each {listed(self.each)}" if self.each else ""
        at = f" ({_keys(self.at)})" if self.at else ""
        other = f" (where there is none, {measure_words(self.if_none)})" if self.if_none else ""
        systems = any_of(self.methods) if self.methods else "all systems together"
        left = f"{title_of(self.figure)}: {measure_words(self.name)}{other}{at}{taken}{each} of {systems}"
        bound = alone(self) if self.than is None else against(self, self._right_words(self.than))
        return f"{left} {bound}, {needed_words(self.needed)}."

    def _right_words(self, than: Numbers) -> str:
        name = f"{measure_words(than.name)} " if than.name else "that "
        at = f"({_keys(than.at)}) " if than.at else ""
        same = "of the same system" if self.methods else "of all systems together"
        methods = f"of {any_of(than.methods)}" if than.methods else same
        figure = f" in {title_of(than.figure)}" if than.figure and than.figure != self.figure else ""
        return f"{name}{at}{methods}{figure}"

    def sides(self) -> Iterator[tuple[str, ...]]:
        """Yield the two sides of each comparison; of the same models they are one, the seeds' differences."""
        for method in self.methods or ("all systems",):
            left = f"{method} {self.name} {self.at}"
            if self.than is None:
                yield (left,)
                continue
            for other in self.than.methods or (method,):
                if self.methods and other == method and self.than.figure in (None, self.figure):
                    yield (f"{left} {self.than}",)
                    continue
                yield left, f"{other} {self.than.name or self.name} {self.than.figure} {self.than.at}"

    def comparisons(self, evidence: Evidence) -> Iterator[Comparison]:
        """Yield the comparisons of the figure's measures with others, or with the threshold alone."""
        than = self.than
        exhibits = dict.fromkeys([self.figure, (than and than.figure) or self.figure])
        there = {exhibit: found for exhibit in exhibits if (found := evidence.measures(exhibit)) is not None}
        if len(there) < len(exhibits):
            yield from (evidence.absent(exhibit) for exhibit in exhibits if exhibit not in there)
            return
        for method in self.methods or (ALL,):
            sides = [(self.figure, method, self.name, self.at)]
            if than is not None:
                at = {**self.at, **than.at}
                exhibit, name = than.figure or self.figure, than.name or self.name
                pairs = [[*sides, (exhibit, other, name, at)] for other in than.methods or (method,)]
            else:
                pairs = [sides]
            for pair in pairs:
                yield from self._paired(there, pair, evidence.spec)

    def _paired(
        self,
        there: Mapping[str, Sequence[Measure]],
        sides: Sequence[tuple[str, str, str, Mapping[str, Position]]],
        spec: ClaimsSpec,
    ) -> Iterator[Comparison]:
        labels, sides_found, samples = [], [], []
        for exhibit, method, name, at in sides:
            names = _names(spec, exhibit, method)
            label, found = _selected(there[exhibit], names, name, at, self.each)
            if self.if_none is not None:
                label, found = _filled(label, found, _selected(there[exhibit], names, self.if_none, at, self.each))
            if not found:
                yield _absent_measure(there[exhibit], exhibit, method, name, at, spec)
            labels.append(label)
            sides_found.append(found)
            repeated = any(m.seed is not None for m in there[exhibit] if not names or m.method in names)
            samples.append(_samples(found, self.reduce, repeated))
        if not all(samples):
            return
        places = [place for place in samples[0] if all(place in of_side for of_side in samples)]
        if not places:
            yield absent([self.name], title_of(self.figure), "the two sides have no place in common")
        named = [f"{label} ({_at(side[2], side[3])})" for label, side in zip(labels, sides, strict=True)]
        for place in places:
            what = " against ".join(named) + (f", {_where(self.each, place)}" if self.each else "")
            right = samples[1][place] if len(samples) > 1 else None
            same_models = len({frozenset(_models(found[place])) for found in sides_found}) == 1
            yield compare(self, samples[0][place], right, paired=same_models, what=what)


def _keys(at: Mapping[str, Position]) -> str:
    return ", ".join(f"{value} {key}" if value in ("first", "last") else f"{key} {value}" for key, value in at.items())


def _names(spec: ClaimsSpec, exhibit: str, method: str) -> tuple[str, ...]:
    return () if method == ALL else spec.names(exhibit, method)


def _selected(
    measures: Sequence[Measure], names: Sequence[str], name: str, at: Mapping[str, Position], each: Sequence[str]
) -> tuple[str, Found]:
    """Return the label of the system called one of `names` (none: all together), and its measures `name` at `at`."""
    own = [m for m in measures if (not names or m.method in names) and m.name == name and m.value is not None]
    for key in (key for key, value in at.items() if value not in ("first", "last")):
        own = [measure for measure in own if measure.at.get(key) == at[key]]
    for key in (key for key, value in at.items() if value in ("first", "last")):
        there = [value for m in own if isinstance(value := m.at.get(key), int | float)]
        edge = (min if at[key] == "first" else max)(there) if there else None
        own = [measure for measure in own if measure.at.get(key) == edge and edge is not None]
    found: Found = {}
    for measure in own:
        if all(key in measure.at for key in each):
            place = tuple(measure.at[key] for key in each)
            found.setdefault(place, {}).setdefault(measure.seed, []).append(measure)
    return (own[0].label if own and names else "all systems"), found


def _filled(label: str, found: Found, other: tuple[str, Found]) -> tuple[str, Found]:
    """Return the measures, with those of another name for the runs that have none."""
    filled = {place: {**seeds, **found.get(place, {})} for place, seeds in other[1].items()}
    return label or other[0], {**found, **filled}


def _reduced(measures: Sequence[Measure], reduce: Mapping[str, str]) -> float:
    """Return one number: the mean over keys not in `reduce`, then each key of `reduce` combined as it asks."""
    named = list(reduce)
    groups: dict[Place, list[float]] = {}
    for measure in measures:
        groups.setdefault(tuple(measure.at.get(key, "") for key in named), []).append(measure.value or 0.0)
    values = {place: mean(numbers) for place, numbers in groups.items()}
    for key in named:
        # Earlier keys are already reduced, so this key is the first in each place.
        rest: dict[Place, list[float]] = {}
        for place, value in values.items():
            rest.setdefault(place[1:], []).append(value)
        values = {place: REDUCTIONS[reduce[key]](numbers) for place, numbers in rest.items()}
    return next(iter(values.values()))


def _samples(found: Found, reduce: Mapping[str, str], repeated: bool) -> dict[Place, Sample]:
    """Return the numbers by place; if runs are `repeated` with seeds, a number without a seed is exact."""
    samples = {}
    for place, seeds in found.items():
        values = [_reduced(measures, reduce) for _, measures in sorted(seeds.items(), key=str)]
        together = repeated and set(seeds) == {None}
        samples[place] = Sample(values[0], slack=0.0) if together else of_values(values)
    return samples


def _where(keys: Sequence[str], place: Place) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(keys, place, strict=True))


def _models(seeds: Mapping[int | None, Sequence[Measure]]) -> set[tuple[str, int | None]]:
    """Return the models that measures are of."""
    return {(measure.method, seed) for seed, of_seed in seeds.items() for measure in of_seed}


def _at(name: str, at: Mapping[str, Position]) -> str:
    name = measure_words(name)
    where = ", ".join(f"{value} {key}" if value in ("first", "last") else f"{value}" for key, value in at.items())
    return f"{name}, {where}" if where else name


def _absent_measure(
    measures: Sequence[Measure], exhibit: str, method: str, name: str, at: Mapping[str, Position], spec: ClaimsSpec
) -> Comparison:
    names = _names(spec, exhibit, method)
    if names and not any(measure.method in names for measure in measures):
        return absent([method], title_of(exhibit), NOT_HERE)
    return absent([_at(name, at) + (f" of {method}" if names else "")], title_of(exhibit), "not measured")
