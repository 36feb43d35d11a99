"""The outcomes of a matrix for people and for other programs."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from arch.abi.version import KernelVersion
from bpf.versions.confidence import in_words
from simkernel.matrix.cells import Outcome
from simkernel.matrix.reasons import KINDS, WELL
from simkernel.rows import aligned

Grid = tuple[list[str], list[tuple[str, str]], dict[tuple[str, str, str], Outcome]]


def grid(outcomes: Sequence[Outcome]) -> Grid:
    """(objects, (kernel, arch) columns, outcome by all three), in the order in which they were asked."""
    objects = list(dict.fromkeys(sorted(each.obj for each in outcomes)))
    order = {kernel: number for number, kernel in enumerate(sorted({o.kernel for o in outcomes}, key=version_key))}
    columns = sorted({(each.kernel, each.arch) for each in outcomes}, key=lambda c: (order[c[0]], c[1]))
    return objects, columns, {(each.obj, each.kernel, each.arch): each for each in outcomes}


def version_key(text: str) -> tuple[int, ...]:
    """4.1 before 4.19 before 5.10."""
    return tuple(int(part) for part in text.partition("-")[0].split("."))


def word(outcome: Outcome | None) -> str:
    """A cell in a word."""
    return "" if outcome is None else outcome.kind


def words(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """The table of words, its heads first."""
    objects, columns, by = grid(outcomes)
    heads = ["object", *(f"{kernel} {arch}" for kernel, arch in columns)]
    names = {obj: Path(obj).name.removesuffix(".bpf.o").removesuffix(".o") for obj in objects}
    return [heads, *([names[obj], *(word(by.get((obj, *column))) for column in columns)] for obj in objects)]


def plain(outcomes: Sequence[Outcome]) -> str:
    """A table of words, then each refusal's sentence once with where it happened."""
    return "\n".join([aligned(words(outcomes)).rstrip("\n"), *after(outcomes)]) + "\n"


def after(outcomes: Sequence[Outcome]) -> list[str]:
    """What stands below the table."""
    said = sentences(outcomes) if any(not each.good for each in outcomes) else []
    return [line for part in (said, known(outcomes)) if part for line in ("", *part)]


def known(outcomes: Sequence[Outcome]) -> list[str]:
    """How each version's answers are known: `6.1: modelled on ...`."""
    versions = sorted({each.kernel.partition("-")[0] for each in outcomes if each.confidence}, key=version_key)
    return [f"{version}: {in_words(KernelVersion.parse(version))}" for version in versions]


def sentences(outcomes: Sequence[Outcome]) -> list[str]:
    """`name (4.1 x86_64, 4.1 arm64): RINGBUF needs 5.8`."""
    where: dict[tuple[str, str], list[str]] = {}
    for each in sorted(outcomes, key=lambda o: (o.obj, version_key(o.kernel), o.arch)):
        if not each.good:
            where.setdefault((Path(each.obj).name, f"{each.kind}: {each.text}"), []).append(
                f"{each.kernel} {each.arch}"
            )
    return [f"{name} ({', '.join(places)}): {text}" for (name, text), places in where.items()]


def as_json(outcomes: Sequence[Outcome]) -> str:
    return json.dumps([each.as_dict() for each in outcomes], indent=1) + "\n"


def as_csv(outcomes: Sequence[Outcome]) -> str:
    """Columns as veristat names them where it has them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["file_name", "kernel", "arch", "verdict", "class", "reason", "programs", "prog_size", "confidence"]
    )
    for each in outcomes:
        verdict = "success" if each.good else "failure"
        writer.writerow(
            [
                Path(each.obj).name,
                each.kernel,
                each.arch,
                verdict,
                each.kind,
                each.text,
                each.programs,
                each.insns,
                each.confidence,
            ]
        )
    return out.getvalue()


def as_junit(outcomes: Sequence[Outcome]) -> str:
    """A suite for each kernel and CPU."""
    root = ElementTree.Element("testsuites", name="simkernel matrix")
    _, columns, _ = grid(outcomes)
    for kernel, arch in columns:
        mine = [each for each in outcomes if (each.kernel, each.arch) == (kernel, arch)]
        failed = sum(not each.good for each in mine)
        suite = ElementTree.SubElement(
            root, "testsuite", name=f"{kernel} {arch}", tests=str(len(mine)), failures=str(failed)
        )
        for each in sorted(mine, key=lambda o: o.obj):
            case = ElementTree.SubElement(suite, "testcase", classname=f"{kernel}.{arch}", name=Path(each.obj).name)
            if not each.good:
                ElementTree.SubElement(case, "failure", type=each.kind, message=each.text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """For a pull request or a job's summary."""
    objects, columns, by = grid(outcomes)
    lines = ["| object | " + " | ".join(f"{k} {a}" for k, a in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for obj in objects:
        lines.append(f"| {Path(obj).name} | " + " | ".join(word(by.get((obj, *column))) for column in columns) + " |")
    said = [line.replace("|", "\\|") for line in sentences(outcomes)]
    return "\n".join([*lines, "", *(f"* {line}" for line in (*said, *known(outcomes)))]).rstrip() + "\n"


STYLE = """body{font:14px system-ui,sans-serif;margin:2em;color-scheme:light dark}
table{border-collapse:collapse}td,th{border:1px solid #8886;padding:.2em .6em;text-align:left}
td.ok{background:#2a83}td.no{background:#c333}"""


def as_html(outcomes: Sequence[Outcome]) -> str:
    """One page that needs nothing else; a cell's sentence shows when it is pointed at."""
    objects, columns, by = grid(outcomes)
    rows = ["<tr><th>object</th>" + "".join(f"<th>{html.escape(f'{k} {a}')}</th>" for k, a in columns) + "</tr>"]
    for obj in objects:
        row = f"<th>{html.escape(Path(obj).name)}</th>"
        for column in columns:
            each = by.get((obj, *column))
            style = "ok" if each is not None and each.good else "no"
            row += (
                f'<td class="{style}" title="{html.escape(each.text if each else "")}">{html.escape(word(each))}</td>'
            )
        rows.append(f"<tr>{row}</tr>")
    legend = "".join(f"<li><b>{kind}</b>: {html.escape(text)}</li>" for kind, text in KINDS.items() if kind != WELL)
    legend += "".join(f"<li>{html.escape(line)}</li>" for line in known(outcomes))
    table = "\n".join(rows)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>simkernel matrix</title><style>{STYLE}</style>\n'
        f"<h1>BPF objects on kernels</h1>\n<table>\n{table}\n</table>\n<ul>{legend}</ul></html>\n"
    )


FORMATS = {"json": as_json, "csv": as_csv, "junit": as_junit, "markdown": as_markdown, "html": as_html}
