"""What a plug-in is, and the kinds of plug-ins: the names that a module of each kind defines, and the page about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_HERE = Path(__file__).resolve().parent
EXTRAS = _HERE / "extras"


@dataclass(frozen=True)
class Kind:
    """What can be added.

    Attributes:
        name: what messages call it.
        defines: the names that a module of this kind defines.
        page: the page about it.
        package: the folder of mdnmt's own in `src/mdnmt`, a module each; "" if they have none.
        names: those of mdnmt's own that are no modules.
        mark: what the source of one contains at the beginning of a line, if the names are its own to choose.
    """

    name: str
    defines: tuple[str, ...]
    page: str
    package: str = ""
    mark: str = ""
    names: tuple[str, ...] = ()

    def has_own(self, name: str) -> bool:
        """Say whether mdnmt has a module of this kind and name, outside `extras/`."""
        inside = _HERE / self.package / name
        if name in self.names:
            return True
        return bool(self.package) and (inside.with_suffix(".py").is_file() or (inside / "__init__.py").is_file())


VERB = Kind("verb", ("add_arguments", "run"), "docs/plug-ins.md", "commands")
METHOD = Kind("method", ("config_type", "build"), "docs/your-own-method.md", "methods")
PRETRAINED = Kind(
    "pretrained model", ("config_type", "plan", "work", "setup_of", "make_run", "open_run"), "docs/plug-ins.md"
)
BLOCK = Kind("block", ("PART", "block"), "docs/your-own-method.md")
LOSS = Kind("loss", ("loss",), "docs/your-own-method.md")
METRIC = Kind("metric", ("INFO", "metric"), "docs/your-own-metric.md", "score/metrics/string_based")
READER = Kind("reader", ("Options", "REQUIRED", "read"), "docs/plug-ins.md", "corpora/readers")
PROVIDER = Kind(
    "provider",
    ("Options", "download"),
    "docs/plug-ins.md",
    names=("pip", "npm", "apt", "apt_list", "http", "opus", "hf", "git", "manual", "local", "generated"),
)
EXHIBIT = Kind("kind of table or figure", (), "docs/your-own-figure.md", mark="@register")
CLAIM_RULE = Kind("claim rule", (), "docs/your-own-claim-rule.md", "statements/claims/rules", mark="@claim_rule")
PLANNER = Kind("planner of runs", ("text", "order"), "docs/plug-ins.md")
METER = Kind("meter of energy", ("meter",), "docs/plug-ins.md")
EVIDENCE = Kind("form of evidence", ("manifest_in", "verify"), "docs/plug-ins.md")
KINDS = (VERB, METHOD, PRETRAINED, BLOCK, LOSS, METRIC, EXHIBIT, CLAIM_RULE, READER, PROVIDER, PLANNER, METER, EVIDENCE)


@dataclass(frozen=True)
class Plugin:
    """A plug-in that was found.

    Attributes:
        name: as files of config/ name it.
        module: its dotted name, for the import.
        place: what messages and records call it: `plugins/NAME.py`, or the module and its distribution.
        file: its source; None: it cannot be found without an import.
    """

    name: str
    module: str
    place: str
    file: Path | None

    @property
    def is_extra(self) -> bool:
        """Say whether it is one of mdnmt's own extras."""
        return self.file is not None and self.file.is_relative_to(EXTRAS)

    @cached_property
    def text(self) -> str:
        """Return its source; "" if it cannot be found."""
        return self.file.read_text(encoding="utf-8-sig", errors="replace") if self.file is not None else ""

    def looks_like(self, kind: Kind) -> bool:
        """Say whether its source defines the names of a kind; nothing is imported."""
        patterns = [*(rf"(def |class )?{name}" for name in kind.defines), *([kind.mark] if kind.mark else [])]
        return all(re.search(rf"^{pattern}\b", self.text, re.MULTILINE) for pattern in patterns)
