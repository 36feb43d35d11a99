"""Names and modes of tracefs as Linux 6.1 has them: tests/data/tracing/tree_6_1.txt is what `stat` said there, with one CPU.

Of the events, ftrace/ and sched/sched_switch stand for the others; test_formats.py has all of them.
"""

from pathlib import Path

from tests.tracing.fakes import machine

ROWS = (Path(__file__).parents[1] / "data/tracing/tree_6_1.txt").read_text().splitlines()
BITS = "rwxrwxrwx"


def mode_text(node):
    text = "".join(bit if node.mode >> (8 - index) & 1 else "-" for index, bit in enumerate(BITS))
    return ("d" if node.is_dir else "-") + text


def walk(directory, prefix=""):
    for name, node in directory.entries().items():
        path = prefix + name
        yield path, mode_text(node)
        if node.is_dir and not path.startswith(("events/", "instances/foo/events/")):
            yield from walk(node, path + "/")


def part(directory, path):
    for name in path.split("/"):
        directory = directory.lookup(name)
    return {path: mode_text(directory), **dict(walk_all(directory, path + "/"))}


def walk_all(directory, prefix):
    for name, node in directory.entries().items():
        yield prefix + name, mode_text(node)
        if node.is_dir:
            yield from walk_all(node, prefix + name + "/")


def test_names_and_modes():
    tracing = machine("6.1", cpus=1)
    root = tracing.tracefs.root
    root.lookup("instances").mkdir("foo")
    ours = dict(walk(root))
    ours = {path: mode for path, mode in ours.items() if not path.count("events/") or path.startswith("events/header")}
    for path in ("events/ftrace", "events/sched/sched_switch"):
        ours |= part(root, path)
    real = {row[11:]: row[:10] for row in ROWS}
    missing = sorted(path for path in real if path not in ours and not path.startswith("events/"))
    more = sorted(path for path in ours if path not in real)
    other = sorted(path for path, mode in ours.items() if real.get(path, mode) != mode)
    assert (missing, more, other) == ([], [], [])
