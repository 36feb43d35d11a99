"""The documentation as a site: `python -m docs.site OUT` (make site), without network.

The pages of docs/ and the project's own, the executed notebooks, a page for each command made from the command itself, the Python
reference made from the docstrings, and man pages.  MkDocs builds it strictly, and what it made is read again: a link, an anchor or a
picture that is not there is an error.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import click
import yaml

from simkernel import __version__
from simkernel.cli import COMMANDS, cli

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```[^\n]*$", re.M | re.S)

# Group of the menu -> its pages, in reading order.  A page that is in none is for who works inside.
MENU: dict[str, tuple[str, ...]] = {
    "Begin": ("index", "tutorial", "concepts", "samples"),
    "How to": (
        "howto", "howto-cpu-kernel", "howto-trace", "howto-files", "howto-shell", "howto-results", "howto-time-limit", "howto-verify", "howto-explain", "howto-matrix", "howto-pytest", "howto-unit-test", "howto-workload",
        "add-system-call", "add-tracepoint", "add-helper", "add-map-type", "add-verifier-rule", "add-kernel-version",
        "add-architecture",
    ),
    "Use": (
        "debug", "exports", "notebook-kprobe", "experiments", "notebook-seeds", "ci", "tools", "bpf-python", "usdt", "uprobes", "clients", "libbpf-tools",
    ),
    "Look up": ("reference", "commands", "python", "exit-codes", "json", "bpf-tables", "events", "changelog"),
    "How true it is": ("differences", "performance", "reliability", "bpf-selftests", "security"),
    "Inside": ("architecture", "design-notes", "core", "contributing"),
}  # fmt: skip
OWN = {  # pages of the project's top
    "README.md": "index", "CHANGELOG.md": "changelog", "CONTRIBUTING.md": "contributing", "SECURITY.md": "security",
}  # fmt: skip
# What the Python reference shows: module and names.
PYTHON = (
    ("simkernel.machine", ("boot", "Machine", "Result")),
    ("simkernel.session", ("Session",)),
    ("simkernel.waiting", ("Waiting",)),
    ("simkernel.unit.calls", ("Unit",)),
    ("simkernel.usertask", ("UserTask", "Calls")),
    ("simkernel.copies", ("Template", "Child")),
    ("simkernel.experiments.run", ("sweep",)),
    ("simkernel.experiments.results", ("Sweep",)),
    ("bpf.loader.object", ("BpfObject",)),
)


def commands(group: click.Command, context: click.Context) -> Iterator[tuple[str, click.Command, click.Context]]:
    """Every command with its whole name, groups before what is in them."""
    yield context.command_path, group, context
    if isinstance(group, click.Group):
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command is not None
            yield from commands(command, click.Context(command, context, info_name=name))


def commands_page() -> str:
    """The command line, from the commands themselves."""
    out = ["# Commands\n", "Made from the commands; `simkernel COMMAND --help` prints the same.\n"]
    for name, command, context in commands(cli, click.Context(cli, info_name="simkernel")):
        usage = " ".join(command.collect_usage_pieces(context))
        out.append(f"## {name}\n\n    {name} {usage}\n\n{command.get_short_help_str(400)}\n")
        rows = [record for param in command.get_params(context) if (record := param.get_help_record(context))]
        if rows:
            out.append("| option | |\n|---|---|")
            out += [f"| `{option}` | {text.replace('|', chr(92) + '|')} |" for option, text in rows]
            out.append("")
    assert all(f"## simkernel {name}\n" in "\n".join(out) for name in COMMANDS)
    return "\n".join(out)


def python_page() -> str:
    """Directives that become the docstrings."""
    out = ["# Python\n"]
    for module, names in PYTHON:
        for name in names:
            out.append(
                f"::: {module}.{name}\n    options:\n      show_root_heading: true\n      show_root_full_path: false\n"
            )
    return "\n".join(out)


def menu(pages: set[str]) -> list[dict[str, list[str]]]:
    """The `nav` of MkDocs."""
    known = {page for group in MENU.values() for page in group}
    rest = tuple(sorted(pages - known))
    groups = {**MENU, "Inside": MENU["Inside"] + rest}
    return [{title: [f"{page}.md" for page in group if page in pages]} for title, group in groups.items()]


def linked(text: str, pages: set[str]) -> str:
    """Links to pages of the site; to other files of the project, their name."""

    def change(match: re.Match[str]) -> str:
        label, target = match.groups()
        if target.startswith(("http:", "https:", "#")):
            return match[0]
        path, hash_, anchor = target.partition("#")
        name = OWN.get(path.removeprefix("../"), Path(path).stem)
        if path.endswith(".ipynb"):
            return f"[{label}](notebook-{name}.md)"
        if path.endswith(".md") and name in pages:
            return f"[{label}]({name}.md{hash_}{anchor})"
        return label if (DOCS / path).suffix != ".png" else match[0]

    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(change, text[at : fence.start()]), re.sub(r"^```(tools|console) .*", "```console", fence[0])]
        at = fence.end()
    return "".join(parts) + LINK.sub(change, text[at:])


def notebook_page(file: Path, there: Path) -> str:
    """An executed notebook as Markdown: its text, its code, and what each cell gave.  Pictures are written beside it."""
    out: list[str] = []
    for cell in json.loads(file.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            out.append(source)
            continue
        out.append(f"```python\n{source}\n```")
        for number, given in enumerate(cell["outputs"]):
            data = given.get("data", {"text/plain": given.get("text", "")})
            if "image/png" in data:
                picture = f"{file.stem}-{len(out)}-{number}.png"
                (there / picture).write_bytes(base64.b64decode("".join(data["image/png"])))
                out.append(f"![What the cell draws]({picture})")
            elif "text/html" in data:
                html = re.sub(r"\n\s*\n", "\n", "".join(data["text/html"]))  # a blank line would end it in Markdown
                out.append(f'<div class="given">{html}</div>')
            else:
                out.append(f"```text\n{''.join(data['text/plain']).rstrip()}\n```")
    return "\n\n".join(out) + "\n"


class Page(HTMLParser):
    """What a page of the site names: ids, links, pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.add(value)


