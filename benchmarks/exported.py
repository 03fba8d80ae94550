"""Compare an exported model with the run that it was exported from, on sentences of a task's test set.

    python benchmarks/exported.py ours RUN --task TASK --sentences 1500 --out ours.json          (mdnmt's environment)
    FOREIGN/bin/python benchmarks/exported_there.py FOLDER --ours ours.json --out theirs.json    (the other library's)
    python benchmarks/exported.py compare RUN --ours ours.json --theirs theirs.json

`ours` translates with a beam of 5, at most LONGEST pieces, and scores the references. `compare` prints the largest
difference of the forced scores (log-probability of a reference), and explains every translation that differs: a tie
(both have the same score under our model, to TIE), a cut length, or another reason, which it counts by itself.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mdnmt import fsio
from mdnmt.config.decoding import Decoding
from mdnmt.decode.translator import Translator
from mdnmt.paths import RunPaths
from mdnmt.tasks.segmentation.segmenter import Segmenter
from mdnmt.tasks.segmentation.vocabulary import Vocab
from mdnmt.tasks.task_data import TaskData

LONGEST = 200
TIE = 1e-4
SEARCH = Decoding(beam_size=5, max_length_ratio=1e-6, max_length_extra=LONGEST)


def ours(run: Path, task: Path, sentences: int) -> dict[str, Any]:
    """Return the sentences, an equal number of each domain, with our translations and forced scores."""
    translator, data = Translator(run, torch.device("cpu")), TaskData.load(task)
    each = sentences // len(translator.domains)
    texts: list[str] = []
    references: list[str] = []
    domains: list[str] = []
    for domain in translator.domains:
        for lang, found in ((data.source_lang, texts), (data.target_lang, references)):
            found += fsio.read_lines(task / "text" / f"test.{domain}.{lang}")[:each]
        domains += [domain] * (len(texts) - len(domains))
    sources = translator.encode(texts, domains)
    folder = RunPaths(run).segmentation
    segmenters = {domain: Segmenter.load(folder, translator.target_lang, domain) for domain in translator.domains}
    pairs = zip(references, domains, strict=True)
    targets = [_ids(translator.target_vocab, segmenters[domain].encode(line)) for line, domain in pairs]
    labels = domains if translator.needs_domain else None
    likelihood = translator.force_ids(sources, targets, SEARCH, labels)
    best = [found[0] for found in translator.translate_ids(sources, SEARCH, labels)]
    return {
        "domains": domains,
        "texts": texts,
        "needs_domain": translator.needs_domain,
        "pieces": [translator.source_vocab.decode(ids) for ids in sources],
        "references": [translator.target_vocab.decode(ids) for ids in targets],
        "forced": [-nll for nll in likelihood.nll],
        "hypotheses": [list(one.pieces) for one in best],
        "translations": [one.text for one in best],
        "longest": LONGEST,
    }


def _ids(vocab: Vocab, pieces: list[str]) -> Any:
    return np.array([*vocab.encode(pieces), vocab.eos], dtype=np.int32)


def compare(run: Path, mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """Return the differences, each translation's explained."""
    translator = Translator(run, torch.device("cpu"))
    gaps = [abs(a - b) for a, b in zip(mine["forced"], theirs["forced"], strict=True)]
    pairs = list(zip(mine["hypotheses"], theirs["hypotheses"], strict=True))
    differing = [number for number, (a, b) in enumerate(pairs) if a != b]
    sources = [_ids(translator.source_vocab, mine["pieces"][number]) for number in differing]
    labels = [mine["domains"][number] for number in differing] if mine["needs_domain"] else None
    scores = []
    for side in (0, 1):
        targets = [_ids(translator.target_vocab, pairs[number][side]) for number in differing]
        found = translator.force_ids(sources, targets, SEARCH, labels)
        scores.append([-nll / pieces for nll, pieces in zip(found.nll, found.pieces, strict=True)])
    reasons = {"tie": 0, "cut": 0, "other": 0}
    others = []
    for number, our_score, their_score in zip(differing, *scores, strict=True):
        longest = max(len(side) for side in pairs[number])
        reason = "tie" if abs(our_score - their_score) < TIE else "cut" if longest >= LONGEST - 1 else "other"
        reasons[reason] += 1
        if reason == "other":
            others.append({"sentence": number, "ours": our_score, "theirs": their_score, "pieces": pairs[number]})
    return {
        "sentences": len(gaps),
        "same_source_pieces": sum(a == b for a, b in zip(mine["pieces"], theirs["pieces"], strict=True)),
        "same_text": sum(a == b for a, b in zip(mine["translations"], theirs["translations"], strict=True)),
        "largest_forced_difference": max(gaps),
        "differing_translations": len(differing),
        **reasons,
        "others": others,
    }


def main() -> None:
    """Run one of the two halves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("half", choices=("ours", "compare"))
    parser.add_argument("run", type=Path)
    parser.add_argument("--task", type=Path)
    parser.add_argument("--sentences", type=int, default=1500)
    parser.add_argument("--ours", type=Path)
    parser.add_argument("--theirs", type=Path)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.half == "ours":
        fsio.write_json(args.out, ours(args.run, args.task, args.sentences))
        return
    mine, theirs = (json.loads(path.read_text(encoding="utf-8")) for path in (args.ours, args.theirs))
    print(json.dumps(compare(args.run, mine, theirs), ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
