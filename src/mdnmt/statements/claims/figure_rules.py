"""Evaluate claim rules about figures: measures against others or a threshold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from mdnmt.config.claims import MeasureRule, Position
from mdnmt.numbers.rounding import mean
from mdnmt.statements.claims.exhibit_values import NOT_HERE, Measure, absent, absent_exhibit, read_measures
from mdnmt.statements.claims.outcome import Comparison
from mdnmt.statements.claims.seed_samples import Sample, compare, of_values
from mdnmt.statements.claims.spec import ClaimsSpec
from mdnmt.statements.claims.wording import measure_words, title_of

REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {"mean": mean, "min": min, "max": max}
ALL = ""  # in place of a method: all systems of a figure together
Place = tuple[Position, ...]  # the values of the keys of `each`
Found = dict[Place, dict[int | None, list[Measure]]]  # by place and seed


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


def measure_comparisons(rule: MeasureRule, spec: ClaimsSpec) -> Iterator[Comparison]:
    """Yield the comparisons of a figure's measures with others, or with the threshold alone."""
    than = rule.than
    exhibits = dict.fromkeys([rule.figure, (than and than.figure) or rule.figure])
    there = {exhibit: read_measures(path) for exhibit in exhibits if (path := spec.figures.get(exhibit)) is not None}
    if len(there) < len(exhibits):
        yield from (absent_exhibit(exhibit, spec) for exhibit in exhibits if exhibit not in there)
        return
    for method in rule.methods or (ALL,):
        sides = [(rule.figure, method, rule.name, rule.at)]
        if than is not None:
            at = {**rule.at, **than.at}
            exhibit, name = than.figure or rule.figure, than.name or rule.name
            pairs = [[*sides, (exhibit, other, name, at)] for other in than.methods or (method,)]
        else:
            pairs = [sides]
        for pair in pairs:
            yield from _paired(rule, there, pair, spec)


def _paired(
    rule: MeasureRule,
    there: Mapping[str, Sequence[Measure]],
    sides: Sequence[tuple[str, str, str, Mapping[str, Position]]],
    spec: ClaimsSpec,
) -> Iterator[Comparison]:
    labels, sides_found, samples = [], [], []
    for exhibit, method, name, at in sides:
        names = _names(spec, exhibit, method)
        label, found = _selected(there[exhibit], names, name, at, rule.each)
        if rule.if_none is not None:
            label, found = _filled(label, found, _selected(there[exhibit], names, rule.if_none, at, rule.each))
        if not found:
            yield _absent_measure(there[exhibit], exhibit, method, name, at, spec)
        labels.append(label)
        sides_found.append(found)
        repeated = any(m.seed is not None for m in there[exhibit] if not names or m.method in names)
        samples.append(_samples(found, rule.reduce, repeated))
    if not all(samples):
        return
    places = [place for place in samples[0] if all(place in of_side for of_side in samples)]
    if not places:
        yield absent([rule.name], title_of(rule.figure), "the two sides have no place in common")
    named = [f"{label} ({_at(side[2], side[3])})" for label, side in zip(labels, sides, strict=True)]
    for place in places:
        what = " against ".join(named) + (f", {_where(rule.each, place)}" if rule.each else "")
        right = samples[1][place] if len(samples) > 1 else None
        same_models = len({frozenset(_models(found[place])) for found in sides_found}) == 1
        yield compare(rule, samples[0][place], right, paired=same_models, what=what)


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
