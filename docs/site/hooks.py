"""What MkDocs does for this site besides: pages made from the code, titles in links, and links that lead out of docs/.

A page may link to any file of the repository, as it does on a code forge. Each such file becomes a page of the site
(`repository/...`), so that every link works and a missing file is an error.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
_NAMED = re.compile(r"\[([^\]\s]+\.md)\](?=\(([^)#\s]+\.md)(?:#[^)\s]*)?\))")
_CODE = re.compile(r"^```.*?^```|`[^`\n]+`", flags=re.M | re.S)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".smk": "python", ".sh": "sh", ".toml": "toml"}
# What a user may import: everything else may change without notice.
API = ("mdnmt.results", "mdnmt.methods.method", "mdnmt.methods.assembly", "mdnmt.models.losses")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the version into the title."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.site_name = f"mdnmt {project['version']}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and a page for each file outside of docs/ that a page links to."""
    pages = {
        "reference/commands.md": commands(),
        "reference/configuration.md": configuration(),
        "reference/deviations.md": deviations(),
        "reference/api.md": "# Python API\n\n" + "\n".join(f"::: {name}\n" for name in API),
    }
    linked: dict[str, str] = {}
    waiting = [(f"docs/{file.src_uri}", file.content_string) for file in files.documentation_pages()]
    while waiting:
        source, text = waiting.pop()
        for target in outside(text, source):
            if target not in linked:
                linked[target] = page_of(target)
                if target.endswith(".md"):
                    waiting.append((target, linked[target]))
    for path, text in linked.items():
        uri = site_uri(path)
        pages[uri] = with_site_links(text, path, uri) if path.endswith(".md") else text
    for uri, text in pages.items():
        file = File.generated(config, uri, content=text)
        if uri.startswith("repository/"):
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links out of docs/ to the pages of those files."""
    uri = page.file.src_uri
    return markdown if uri.startswith(("repository/", "reference/")) else with_site_links(markdown, f"docs/{uri}", uri)


def with_site_links(markdown: str, source: str, uri: str) -> str:
    """Return the Markdown of the repository's file `source` with links that are right in the site's page `uri`.

    A link that shows the name of a file shows the title of that page instead.
    """

    def named(match: re.Match[str]) -> str:
        return f"[{title(in_repository(match[2], source))}]" if match[2].endswith(match[1]) else match[0]

    def link(match: re.Match[str]) -> str:
        target = os.path.relpath(site_uri(in_repository(match[1], source)), Path(uri).parent)
        return target + (match[2] or "")

    parts, end = [], 0
    for code in _CODE.finditer(markdown):
        parts += [_LINK.sub(link, _NAMED.sub(named, markdown[end : code.start()])), code[0]]
        end = code.end()
    return "".join([*parts, _LINK.sub(link, _NAMED.sub(named, markdown[end:]))])


def title(path: str) -> str:
    """Return the title of a Markdown file of the repository: its first heading."""
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))


def in_repository(target: str, source: str) -> str:
    """Return the path, from the repository's root, that a link in `source` leads to."""
    return os.path.normpath(Path(source).parent / target)


def outside(markdown: str, source: str) -> list[str]:
    """Return the files of the repository outside of docs/ that a page links to."""
    targets = [in_repository(match[1], source) for match in _LINK.finditer(_CODE.sub("", markdown))]
    return [target for target in targets if not target.startswith("docs/") and (ROOT / target).exists()]


