"""Writes the pictures and the table of docs/architecture.md, from the imports and the docstrings of the code:  python -m docs.rooms

A room is a folder directly under a floor.  The modules that lie on the floor itself are drawn together where they stand
above the same rooms and below the same rooms.  An arrow goes from a room to one that it imports from, wherever in a
module the import stands.  Arrows that follow from others (a -> c where a -> b -> c) are left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from arch.architecture import OURS

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architecture.md"
FLOORS = ("arch", "tracing", "bpf", "simkernel")  # from the ground up
CPUS = "NAME"  # the folders of the CPUs are one room
BEGIN, END = "<!-- {}: written by docs/rooms.py -->\n", "<!-- end of {} -->\n"

Graph = dict[str, set[str]]


def modules() -> dict[str, Path]:
    """Every module of the four floors by its dotted name."""
    found = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The modules of ours that a module imports anywhere in its text."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def room_of(path: Path) -> str:
    """`bpf/maps` for every module below that folder, `bpf` for a module on the floor itself."""
    floor, *inside = path.relative_to(ROOT).parts
    if len(inside) == 1:
        return floor
    return f"{floor}/{CPUS if inside[0] in OURS else inside[0]}"


def places(known: dict[str, Path], imports: Graph) -> dict[str, str]:
    """The room of every module; for modules on the floor itself, `floor/NAMES` of those that stand between the same rooms."""
    found = {name: room_of(path) for name, path in known.items()}
    reached = {name: reach(imports, name) for name in known}
    between: dict[tuple[str, frozenset[str], frozenset[str]], list[str]] = {}
    for name, floor in found.items():
        if "/" not in floor and name != floor:
            down = frozenset(found[other] for other in reached[name] if found[other].startswith(floor + "/"))
            up = frozenset(found[other] for other in known if name in reached[other] and "/" in found[other])
            between.setdefault((floor, down, up if down else frozenset()), []).append(name)
    for (floor, _, _), names in between.items():
        words = [name.removeprefix(floor + ".") for name in sorted(names)]
        found |= dict.fromkeys(names, f"{floor}/{', '.join(words)}")
    return found


def rooms() -> Graph:
    """Which room imports from which."""
    known = modules()
    imports = {name: set(imported(path, known)) for name, path in known.items()}
    place = places(known, imports)
    graph: Graph = {room: set() for name, room in place.items() if "/" in room}
    for name, room in place.items():
        if room in graph:
            graph[room] |= {place[other] for other in imports[name]} & graph.keys()
    return {room: others - {room} for room, others in graph.items()}


def reach(graph: Graph, start: str) -> set[str]:
    """Everything below a room."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for room in graph[waiting.pop()] - seen:
            seen.add(room)
            waiting.append(room)
    return seen


def reduced(graph: Graph) -> Graph:
    """Without the arrows that follow from others; both arrows of two rooms that need each other stay."""
    below = {room: reach(graph, room) for room in graph}
    return {
        room: {to for to in others if not any(to in below[by] and room not in below[by] for by in others - {to})}
        for room, others in graph.items()
    }


def floor_of(room: str) -> str:
    return room.split("/")[0]


def label(room: str) -> str:
    """How a room is called in a picture of its floor; modules on the floor by their names."""
    words = room.partition("/")[2].split(", ")
    return ",<br>".join(", ".join(words[at : at + 4]) for at in range(0, len(words), 4))


def picture(floor: str, graph: Graph) -> str:
    """One floor as a Mermaid flowchart: who stands above imports from below."""
    own = {room for room in graph if floor_of(room) == floor}
    inside = reduced({room: graph[room] & own for room in own})
    names = {room: f"{floor}{number}" for number, room in enumerate(sorted(inside))}
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {names[room]}["{label(room)}"]' for room in sorted(inside)]
    lines += [f"    {names[room]} --> {names[to]}" for room in sorted(inside) for to in sorted(inside[room])]
    return "\n".join([*lines, "```", ""])


def overview(graph: Graph) -> str:
    """The four floors, with the number of arrows between rooms of two floors."""
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {floor}["{floor}/"]' for floor in reversed(FLOORS)]
    for above in reversed(FLOORS):
        for below in reversed(FLOORS):
            arrows = sum(floor_of(to) == below for room in graph if floor_of(room) == above for to in graph[room])
            if above != below and arrows:
                lines.append(f"    {above} -- {arrows} --> {below}")
    return "\n".join([*lines, "```", ""])


def first_sentence(path: Path) -> str:
    """What a package says of itself."""
    doc = ast.get_docstring(ast.parse(path.read_text())) or ""
    return " ".join(doc.split("\n\n")[0].split()).split(".  ")[0].rstrip(".")


def table() -> str:
    """Every folder with its own words."""
    rows = ["| folder | what lives there |", "|---|---|"]
    for floor in FLOORS:
        for package in sorted((ROOT / floor).rglob("__init__.py")):
            folder = package.parent
            rows.append(f"| `{folder.relative_to(ROOT)}/` | {first_sentence(package)} |")
    return "\n".join(rows) + "\n"


def write(page: str) -> str:
    """The page with its generated parts renewed."""
    graph = rooms()
    parts = {
        "the floors": overview(graph),
        **{floor: picture(floor, graph) for floor in FLOORS},
        "folders": table(),
    }
    for name, text in parts.items():
        begin, end = BEGIN.format(name), END.format(name)
        head, _, rest = page.partition(begin)
        assert end in rest, f"docs/architecture.md has no place for {name!r}"
        tail = rest.partition(end)[2]
        page = head + begin + text + end + tail
    return page


if __name__ == "__main__":
    PAGE.write_text(write(PAGE.read_text()))
