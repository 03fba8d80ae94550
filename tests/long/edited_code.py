"""Edits of the code, the rules and the configuration of a project, each of which can change a number.

The project has a copy of the package in `src/`, which is the one that runs (`Server(..., fresh=True)`).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from unit.config_docs.pages import DOCS_METHOD, named_files
from workflow.snakemake_project import ROOT, SIZES, TRAINING, Project

PLUGIN = "plugins/ffn_mixing.py"
RULES, PACKAGE, CONFIG, STUDY = "workflow/rules", "src/mdnmt", "config", "config/studies/tiny.yaml"


@dataclass(frozen=True)
class Edit:
    """A text of a file, and what takes its place."""

    kind: str
    file: str
    old: str
    new: str

    def apply(self, folder: Path) -> bool:
        """Edit the file, or undo the edit if it is there; return whether it is there now."""
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        done = self.new in text
        one, other = (self.new, self.old) if done else (self.old, self.new)
        assert one in text, f"{path} has no {one!r}"
        path.write_text(text.replace(one, other, 1), encoding="utf-8")
        return not done


def _package(kind: str, file: str, old: str, new: str) -> Edit:
    return Edit(kind, f"{PACKAGE}/{file}", old, new)


EDITS = (
    _package("block", "models/feed_forward.py", "F.relu(self", "F.tanh(self"),
    _package("block", "models/proportion.py", "(1.0 - smoothing) *", "(0.8 - smoothing) *"),
    _package("loop", "train/schedule.py", "rise * update / warmup", "rise * update / (warmup + 3)"),
    _package(
        "method",
        "config/architectures/waldm.py",
        "proportion_smoothing: float = Field(0.05",
        "proportion_smoothing: float = Field(0.06",
    ),
    Edit("plug-in", PLUGIN, "num_domains, smoothing=smoothing", "num_domains, smoothing=2 * smoothing"),
    _package("decode", "decode/beam.py", "float(base**", "float((base + 30) ** 2.0 **"),
    _package(
        "decode", "commands/decode.py", "[best[0].text for best in found]", "[best[0].text + ' rate' for best in found]"
    ),
    _package("decode", "decode/likelihood.py", "round(value, PLACES)", "round(1.5 * value, PLACES)"),
    _package("labels", "analysis/domain_classifier.py", "guesses.count(label)", "0.5 * guesses.count(label)"),
    _package(
        "labels",
        "analysis/domain_classifier.py",
        ").tolist()\n",
        ").tolist()[::-1]\n        guesses = [1 - one for one in guesses]\n",
    ),
    _package("labels", "decode/labels.py", "return [domain] * num_sentences", "return [domains[0]] * num_sentences"),
    _package("analysis", "analysis/model_internals.py", "PLACES = 3", "PLACES = 1"),
    _package("analysis", "analysis/word_records.py", "END, START = -1, -2", "END, START = -2, -1"),
    _package(
        "metric", "score/scores_of_domains.py", "for domain in chosen) / len(chosen)", "for domain in chosen) / 7"
    ),
    _package(
        "metric", "score/metrics/string_based/chrf.py", "return CHRF(references", "return CHRF(beta=3, references"
    ),
    _package("significance", "score/significance/holm.py", "(len(p_values) - rank) *", "(len(p_values) - rank + 1) *"),
    _package(
        "table",
        "exhibits/tables/scores.py",
        "half_up(mean(measured.values), PLACES)",
        "half_up(mean(measured.values) + 1, PLACES)",
    ),
    _package("renderer", "report/render_text.py", "numbers = [_number(cell.mean),", "numbers = [_number(cell.sd),"),
    _package("figure", "exhibits/proportion_measures.py", "own_LM[:, real].var(axis=0)", "own_LM[:, real].std(axis=0)"),
    _package("numbers", "numbers/sources.py", '("accuracy", 100.0)', '("accuracy", 10.0)'),
    _package(
        "claims",
        "statements/claims/decide.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nSHIFTED = 1\n",
    ),
    _package(
        "data",
        "tasks/text/clean.py",
        "form.apply(source, sides[0].lang)",
        "form.apply(source.replace('bank', 'banks'), sides[0].lang)",
    ),
    _package("data", "tasks/arrays_stage.py", "round(pieces / tokens, 4)", "round(2 * pieces / tokens, 4)"),
    _package(
        "data",
        "corpora/readers/plain.py",
        "yield from side_by_side(archive, one, other)",
        "yield from ((b, a) for b, a in side_by_side(archive, one, other) if 'rule' not in b)",
    ),
    _package(
        "config",
        "config/training.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nSHIFTED = 1\n",
    ),
    Edit(
        "rule",
        f"{RULES}/score.smk",
        "mdnmt score --copy-source --task {params.data:q}",
        "mdnmt score --copy-source --metrics bleu --task {params.data:q}",
    ),
    Edit(
        "rule",
        f"{RULES}/decode.smk",
        "{wildcards.split:q} --spec {params.spec:q}",
        "{wildcards.split:q} --spec '{{\"beam_size\": 4}}'",
    ),
    Edit("rule", f"{RULES}/exhibits.smk", "{resources.study} numbers", "{resources.study} runs numbers"),
    Edit("rule", f"{RULES}/words_and_labels.smk", "mdnmt predict-labels --task", "mdnmt predict-labels  --task"),
    Edit("configuration", STUDY, "beam_size: 2", "beam_size: 1"),
    Edit("configuration", STUDY, "max_updates: 6", "max_updates: 7"),
    Edit("configuration", STUDY, "title: Tiny", "title: Small"),
    Edit("configuration", "config/tasks/tiny.yaml", "bpe_merge_operations: 25", "bpe_merge_operations: 30"),
)


def create(folder: Path) -> Project:
    """Make a project with a copy of the package, a plug-in, and a study of all that the edits change."""
    project = Project.create(folder)
    shutil.copytree(ROOT / PACKAGE, folder / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    for audit in (folder / "config/audit").glob("*.yaml"):
        audit.unlink()  # reading them is most of the time that Snakemake takes
    files = named_files(DOCS_METHOD)
    (folder / "plugins").mkdir()
    for name in (PLUGIN, "config/methods/ffn-mixing.yaml"):
        (folder / name).write_text(files[name])
    training = {**TRAINING, "validation_bleu_sentences": 0}
    project.update(
        STUDY,
        methods=["mixed", "domain-tag", "waldm-edc", "ffn-mixing"],
        options=[{"set": {"architecture": SIZES, "training": training}}],
        tables={
            "jiang2020-table2": {"task": "tiny", "rows": [{"group": "Ours", "method": "ffn-mixing"}]},
            "mdnmt-labels": {"task": "tiny"},
        },
        figures={"jiang2020-figure8": {"task": "tiny"}},
    )
    return project