def site_uri(path: str) -> str:
    """Return the page of the site for a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"repository/{path}" if path.endswith(".md") else f"repository/{path}.md"


def page_of(path: str) -> str:
    """Return the Markdown of a file of the repository; of a folder, the names of its files."""
    file = ROOT / path
    if file.is_dir():
        names = "\n".join(f"- `{one.name}`" for one in sorted(file.iterdir()) if not one.name.startswith((".", "__")))
        return f"# {path}\n\n{names}\n"
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    return f"# {path}\n\n````{_LANGUAGES.get(file.suffix, 'text')}\n{text}\n````\n"


def commands() -> str:
    """Return a page with the help of every verb of the command line."""
    program = [sys.executable, "-m", "mdnmt.cli"]
    if found := os.environ.get("MDNMT"):
        program = [found]

    def said(*arguments: str) -> str:
        environment = {**os.environ, "COLUMNS": "100"}
        return subprocess.run(
            [*program, *arguments], capture_output=True, text=True, check=True, env=environment
        ).stdout.strip()

    overview = said("--help")
    verbs = re.findall(r"^  ([a-z][a-z-]*) ", overview, flags=re.M)
    parts = [f"# Commands\n\n```\n{overview}\n```\n"]
    parts += [f"## mdnmt {verb}\n\n```\n{said(verb, '--help')}\n```\n" for verb in verbs]
    return "\n".join(parts)


def configuration() -> str:
    """Return a page with every key of every YAML file: its values, default and meaning."""
    schema = json.loads((ROOT / "config" / "schema.json").read_text(encoding="utf-8"))
    definitions = schema["$defs"]
    names = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in ROOT.glob("config/schema/*.json")}
    parts = [
        "# Configuration\n",
        "Every key of the files in `config/`, from the models that read them. Editors that know JSON Schema complete "
        "and check these files: each begins with the line `yaml-language-server`.\n",
    ]
    roots = {name: found["$ref"].rpartition("/")[2] for name, found in sorted(names.items()) if "$ref" in found}
    parts += [f"- `{name}`: [{root}](#{root.lower()})" for name, root in roots.items()]
    for name in [*roots.values(), *sorted(set(definitions) - set(roots.values()))]:
        if properties := definitions.get(name, {}).get("properties"):
            parts += ["", f"## {name}\n", definitions[name].get("description", "").split("\n\n")[0], ""]
            parts += ["| key | value | default | meaning |", "|---|---|---|---|"]
            parts += [_key(key, value) for key, value in properties.items()]
        elif forms := definitions.get(name, {}).get("oneOf"):
            parts += ["", f"## {name}\n", definitions[name].get("description", ""), ""]
            parts += [f"One of {', '.join(map(_value, forms))}."]
    return "\n".join(parts)


def _key(key: str, found: dict[str, Any]) -> str:
    forms = [one for one in found.get("anyOf", [found]) if one.get("type") != "null"] or [found]
    values = " or ".join(dict.fromkeys(_value(one) for one in forms))
    default = next((one["default"] for one in (found, *forms) if "default" in one), "")
    meaning = next((one["description"] for one in (found, *forms) if "description" in one), "")
    shown = f"`{json.dumps(default, ensure_ascii=False)}`" if default != "" else ""
    cells = [f"`{key}`", values, shown if len(shown) <= 80 else "see the model", meaning.split("\n\n")[0]]
    return "| " + " | ".join(cell.replace("\n", " ").replace("|", "\\|") for cell in cells) + " |"


def _value(one: dict[str, Any]) -> str:
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in one or "const" in one:
        return ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]))
    if one.get("type") == "array":
        return f"list of {_value(one['items'])}" if isinstance(one.get("items"), dict) else "list"
    if one.get("type") == "object":
        inner = one.get("additionalProperties")
        return f"mapping to {_value(inner)}" if isinstance(inner, dict) and inner else "mapping"
    bounds = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {one[bound]}" for bound, sign in bounds.items() if bound in one]
    return " ".join([str(one.get("type", "any")), *limits])


def deviations() -> str:
    """Return a page with the decisions of config/deviations.yaml, a table for each paper."""
    rows = yaml.safe_load((ROOT / "config" / "deviations.yaml").read_text(encoding="utf-8"))["rows"]
    parts = [
        "# Deviations and decisions\n",
        "Where a paper is silent or contradicts itself, its figures or its authors' code: what it says, what we do, "
        "and the key that changes it.\n",
    ]
    for paper in dict.fromkeys(row["paper"] for row in rows):
        parts += [f"## {paper}\n", "| where | what it says | what we do | key and default |", "|---|---|---|---|"]
        for row in (row for row in rows if row["paper"] == paper):
            default = json.dumps(row.get("default"), ensure_ascii=False)
            key = f"`{row['key']}`: `{default}`" if row.get("key") else ""
            cells = (row["place"], row["said"], row["choice"], key)
            parts.append("| " + " | ".join(" ".join(str(cell).split()).replace("|", "\\|") for cell in cells) + " |")
        parts.append("")
    return "\n".join(parts)