def broken(out: Path) -> list[str]:
    """Links, anchors and pictures of a built site that lead nowhere in it."""
    pages = {path: Page(path.read_text()) for path in sorted(out.rglob("*.html"))}
    wrong = []
    for path, page in pages.items():
        for target in sorted(page.targets):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = out / parts.path.lstrip("/") if parts.path.startswith("/") else path.parent / unquote(parts.path)
            there = path if not parts.path else (there / "index.html" if there.is_dir() else there).resolve()
            known = pages.get(there)
            if not there.exists() or (
                known is not None and parts.fragment and unquote(parts.fragment) not in known.ids
            ):
                wrong.append(f"{path.relative_to(out)}: {target}")
    return wrong


def write_sources(there: Path) -> set[str]:
    """All pages as Markdown; their names."""
    texts = {page.stem: page.read_text() for page in DOCS.glob("*.md")}
    texts |= {name: (ROOT / file).read_text() for file, name in OWN.items() if (ROOT / file).exists()}
    texts |= {"commands": commands_page(), "python": python_page()}
    texts |= {f"notebook-{file.stem}": notebook_page(file, there) for file in (DOCS / "notebooks").glob("*.ipynb")}
    pages = set(texts)
    for name, text in texts.items():
        (there / f"{name}.md").write_text(linked(text, pages))
    for picture in [*DOCS.glob("*.png"), *DOCS.glob("*.svg")]:
        shutil.copy(picture, there)
    return pages


def configuration(sources: Path, out: Path, pages: set[str]) -> dict[str, object]:
    """mkdocs.yml."""
    options = {"show_source": False, "docstring_style": None, "inherited_members": True, "heading_level": 2}
    return {
        "site_name": "simkernel",
        "site_description": "Tracing and eBPF without a real kernel",
        "docs_dir": str(sources),
        "site_dir": str(out),
        "use_directory_urls": False,
        "strict": True,
        "validation": {
            "omitted_files": "warn",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
            "anchors": "warn",
        },
        "nav": menu(pages),
        "theme": {
            "name": "material",
            "font": False,
            "palette": [
                {"media": "(prefers-color-scheme: light)", "scheme": "default"},
                {"media": "(prefers-color-scheme: dark)", "scheme": "slate"},
            ],
        },
        "plugins": ["search", {"mkdocstrings": {"handlers": {"python": {"paths": [str(ROOT)], "options": options}}}}],
        "markdown_extensions": ["tables", "pymdownx.superfences", "pymdownx.highlight", "toc"],
    }


def man_pages(there: Path) -> None:
    """simkernel.1 and one for each command."""
    from click_man.core import generate_man_page

    there.mkdir(parents=True, exist_ok=True)
    for name, _, context in commands(cli, click.Context(cli, info_name="simkernel")):
        page = generate_man_page(context, version=__version__, date=" ")  # the day of the build is nobody's business
        (there / f"{name.replace(' ', '-')}.1").write_text(page)


def build(out: Path) -> None:
    """Site and man pages; mkdocs.exceptions.Abort where a link leads nowhere."""
    from mkdocs.commands.build import build as build_site
    from mkdocs.config import load_config

    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        sources = work / "pages"
        sources.mkdir()
        pages = write_sources(sources)
        config = work / "mkdocs.yml"
        config.write_text(yaml.safe_dump(configuration(sources, out.resolve(), pages), sort_keys=False))
        build_site(load_config(str(config)))
    if wrong := broken(out.resolve()):
        raise SystemExit("these lead nowhere:\n" + "\n".join(wrong))
    man_pages(out / "man")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site"))
