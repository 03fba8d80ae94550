"""Find the ambiguous words of a task, and count how often systems translate them the way their domain does."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `mdnmt ambiguity`."""
    parser.add_argument("--task", type=Path, required=True, help="folder of the task's data")
    parser.add_argument("--spec", required=True, help="the systems, as JSON (mdnmt.analysis.word_choice.ChoiceSpec)")
    parser.add_argument("--limit", type=int, help="number of sentences that were decoded per domain (default: all)")
    parser.add_argument("--out", type=Path, required=True, help="ambiguity.json to write")


def run(args: argparse.Namespace) -> None:
    """Find the words, judge every system and write the counts."""
    import json

    from mdnmt.analysis.ambiguous_words import AmbiguityConfig, find_ambiguous_words
    from mdnmt.analysis.word_choice import ChoiceSpec, cases, examples, examples_of, judge, lowercased_words
    from mdnmt.config.loader import parse_spec
    from mdnmt.fsio import write_sealed
    from mdnmt.score.test_sets import load_test_sets, sums_of
    from mdnmt.tasks.task_data import TaskData

    spec, tests = parse_spec(args.spec, ChoiceSpec), load_test_sets(args.task, args.limit)
    words = find_ambiguous_words(TaskData.load(args.task), AmbiguityConfig())
    texts = {name: list(zip(tests.sources(name), tests.references(name), strict=True)) for name in tests.domains}
    found, sources = {}, {}
    for name in tests.domains:
        sources[name] = lowercased_words(tests.sources(name), args.task, tests.source_lang, name)
        references = lowercased_words(tests.references(name), args.task, tests.target_lang, name)
        found[name] = cases(words, name, sources[name], references)
    judged = []
    hypotheses: dict[str, dict[str, list[str]]] = {}
    for system in spec.systems:
        said = {name: tests.hypotheses(system.folder, name) for name in tests.domains}
        hypotheses.setdefault(system.method, said)  # the examples show the first seed
        counts = {
            name: judge(words, name, found[name], lowercased_words(lines, args.task, tests.target_lang, name))
            for name, lines in said.items()
        }
        judged.append({"method": system.method, "label": system.label, "seed": system.seed, "domains": counts})
    shown = examples(words, found, texts, hypotheses)
    asked = {"asked": examples_of(spec.words, sources, texts, hypotheses)} if spec.words else {}
    made_from = [path for system in spec.systems for path in sums_of(system.folder)]
    write_sealed(
        args.out,
        {"words": words, "systems": judged, "examples": shown, **asked},
        made_from,
        made_with=json.loads(args.spec),
    )
