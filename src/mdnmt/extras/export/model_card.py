"""The README.md of an exported model, filled from the run's record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdnmt.config.corpus import CorpusConfig
from mdnmt.config.metrics import METRICS
from mdnmt.config.task import load_task
from mdnmt.corpora.task_corpora import corpora_of
from mdnmt.decode.translator import Translator
from mdnmt.energy import attempts_energy
from mdnmt.errors import ConfigError
from mdnmt.escape import markdown
from mdnmt.numbers.score_file import read_scores


@dataclass(frozen=True)
class TrainingCorpus:
    """A corpus that a run was trained on, and the domains built from it."""

    name: str
    config: CorpusConfig
    domains: tuple[str, ...]


def training_corpora(record: dict[str, Any], config_folder: Path) -> list[TrainingCorpus]:
    """Return the corpora of a run's domains, read from the task's file, because the run's record names only its task.

    The corpora of an imported model are not known; none are returned. As with their own text, users decide whether to
    pass it on.

    Raises:
        ConfigError: the task's file is missing, or no longer has a domain of the run; or a corpus may not be
            redistributed.
    """
    if "imported" in record:
        return []
    name = str(record.get("task", ""))
    task = load_task(config_folder, name)
    if unknown := [domain for domain in record["domains"] if domain not in task.domains]:
        raise ConfigError(
            f"{config_folder}/tasks/{name}.yaml: has no domain {unknown[0]!r}, which the run was trained on, so the "
            "licences of its text are not known; use the configuration that the run was trained with"
        )
    found = [
        TrainingCorpus(
            corpus, config, tuple(domain for domain in record["domains"] if corpus in task.domains[domain].corpora)
        )
        for corpus, config in corpora_of(config_folder, task).items()
    ]
    found = [corpus for corpus in found if corpus.domains]
    for corpus in found:
        # Generated text has no owner, and users decide about their own text, which the task's file names directly.
        is_own = any(task.domains[domain].is_own for domain in corpus.domains)
        if not (corpus.config.redistributable or corpus.config.source.provider == "generated" or is_own):
            raise ConfigError(
                f"the run was trained on the corpus {corpus.name} (domain {', '.join(corpus.domains)}; licence: "
                f"{corpus.config.licence or 'not stated'}), which is not marked `redistributable: true`; export a run "
                f"without it, or set that in {config_folder}/corpora/{corpus.name}.yaml if its licence allows it"
            )
    return found


_WITHOUT_SCRIPT = (
    "This model's text is tokenised, normalised or segmented by domain in a way that needs mdnmt itself: "
    '`mdnmt.tasks.segmentation.segmenter.Segmenter.load("segmentation", LANG, DOMAIN)`. Codes and vocabularies are '
    "in `segmentation/`."
)
_WITH_SCRIPT = """`segment.py` cuts text into BPE pieces and joins pieces again (`pip install subword-nmt sacremoses`);
codes and vocabularies are in `segmentation/`.

```python
from segment import Segmenter

segmenter = Segmenter()
pieces = segmenter.encode("This is a test.")
text = segmenter.decode(pieces)
```"""


def model_card(
    run_folder: Path,
    record: dict[str, Any],
    corpora: Sequence[TrainingCorpus],
    format_title: str,
    usage: str,
    translator: Translator,
    has_script: bool,
) -> str:
    """Return README.md as Markdown."""
    spec = record["spec"]
    model = translator.model
    pair = f"{translator.source_lang} to {translator.target_lang}"
    lines = [
        "---",
        f"language: [{translator.source_lang}, {translator.target_lang}]",
        "tags: [translation]",
        "---",
        "",
        f"# {markdown(str(record.get('method', spec['builder'])))}: {pair}",
        "",
        *(_imported(record, format_title) if "imported" in record else _trained(record, format_title)),
        f"- longest source sentence: {model.max_source_length - 1} pieces",
        f"- sha256 of the weights it was exported from: {record['model_sha256']}",
        "",
        "## Usage",
        "",
        usage.strip(),
        "",
        "## Text",
        "",
        _WITH_SCRIPT if has_script else _WITHOUT_SCRIPT,
        "",
        "## Training data and licences",
        "",
        *_data(corpora),
        "",
        "## Scores",
        "",
        *_scores(run_folder),
        "",
        "## Energy",
        "",
        "Not known: it was trained elsewhere." if "imported" in record else markdown(attempts_energy(record)),
        "",
        "## Limits",
        "",
        f"- It translates single sentences from {pair}, in the domains above; it was not tested on others.",
        "- It repeats the errors and biases of the text that it was trained on.",
        "- It can leave out, repeat or invent text. A person should check what matters.",
        *(["- It needs the domain of each sentence."] if translator.needs_domain else []),
    ]
    return "\n".join(lines) + "\n"


def _trained(record: dict[str, Any], format_title: str) -> list[str]:
    spec = record["spec"]
    return [
        f"A machine translation model in the format of {format_title}, trained for research with mdnmt "
        f"{record['provenance']['mdnmt']}.",
        "",
        f"- task: {markdown(str(record['task']))}; domains: {', '.join(map(markdown, record['domains']))}",
        f"- method: {markdown(str(record.get('method', spec['builder'])))} (builder {spec['builder']}), "
        f"seed {record['seed']}, run {record['fingerprint']}",
        f"- parameters: {record['num_parameters']:,}; updates: {record['updates']:,}; "
        f"training time: {record['seconds']:.0f} s on {record['device']}",
    ]


def _imported(record: dict[str, Any], format_title: str) -> list[str]:
    origin = record["imported"]
    updates = "" if origin["updates"] is None else f"; updates: {origin['updates']:,}"
    return [
        f"A machine translation model in the format of {format_title}. It was trained with {origin['from']}, and "
        f"imported with mdnmt {record['provenance']['mdnmt']}.",
        "",
        f"- checkpoint: {markdown(origin['checkpoint'])}, sha256 {origin['sha256']}",
        f"- architecture: {markdown(origin['architecture'])} (builder {record['spec']['builder']}); domains: "
        f"{', '.join(map(markdown, record['domains']))}",
        f"- parameters: {record['num_parameters']:,}{updates}",
    ]


def _data(corpora: Sequence[TrainingCorpus]) -> list[str]:
    if not corpora:
        return ["The checkpoint does not name them. Add them, with their licences, before you pass the model on."]
    lines = ["| corpus | domains | licence | homepage |", "|---|---|---|---|"]
    for corpus in corpora:
        config = corpus.config
        cells = (f"{config.title} ({corpus.name})", ", ".join(corpus.domains), config.licence or "not stated")
        lines.append(f"| {' | '.join(map(markdown, cells))} | {config.homepage or ''} |")
    return lines


def _scores(run_folder: Path) -> list[str]:
    lines: list[str] = []
    for path in sorted(run_folder.glob("*/scores.json")):
        lines += [f"From `{path.parent.name}`:", "", "| domain | metric | score | signature |", "|---|---|---|---|"]
        for domain, of in read_scores(path).domains.items():
            for metric, score in of.scores.items():
                label = METRICS[metric].label
                lines.append(f"| {markdown(domain)} | {label} | {score.value:.2f} | `{score.signature}` |")
        lines.append("")
    return lines[:-1] or ["None was computed before the export."]
